"""`realloc init` as a user types it."""

from realloc import read_config
from tests.conftest import make_frame


def test_init_takes_hints_and_refuses_a_folder_that_is_not_there(run, tmp_path):
    make_frame().rename(columns={"orders": "bookings"}).to_csv(
        tmp_path / "plain.csv", index=False
    )
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


def test_init_does_not_replace_a_config(run, log):
    out = log.with_name("realloc.toml")
    out.write_text("mine")
    assert "there is one" in run("init", log, "--out", out, code=2).stderr
    assert out.read_text() == "mine"
    run("init", log, "--out", out, "--force")
    assert read_config(out)[0].channels == ("ads_spend", "coupon_spend", "rebate_spend")
