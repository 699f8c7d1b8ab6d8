"""The commands as a user types them: what they print, what they write, and their exit codes."""

import json
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from realloc import World, read_config, read_logs
from tests.conftest import make_frame

REALLOC = Path(sys.executable).with_name("realloc")


@pytest.fixture
def log(tmp_path):
    frame = make_frame().rename(
        columns={name: f"{name}_spend" for name in ("ads", "coupon", "rebate")}
    )
    frame.to_csv(tmp_path / "logs.csv", index=False)
    return tmp_path / "logs.csv"


def test_version_and_help(run):
    assert run("--version").stdout.startswith("realloc 0.")
    assert "simulate" in run("--help").stdout
    assert "Exit code 2" in run("check", "--help").stdout


def test_simulate_init_check_go_together(run, tmp_path):
    run(
        "simulate",
        "--regime",
        "hard",
        "--units",
        60,
        "--periods",
        5,
        "--seed",
        3,
        "--out",
        "logs.parquet",
        cwd=tmp_path,
    )
    assert "300 rows" not in run("init", "logs.parquet", cwd=tmp_path).stderr
    report = json.loads(
        run("check", "logs.parquet", "--config", "realloc.toml", "--json", cwd=tmp_path).stdout
    )
    assert report["ok"]
    assert report["variation"]["rows"] == 300
    schema, _ = read_config(tmp_path / "realloc.toml")
    assert len(read_logs(tmp_path / "logs.parquet", schema)) == 300


def test_the_card_rebuilds_the_world_bit_for_bit(run, tmp_path):
    run(
        "simulate",
        "--units",
        20,
        "--periods",
        3,
        "--seed",
        5,
        "--sample-seed",
        2,
        "--out",
        tmp_path / "logs.parquet",
    )
    card = json.loads((tmp_path / "world.json").read_text())
    size = card.pop("sample")
    again = World.from_card(card).sample(
        units=size["units"], periods=size["periods"], seed=size["sample_seed"]
    )
    assert pq.read_table(tmp_path / "logs.parquet").equals(again.to_arrow())


def test_simulating_the_marketplace(run, tmp_path):
    run(
        "simulate",
        "--world",
        "platform",
        "--units",
        50,
        "--periods",
        6,
        "--channels",
        2,
        "--out",
        tmp_path / "market",
    )
    assert json.loads((tmp_path / "world.json").read_text())["sample"]["units"] == 50
    assert len(list((tmp_path / "market").rglob("*.parquet"))) >= 6
    run(
        "simulate",
        "--world",
        "platform",
        "--units",
        50,
        "--periods",
        6,
        "--channels",
        2,
        "--out",
        tmp_path / "m.csv",
    )
    run("init", tmp_path / "market", "--out", tmp_path / "a.toml")
    run("init", tmp_path / "m.csv", "--out", tmp_path / "b.toml")
    a, b = read_config(tmp_path / "a.toml")[0], read_config(tmp_path / "b.toml")[0]
    assert (a.unit, a.time, a.channels, a.outcome, set(a.features)) == (
        b.unit,
        b.time,
        b.channels,
        b.outcome,
        set(b.features),
    )


def test_every_output_has_a_card_of_its_own(run, tmp_path):
    for name, seed in (("train", 1), ("test", 2), ("train", 3)):
        run(
            "simulate",
            "--units",
            5,
            "--periods",
            2,
            "--seed",
            seed,
            "--out",
            tmp_path / f"{name}.parquet",
        )
    cards = {path.name: json.loads(path.read_text()) for path in tmp_path.glob("*world.json")}
    assert {name: (card["sample"]["file"], card["seed"]) for name, card in cards.items()} == {
        "world.json": ("train.parquet", 3),
        "test.world.json": ("test.parquet", 2),
    }


def test_simulate_never_overwrites_a_file_of_yours(run, tmp_path):
    mine = tmp_path / "logs.parquet"
    mine.write_bytes(b"years of work")
    failed = run("simulate", "--units", 5, "--out", mine, code=2)
    assert "it may be yours" in failed.stderr
    assert mine.read_bytes() == b"years of work"
    assert list(tmp_path.iterdir()) == [mine]


def test_init_takes_hints_and_refuses_a_folder_that_is_not_there(run, tmp_path):
    make_frame().rename(columns={"orders": "bookings"}).to_csv(tmp_path / "plain.csv", index=False)
    asked = run("init", "plain.csv", cwd=tmp_path, code=2).stderr
    assert "--channels ads,coupon" in asked
    run(
        "init",
        "plain.csv",
        "--channels",
        "ads, coupon,rebate",
        "--outcome",
        "bookings",
        cwd=tmp_path,
    )
    assert read_config(tmp_path / "realloc.toml")[0].channels == ("ads", "coupon", "rebate")
    assert (
        "to exist"
        in run("init", "plain.csv", "--out", "no/where.toml", cwd=tmp_path, code=2).stderr
    )


def test_one_partition_of_a_lake_is_a_window(run, tmp_path):
    run(
        "simulate",
        "--world",
        "platform",
        "--units",
        40,
        "--periods",
        3,
        "--channels",
        2,
        "--out",
        tmp_path / "lake",
    )
    day = next((tmp_path / "lake").glob("date=*"))
    report = json.loads(run("check", day, "--json", code=2).stdout)
    assert report["variation"]["periods"] == 1
    assert report["schema"]["time"] == "date"
    assert [error["code"] for error in report["errors"]] == ["too_few_rows"]


