"""`init`'s guess of a schema, on frames, simulated logs and real data."""

import pandas as pd
import pytest

from realloc import LogError, Schema, World, check_source, read_logs
from realloc.logs.guess import Hints, guess_schema
from realloc.logs.reading.source import open_source
from realloc.world.platform import Marketplace


def guess(source):
    return guess_schema(open_source(source))


def test_shares_without_names_are_found_by_their_sum():
    for channels in (2, 3, 5):
        logs = World(regime="hard", seed=1, channels=channels).sample(
            units=40, periods=5, seed=0
        )
        found = guess(logs.to_arrow())
        expected = logs.schema
        assert (found.unit, found.time, found.outcome) == (
            expected.unit,
            expected.time,
            expected.outcome,
        )
        assert (found.channels, found.budget) == (expected.channels, expected.budget)


def test_the_marketplace_is_understood():
    market = Marketplace(seed=1)
    logs = market.sample(items=100, days=20, seed=0)
    found = guess(logs.to_arrow())
    assert (found.unit, found.time, found.outcome) == ("item_id", "date", "orders")
    assert (found.channels, found.budget, found.propensity) == (
        logs.schema.channels,
        "budget",
        "propensity",
    )


def test_spends_are_found_by_name_and_totals_are_not_channels(frame):
    named = frame.rename(
        columns={"ads": "ads_spend", "coupon": "spend_coupon", "rebate": "RebateCost"}
    )
    named["total_spend"] = frame[["ads", "coupon", "rebate"]].sum(axis=1)
    found = guess(named)
    assert found.channels == ("ads_spend", "spend_coupon", "RebateCost")
    assert found.budget is None


def test_spends_without_names_are_found_by_the_budget_they_sum_to(frame):
    frame["budget"] = frame[["ads", "coupon", "rebate"]].sum(axis=1)
    found = guess(frame)
    assert (found.channels, found.budget) == (("ads", "coupon", "rebate"), None)


def test_csv_and_frame_give_the_same_guess(share_frame, tmp_path):
    share_frame.to_csv(tmp_path / "logs.csv", index=False)
    assert guess(tmp_path / "logs.csv") == guess(share_frame)


def test_real_logs_are_understood(real_data):
    found = guess(real_data("conjura") / "conjura_slice_4999rows.csv")
    assert (found.unit, found.time, found.outcome) == (
        "MMM_TIMESERIES_ID",
        "DATE_DAY",
        "ALL_PURCHASES",
    )
    assert len(found.channels) == 9
    assert found.currency == "CURRENCY_CODE"
    panel = guess(real_data("meridian") / "geo_all_channels.csv")
    assert (panel.unit, panel.time, panel.outcome) == ("geo", "time", "conversions")
    assert panel.channels == tuple(f"Channel{k}_spend" for k in range(5))


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda f: f.drop(columns="date"), "a column of dates"),
        (
            lambda f: f.drop(columns="budget").assign(ads=f["ads"] * 7),
            "two or more channel columns",
        ),
        (lambda f: f.drop(columns="orders"), "an outcome column"),
        (lambda f: f.drop(columns=["item", "category"]), "at most one row per 'date'"),
        (lambda f: f.head(0), "the log is empty"),
    ],
)
def test_what_cannot_be_found_is_said(share_frame, change, text):
    with pytest.raises(LogError, match=text):
        guess(change(share_frame))


@pytest.mark.parametrize("bad", ["-5", "abc", '"1,234.50"', "€39.4", "inf"])
def test_one_bad_cell_does_not_hide_a_channel(frame, tmp_path, bad):
    named = frame.rename(
        columns={name: f"{name}_spend" for name in ("ads", "coupon", "rebate")}
    )
    lines = named.to_csv(index=False).splitlines(keepends=True)
    cells = lines[9].split(",")
    cells[2] = bad
    lines[9] = ",".join(cells)
    (tmp_path / "logs.csv").write_text("".join(lines))
    found = guess(tmp_path / "logs.csv")
    assert found.channels == ("ads_spend", "coupon_spend", "rebate_spend")
    assert not check_source(tmp_path / "logs.csv", found).ok


def test_spends_written_with_signs_are_channels_that_the_check_refuses(frame, tmp_path):
    named = frame.rename(
        columns={name: f"{name}_spend" for name in ("ads", "coupon", "rebate")}
    )
    named["ads_spend"] = named["ads_spend"].map("€{:,.2f}".format)
    named.to_csv(tmp_path / "logs.csv", index=False)
    found = guess(tmp_path / "logs.csv")
    assert set(found.channels) == {"ads_spend", "coupon_spend", "rebate_spend"}
    assert check_source(tmp_path / "logs.csv", found).errors[0].code == "not_a_number"


@pytest.mark.parametrize(("factor", "word"), [(100, "percent"), (10_000, "basis points")])
def test_percents_are_found_and_the_check_says_what_they_are(share_frame, factor, word):
    for name in ("ads", "coupon", "rebate"):
        share_frame[name] *= factor
    found = guess(share_frame)
    assert (found.channels, found.budget) == (("ads", "coupon", "rebate"), "budget")
    assert word in check_source(share_frame, found).errors[0].advice


def test_a_repeated_row_or_file_is_left_to_the_check(share_frame):
    for repeated in (
        pd.concat([share_frame, share_frame.iloc[[4]]]),
        pd.concat([share_frame, share_frame]),
    ):
        found = guess(repeated)
        assert found.unit == "item"
        assert [finding.code for finding in check_source(repeated, found).errors] == [
            "duplicates"
        ]


def test_the_long_layout_is_found(frame):
    long = frame.melt(
        ["item", "date", "orders", "price"], ["ads", "coupon", "rebate"], "channel", "spend"
    )
    found = guess(long)
    assert (found.channel_column, found.spend_column, found.unit) == (
        "channel",
        "spend",
        "item",
    )
    assert found.channels == ("ads", "coupon", "rebate")
    assert len(read_logs(long, found)) == len(frame)


def test_hints_help_where_names_do_not(frame):
    plain = frame.rename(columns={"orders": "bookings"})
    hints = Hints(outcome="bookings", channels=("ads", "coupon", "rebate"))
    found = guess_schema(open_source(plain), hints)
    assert (found.outcome, found.channels, found.budget) == (
        "bookings",
        ("ads", "coupon", "rebate"),
        None,
    )
    with pytest.raises(
        LogError, match=r"Expected a column 'booking'.* Did you mean 'bookings'\?"
    ):
        guess_schema(open_source(plain), Hints(outcome="booking"))


def test_a_guess_is_a_schema(share_frame):
    assert isinstance(guess(share_frame), Schema)


def test_text_columns_with_missing_values_are_no_obstacle(frame):
    frame.loc[::7, "category"] = None
    frame.loc[3, "item"] = None
    schema = guess_schema(
        open_source(
            frame.rename(
                columns={
                    "ads": "ads_spend",
                    "coupon": "coupon_spend",
                    "rebate": "rebate_spend",
                }
            )
        )
    )
    assert (schema.unit, schema.time, schema.outcome) == ("item", "date", "orders")
