"""`realloc init` as a user types it."""

import numpy as np
import pandas as pd

from realloc import read_config
from tests.conftest import make_frame
from tests.logs.messy import plain_log


def test_init_takes_hints_and_refuses_a_folder_that_is_not_there(run, tmp_path):
    make_frame().rename(columns={"orders": "hires"}).to_csv(
        tmp_path / "plain.csv", index=False
    )
    asked = run("init", "plain.csv", cwd=tmp_path, code=2).stderr
    assert "--outcome bookings" in asked
    run(
        "init",
        "plain.csv",
        "--channels",
        "ads, coupon,rebate",
        "--outcome",
        "hires",
        cwd=tmp_path,
    )
    assert read_config(tmp_path / "realloc.toml")[0].channels == ("ads", "coupon", "rebate")
    assert (
        "to exist"
        in run("init", "plain.csv", "--out", "no/where.toml", cwd=tmp_path, code=2).stderr
    )


def test_init_does_not_replace_a_config(run, log):
    out = log.with_name("realloc.toml")
    out.write_text("mine")
    assert "exists already" in run("init", log, "--out", out, code=2).stderr
    assert out.read_text() == "mine"
    run("init", log, "--out", out, "--force")
    assert read_config(out)[0].channels == ("ads_spend", "coupon_spend", "rebate_spend")


def test_dates_that_fit_two_forms_are_asked_for_and_the_flag_helps(run, log):
    frame = pd.read_csv(log)
    frame = frame[frame["date"] < "2025-01-12"]
    frame["date"] = pd.to_datetime(frame["date"]).dt.strftime("%d/%m/%Y")
    frame.to_csv(log, index=False)
    out = log.with_name("realloc.toml")
    asked = run("init", log, "--out", out, code=2).stderr
    assert "in column 'date' that can be told apart, got '06/01/2025'" in asked
    assert "--date-format DD/MM/YYYY for `realloc init` and `realloc check`" in asked
    assert not out.exists()
    assert "ambiguous_dates" in run("check", log, code=2).stdout
    assert (
        "(2025-01-06 to 2025-01-11)"
        in run("check", log, "--date-format", "DD/MM/YYYY").stdout
    )
    run("init", log, "--out", out, "--date-format", "DD/MM/YYYY")
    assert read_config(out)[0].read.date_format == "DD/MM/YYYY"
    assert "(2025-01-06 to 2025-01-11)" in run("check", log, "--config", out).stdout
    wrong = run("check", log, "--config", out, "--date-format", "DD-MM", code=2).stderr
    assert "a form such as 'DD/MM/YYYY'" in wrong


def test_the_file_has_a_note_for_each_part_and_asks_what_it_does_not_know(run, tmp_path):
    plain_log().assign(day=lambda f: f["day"].dt.strftime("%Y-%m-%d")).to_csv(
        tmp_path / "logs.csv", index=False
    )
    said = run("init", "logs.csv", cwd=tmp_path).stdout
    assert (
        "Please confirm: search, social, email, video · channel: named like a medium"
        in said
    )
    assert "Please confirm: clicks · left out: named like a result; was it known" in said
    text = (tmp_path / "realloc.toml").read_text()
    assert '"email",  # named like a medium, changes within units' in text
    assert 'unit = "shop"  # an id with one row per date' in text
    assert '# known_before = ["clicks"]' in text
    assert "[read]" not in text
    assert read_config(tmp_path / "realloc.toml")[0].features == (
        "income_idx",
        "last_week_orders",
    )


def test_a_test_is_set_up_read_out_and_never_set_up_twice(run, tmp_path):
    frame = make_frame(units=200).assign(
        variant=lambda f: np.where(f["item"].str[-1].astype(int) < 5, "holdout", "new")
    )
    frame.to_csv(tmp_path / "arms.csv", index=False)
    run("init", "arms.csv", cwd=tmp_path)
    none = run("abtest", "arms.csv", "--config", "realloc.toml", cwd=tmp_path, code=2)
    assert "`realloc init … --abtest --out realloc.toml` adds one" in none.stderr
    before = (tmp_path / "realloc.toml").read_text()
    said = run("init", "arms.csv", "--abtest", cwd=tmp_path).stdout
    assert said.startswith("Added [abtest] to realloc.toml.")
    written = (tmp_path / "realloc.toml").read_text()
    assert written.startswith(before.rstrip())
    assert 'control = "holdout"\ntreatment = "new"\nsplit = 0.5' in written
    found = run("abtest", "arms.csv", "--config", "realloc.toml", cwd=tmp_path).stdout
    assert "100 in treatment, 100 in control" in found
    assert "orders" in found
    twice = run("init", "arms.csv", "--abtest", cwd=tmp_path, code=2).stderr
    assert "has one. Correct it there." in twice
    run("init", "arms.csv", "--abtest", "--out", "both.toml", cwd=tmp_path)
    both = run("abtest", "arms.csv", "--config", "both.toml", cwd=tmp_path).stdout
    assert both == found
