"""`init`'s guess of a schema, on frames, simulated logs and real data."""

import pandas as pd
import pytest

import realloc
from realloc import LogError, Schema, World, check_source, guess_schema, read_logs
from realloc.logs.guess import Hints
from realloc.world.platform import Marketplace
from tests.logs.messy import german_csv, plain_log, utf16_tsv, workbook


def guess(source):
    return guess_schema(source)


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
            lambda f: f.drop(columns=["budget", "coupon", "rebate"]),
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


def test_the_way_a_column_of_spends_is_written_is_proposed(frame, tmp_path):
    named = frame.rename(
        columns={name: f"{name}_spend" for name in ("ads", "coupon", "rebate")}
    )
    named["ads_spend"] = named["ads_spend"].map("€{:,.2f}".format)
    named.to_csv(tmp_path / "logs.csv", index=False)
    found = guess(tmp_path / "logs.csv")
    assert set(found.channels) == {"ads_spend", "coupon_spend", "rebate_spend"}
    assert found.read.currency_sign == "€"
    assert check_source(tmp_path / "logs.csv", found).ok
    silent = realloc.Schema(
        unit="item", time="date", outcome="orders", channels=found.channels
    )
    assert check_source(tmp_path / "logs.csv", silent).errors[0].code == "not_a_number"


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
    found = guess_schema(plain, hints)
    assert (found.outcome, found.channels, found.budget) == (
        "bookings",
        ("ads", "coupon", "rebate"),
        None,
    )
    with pytest.raises(
        LogError, match=r"Expected a column 'booking'.* Did you mean 'bookings'\?"
    ):
        guess_schema(plain, Hints(outcome="booking"))


def test_a_guess_is_a_schema(share_frame):
    assert isinstance(guess(share_frame), Schema)


def test_text_columns_with_missing_values_are_no_obstacle(frame):
    frame.loc[::7, "category"] = None
    frame.loc[3, "item"] = None
    named = {name: f"{name}_spend" for name in ("ads", "coupon", "rebate")}
    schema = guess_schema(frame.rename(columns=named))
    assert (schema.unit, schema.time, schema.outcome) == ("item", "date", "orders")


@pytest.mark.parametrize("write", [german_csv, utf16_tsv, workbook])
def test_exports_are_understood_with_a_note_per_column(write, tmp_path):
    path = write(tmp_path)
    schema = guess_schema(path)
    logs = read_logs(path, schema)
    plain = plain_log()
    assert len(logs) == len(plain)
    assert logs.amounts.sum() == pytest.approx(
        plain[["search", "social", "email", "video"]].sum().sum()
    )
    assert logs.outcome.sum() == plain["orders"].sum()
    assert set(logs.features) == {"income_idx", "last_week_orders"}
    assert {*schema.notes} == {
        *schema.columns,
        "income_idx",
        "last_week_orders",
        "clicks",
        "[read]",
    }
    assert schema.notes["search"].endswith("is it spend?")
    assert schema.notes["clicks"].endswith("was it known before the budget was set?")
    assert "never changes within a unit" in schema.notes["income_idx"]
    assert "197" in schema.notes["[read]"]


def test_what_is_a_note_does_not_make_another_schema(share_frame):
    schema = guess(share_frame)
    assert schema.notes["ads"] == "channel: these columns sum to 1"
    assert schema == realloc.Schema(
        **{**vars(schema), "notes": {}},
    )
    assert read_logs(share_frame, schema).pinned_schema.notes == {}


def test_a_german_log_in_the_long_layout(tmp_path):
    frame = plain_log(8)
    long = frame.melt(
        ["shop", "day", "orders"], ["search", "social", "email"], "Kanal", "Ausgaben"
    )
    long["Ausgaben"] = [f"{value:.2f}".replace(".", ",") for value in long["Ausgaben"]]
    long.to_csv(tmp_path / "lang.csv", sep=";", index=False)
    schema = guess_schema(tmp_path / "lang.csv")
    assert (schema.channel_column, schema.spend_column) == ("Kanal", "Ausgaben")
    logs = read_logs(tmp_path / "lang.csv", schema)
    assert logs.amounts.sum() == pytest.approx(
        frame[["search", "social", "email"]].sum().sum()
    )
