"""`realloc check` as a user types it."""

import json


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


def test_check_is_readable_and_exits_2_on_an_error(run, log):
    good = run("check", log).stdout
    assert "Ready to learn from. 0 errors, 1 warning." in good
    assert "ads_spend" in good
    text = log.read_text().replace("i000,2025-01-06,", "i000,2025-01-07,")
    log.write_text(text)
    assert "✖ error   duplicates" in run("check", log, code=2).stdout
    log_with_config = log.with_name("c.toml")
    log_with_config.write_text(
        '[schema]\nunit = "item"\ntime = "date"\noutcome = "orders"\n'
        'channels = ["ads_spend", "coupon_spend", "rebate_spend"]\n'
    )
    bad = run("check", log, "--config", log_with_config, code=2)
    assert "✖ error   duplicates" in bad.stdout
    assert "'i000' on 2025-01-07" in bad.stdout
    assert "Not ready to learn from: mend the errors first. 1 error" in bad.stdout


def test_json_is_json_even_when_nothing_can_be_read(run, tmp_path):
    report = json.loads(run("check", tmp_path / "absent.parquet", "--json", code=2).stdout)
    assert report["ok"] is False
    assert "nothing is at" in report["errors"][0]["what"]


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