def test_an_interrupted_simulation_leaves_nothing(run, tmp_path, monkeypatch):
    def cut(self, folder, **_):
        folder.mkdir()
        (folder / "half.parquet").write_bytes(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr("realloc.world.platform.Marketplace.write", cut)
    said = run(
        "simulate", "--world", "platform", "--units", 5, "--out", tmp_path / "lake", code=130
    ).stderr
    assert "interrupted" in said
    assert list(tmp_path.iterdir()) == []


def test_init_does_not_replace_a_config(run, log):
    out = log.with_name("realloc.toml")
    out.write_text("mine")
    assert "there is one" in run("init", log, "--out", out, code=2).stderr
    assert out.read_text() == "mine"
    run("init", log, "--out", out, "--force")
    assert read_config(out)[0].channels == ("ads_spend", "coupon_spend", "rebate_spend")


def test_check_is_readable_and_exits_2_on_an_error(run, log):
    good = run("check", log).stdout
    assert "Can be learned from. 0 errors, 1 warning." in good
    assert "ads_spend" in good
    text = log.read_text().replace("i000,2025-01-06,", "i000,2025-01-07,")
    log.write_text(text)
    assert "✖ error   duplicates" in run("check", log, code=2).stdout
    log_with_config = log.with_name("c.toml")
    log_with_config.write_text(
        '[schema]\nunit = "item"\ntime = "date"\noutcome = "orders"\nchannels = ["ads_spend", "coupon_spend", "rebate_spend"]\n'
    )
    bad = run("check", log, "--config", log_with_config, code=2)
    assert "✖ error   duplicates" in bad.stdout
    assert "'i000' on 2025-01-07" in bad.stdout
    assert "No policy may be learned from this log yet. 1 error" in bad.stdout


def test_json_is_json_even_when_nothing_can_be_read(run, tmp_path):
    report = json.loads(run("check", tmp_path / "absent.parquet", "--json", code=2).stdout)
    assert report["ok"] is False
    assert "nothing is at" in report["errors"][0]["what"]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["check", "absent.parquet"], "nothing is at 'absent.parquet'"),
        (["check", "logs.csv", "--config", "absent.toml"], "there is none"),
        (["init", "absent.csv"], "nothing is at"),
        (["init", "bad.csv"], "a column of dates"),
        (["check", "cut.parquet"], "whole Parquet file"),
        (["simulate", "--out", "x.parquet", "--regime", "harder"], "harder"),
        (["simulate", "--out", "x.txt"], "to end in .parquet or .csv"),
        (["simulate", "--out", "x.parquet", "--channels", "1"], "channels"),
        (["frobnicate"], "No such command"),
    ],
)
def test_bad_input_is_one_message_and_exit_code_2(run, tmp_path, log, arguments, text):
    (tmp_path / "bad.csv").write_text("a,b\n1,2\n")
    (tmp_path / "cut.parquet").write_bytes(b"PAR1 and then nothing")
    before = sorted(tmp_path.iterdir())
    done = run(*arguments, cwd=tmp_path, code=2)
    assert text in done.stderr
    assert sorted(tmp_path.iterdir()) == before


def test_the_demo_runs_end_to_end(run, tmp_path):
    done = run("demo", "--out", tmp_path / "demo", "--units", 60)
    assert "Can be learned from" in done.stdout
    assert "What it is truly worth" in done.stdout
    assert "best first step" in done.stdout
    answers = pq.read_table(tmp_path / "demo" / "recommendations.parquet")
    assert answers.num_rows == 500


def test_real_logs_are_checked_without_help(run, tmp_path, real_data):
    path = real_data("conjura") / "conjura_slice_4999rows.csv"
    run("init", path, "--out", tmp_path / "realloc.toml")
    report = json.loads(
        run("check", path, "--config", tmp_path / "realloc.toml", "--json", code=2).stdout
    )
    found = {
        finding["code"]: finding
        for level in ("errors", "warnings", "infos")
        for finding in report[level]
    }
    assert len(report["variation"]["channels"]) == 9
    assert "61% of share cells are zero" in found["zeros"]["what"]
    assert "empty and read as 0" in found["empty_spend"]["what"]
    assert "GOOGLE_DISPLAY_SPEND" in found["mixed_zeros"]["what"]
    assert found["unit_is_a_total"]["unit"] == "b495f966e17c4c9ac0bea4d66aa03eba"
    assert "GOOGLE_PAID_SEARCH_CLICKS" in found["post_decision_name"]["what"]
    assert "3 in column 'CURRENCY_CODE'" in found["mixed_currencies"]["what"]
    assert not any(
        "CLICKS" in name or "IMPRESSIONS" in name or "PURCHASES" in name
        for name in report["features"]
    )


def test_the_installed_command_is_the_same_one(tmp_path):
    done = subprocess.run(
        [REALLOC, "check", "absent.csv"], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("realloc: Expected a Parquet or CSV file")
    assert done.stderr.count("\n") == 1


def test_an_unexpected_failure_is_exit_code_1_and_says_how_to_report(run, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("the sky fell")

    monkeypatch.setattr("realloc.cli.check.load", broken)
    monkeypatch.setattr("realloc.cli.check.guess_schema", lambda _: None)
    monkeypatch.setattr("realloc.cli.check.open_source", lambda _: None)
    assert (
        "unexpected RuntimeError: the sky fell. Run again with REALLOC_DEBUG=1"
        in run("check", "x.csv", code=1).stderr
    )
