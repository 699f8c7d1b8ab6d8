"""`realloc abtest` as a user types it."""

import json

import pytest

from tests.evaluate.abtest.simulated import make_arms

TOML = """
[abtest]
unit = "item"
{more}

[abtest.metrics.orders]
value = "orders"
before = "orders_before"

[abtest.metrics.roi]
numerator = "gmv"
denominator = "cost"

[abtest.metrics.cost]
value = "cost"
direction = "down"
margin = 25.0
"""
PREDICTED = (
    'predicted = "gain"\npredicted_lower = "gain_lower"\npredicted_metric = "orders"'
)


@pytest.fixture
def run(run, tmp_path):
    """`realloc abtest` in the folder of the test."""
    return lambda *arguments, code=0: run("abtest", *arguments, cwd=tmp_path, code=code)


@pytest.fixture
def written(tmp_path):
    """Write a test of the given frame and settings."""

    def write(frame, more="", toml=TOML):
        frame.to_parquet(tmp_path / "arms.parquet")
        (tmp_path / "realloc.toml").write_text(toml.format(more=more))
        return "arms.parquet", "--config", "realloc.toml"

    return write


def test_a_readout_is_printed_and_written_as_a_page(run, written, tmp_path):
    said = run(*written(make_arms(4000, lift=0.1)), "--report", "out/page.html").stdout
    assert "Treatment wins: orders +" in said
    assert "CUPED" in said
    assert "Treatment wins" in (tmp_path / "out" / "page.html").read_text()


def test_json_is_json(run, written):
    found = json.loads(run(*written(make_arms(2000), PREDICTED), "--json").stdout)
    assert found["split"]["ok"]
    assert [metric["metric"] for metric in found["metrics"]] == ["orders", "roi", "cost"]
    assert found["calibration"]["change"] in {"none", "inconclusive"}


def test_settings_of_the_decision_are_taken_from_the_same_file(run, written):
    more = PREDICTED
    given = TOML + "\n[decision]\nbeta = 0.4\nthreshold = 0.2\n"
    found = json.loads(run(*written(make_arms(2000), more, given), "--json").stdout)
    assert found["calibration"]["beta"] == 0.4
    assert found["calibration"]["threshold"] == 0.2


def test_a_plan_comes_before_the_test(run, written):
    table = written(make_arms(500).drop(columns="arm"))
    assert "orders: 500 units find an effect of" in run(*table, "--plan").stdout
    assert "orders: 90,000 units" in run(*table, "--plan", "--units", 90_000).stdout
    planned = json.loads(run(*table, "--plan", "--effect", 1, "--json").stdout)
    assert planned[0]["units"] > 5000


def test_a_wrong_split_is_a_partial_report_and_exit_code_2(run, written):
    frame = make_arms(4000)
    said = run(
        *written(frame[(frame["arm"] == "control") | (frame.index % 5 > 0)]),
        "--report",
        "page.html",
        code=2,
    )
    assert "No winner may be called. Sample-ratio mismatch" in said.stdout
    assert "not comparable" in said.stdout
    assert "the report is partial" in said.stderr


@pytest.mark.parametrize(
    ("spoil", "more", "text"),
    [
        (lambda f: f.drop(columns="arm"), "", "Expected a column 'arm'"),
        (lambda f: f[f["arm"] == "control"], "", "Expected two arms"),
        (
            lambda f: f.assign(orders=f["orders"].where(f.index > 0)),
            "",
            "Expected a finite number of 'orders'",
        ),
        (lambda f: f.assign(cost=0.0), "", "Expected a total of 'cost' above 0"),
        (lambda f: f.assign(item="i0"), "", "Expected every unit in one arm"),
        (
            lambda f: f.assign(shop="s"),
            'cluster = "shop"',
            "Expected every cluster in one arm",
        ),
        (lambda f: f, PREDICTED.replace('"orders"', '"oders"'), "Unknown metric 'oders'"),
        (
            lambda f: f.assign(orders=1.0),
            "",
            "Expected values of metric 'orders' that differ",
        ),
        (
            lambda f: f.assign(orders_before=1.0),
            "",
            "Expected values of the pre-period column 'orders_before'",
        ),
        (
            lambda f: f,
            "[abtest.metrics.gmv]\nvalue = 'gmv'\nmargin = -1.0",
            "Expected a `margin` of at least 0",
        ),
        (lambda f: f, "uint = 3", "Unknown key `uint`"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(run, written, spoil, more, text):
    said = run(*written(spoil(make_arms(100)), more), code=2)
    assert said.stdout == ""
    assert said.stderr.startswith("realloc: ")
    assert said.stderr.count("\n") == 1
    assert text in said.stderr


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["absent.parquet", "--config", "realloc.toml"], "nothing is at 'absent.parquet'"),
        (["arms.parquet", "--config", "absent.toml"], "there is none"),
        (
            ["arms.parquet", "--config", "empty.toml"],
            "Expected a table [abtest] in empty.toml",
        ),
        (["arms.parquet", "--config", "flat.toml"], "to be a table of keys, got 3"),
        (["arms.parquet", "--config", "realloc.toml", "--units", "9"], "Expected `--plan`"),
        (
            ["arms.parquet", "--config", "realloc.toml", "--plan", "--report", "a.html"],
            "without `--plan`",
        ),
        (
            ["arms.parquet", "--config", "realloc.toml", "--plan", "--power", "2"],
            "`power` between",
        ),
    ],
)
def test_bad_options_are_one_sentence_and_exit_code_2(
    run, written, tmp_path, arguments, text
):
    written(make_arms(100))
    (tmp_path / "empty.toml").write_text("")
    (tmp_path / "flat.toml").write_text("abtest = 3")
    said = run(*arguments, code=2)
    assert text in said.stderr
    assert said.stderr.count("\n") == 1


def test_exports_are_read_as_the_config_says(run, written, tmp_path):
    arms = make_arms(2000, lift=0.1)
    plain = json.loads(run(*written(arms), "--json").stdout)
    german = arms.to_csv(index=False, sep=";", decimal=",")
    (tmp_path / "arms.csv").write_text(german, encoding="utf-16")
    read = '\n[read]\ndelimiter = ";"\ndecimal = ","\nencoding = "utf-16"\n'
    (tmp_path / "realloc.toml").write_text(TOML.format(more="") + read)
    found = json.loads(run("arms.csv", "--config", "realloc.toml", "--json").stdout)
    assert found["metrics"] == plain["metrics"]
