"""Reading: every kind of source gives the same table; nothing is inferred silently, nothing is shifted."""

from datetime import date, datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from realloc import LogError, Schema, read_logs
from tests.conftest import SHARES, SPENDS, make_frame


def same(a, b):
    return a.to_arrow().equals(b.to_arrow())


def to_csv(frame, path, **options):
    frame.to_csv(path, index=False, **options)
    return path


def test_all_sources_give_the_same_logs(frame, tmp_path):
    expected = read_logs(frame, SPENDS)
    frame.to_parquet(tmp_path / "logs.parquet")
    halves = tmp_path / "halves"
    halves.mkdir()
    frame[::2].to_parquet(halves / "b.parquet")
    frame[1::2].to_parquet(halves / "a.parquet")
    (halves / "_SUCCESS").write_text("")
    sources = {
        "polars": pl.from_pandas(frame),
        "lazy polars": pl.from_pandas(frame).lazy(),
        "arrow": pa.Table.from_pandas(frame, preserve_index=False),
        "record batch": pa.RecordBatch.from_pandas(frame, preserve_index=False),
        "parquet": tmp_path / "logs.parquet",
        "text path": str(tmp_path / "logs.parquet"),
        "list": [halves / "a.parquet", halves / "b.parquet"],
        "glob": str(halves / "*.parquet"),
        "folder": halves,
        "csv": to_csv(frame, tmp_path / "logs.csv"),
        "tsv": to_csv(frame, tmp_path / "logs.tsv", sep="\t"),
        "gzip": to_csv(frame, tmp_path / "logs.csv.gz"),
        "bom": to_csv(frame, tmp_path / "bom.csv", encoding="utf-8-sig"),
    }
    for name, source in sources.items():
        assert same(read_logs(source, SPENDS), expected), name


def test_order_of_rows_and_columns_does_not_matter(frame):
    shuffled = frame.sample(frac=1, random_state=3)[list(frame.columns[::-1])]
    listed = Schema(**{**SPENDS.__dict__, "features": ("price", "category", "promoted")})
    assert same(read_logs(frame, listed), read_logs(shuffled, listed))


def test_the_table_has_the_promised_types(frame):
    logs = read_logs(frame, SPENDS)
    assert len(logs) == 240
    assert logs.unit_count == 30
    types = {field.name: str(field.type) for field in logs.table.schema}
    assert types["date"] == "date32[day]"
    assert types["ads"] == types["orders"] == "double"
    assert types["price"] == "float"
    assert types["promoted"] == "bool"
    assert types["category"].startswith("dictionary<values=string, indices=int32")
    assert logs.features == ("price", "category", "promoted")
    assert "30 units" in repr(logs)


def test_shares_budget_and_outcome_come_out_as_they_went_in(frame, share_frame):
    by_spend, by_share = read_logs(frame, SPENDS), read_logs(share_frame, SHARES)
    spends = frame[["ads", "coupon", "rebate"]].to_numpy()
    assert np.array_equal(by_spend.amounts, spends)
    assert np.allclose(by_spend.shares, spends / spends.sum(axis=1, keepdims=True), atol=1e-15)
    assert np.allclose(by_share.shares, by_spend.shares, atol=1e-14)
    assert np.allclose(by_share.budget, by_spend.budget)
    assert np.array_equal(by_spend.outcome, frame["orders"])
    assert np.all(np.abs(by_share.shares.sum(axis=1) - 1) < 1e-15 * 4)


def test_logs_cannot_be_changed(frame):
    logs = read_logs(frame, SPENDS)
    for values in (
        logs.shares,
        logs.amounts,
        logs.budget,
        logs.outcome,
        logs.times,
        logs.unit_codes,
    ):
        with pytest.raises(ValueError, match="read-only"):
            values[0] = values[1]
    with pytest.raises(AttributeError):
        logs.schema = None


def test_reading_leaves_the_frame_alone(frame):
    before = frame.copy(deep=True)
    read_logs(frame, SPENDS)
    pd.testing.assert_frame_equal(frame, before)


def test_frames_come_back(frame):
    logs = read_logs(frame, SPENDS)
    assert logs.to_pandas()["item"].tolist() == frame["item"].tolist()
    assert logs.to_polars()["date"].to_list() == frame["date"].tolist()
    assert logs.to_arrow()["orders"].to_pylist() == frame["orders"].tolist()


def test_ids_that_are_numbers_stay_numbers_and_text_ids_keep_their_zeros(frame, tmp_path):
    numbered = frame.assign(item=frame["item"].str[1:].astype(int))
    assert read_logs(numbered, SPENDS).to_arrow()["item"][0].as_py() == 0
    padded = frame.assign(item="0" + frame["item"].str[1:])
    assert (
        read_logs(to_csv(padded, tmp_path / "ids.csv"), SPENDS).to_arrow()["item"][0].as_py()
        == "0000"
    )


def test_an_id_called_na_is_an_id(frame, tmp_path):
    named = frame.replace({"item": {"i000": "NA", "i001": "null"}})
    units = read_logs(to_csv(named, tmp_path / "na.csv"), SPENDS).units.to_pylist()
    assert {"NA", "null"} <= set(units)


def test_hive_partitions_carry_their_column(frame, tmp_path):
    pq.write_to_dataset(
        pa.Table.from_pandas(frame, preserve_index=False),
        tmp_path / "lake",
        partition_cols=["date"],
    )
    assert same(read_logs(tmp_path / "lake", SPENDS), read_logs(frame, SPENDS))


def test_long_layout_equals_wide(frame):
    long = frame.melt(
        id_vars=["item", "date", "orders", "price", "category", "promoted"],
        value_vars=["ads", "coupon", "rebate"],
        var_name="channel",
        value_name="spend",
    ).sample(frac=1, random_state=0)
    schema = Schema(**{**SPENDS.__dict__, "channel_column": "channel", "spend_column": "spend"})
    assert same(read_logs(long, schema), read_logs(frame, SPENDS))


def long_frame(**changes):
    rows = {
        "item": ["a", "a", "b", "b"],
        "date": ["2025-01-01"] * 4,
        "channel": ["ads", "coupon", "ads", "coupon"],
        "spend": [1.0, 2.0, 3.0, 4.0],
        "orders": [5.0, 5.0, 6.0, 6.0],
    }
    return pd.DataFrame(rows | changes)


LONG = Schema(
    unit="item",
    time="date",
    outcome="orders",
    channels=["ads", "coupon"],
    channel_column="channel",
    spend_column="spend",
    features=[],
)


def test_long_layout_fills_absent_channels_with_zero_and_takes_an_outcome_given_once():
    logs = read_logs(long_frame(orders=[5.0, None, None, 6.0]).iloc[[0, 1, 3]], LONG)
    assert logs.amounts.tolist() == [[1, 2], [0, 4]]
    assert logs.outcome.tolist() == [5, 6]


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        (
            {"channel": ["ads", "ads", "ads", "coupon"]},
            "each channel once per unit and date.*unit 'a'",
        ),
        (
            {"channel": ["ads", "tv", "ads", "coupon"]},
            "one of the schema's channels in column 'channel', got 'tv'",
        ),
        ({"channel": ["ads", None, "ads", "coupon"]}, "got nothing"),
        (
            {"orders": [5.0, 7.0, 6.0, 6.0]},
            "one value per unit and date in column 'orders', got 5 and 7",
        ),
        ({"spend": [1.0, -2.0, 3.0, 4.0]}, "at least 0 in column 'spend', got -2"),
    ],
)
def test_long_layout_refuses_what_it_would_have_to_guess(changes, text):
    with pytest.raises(LogError, match=text):
        read_logs(long_frame(**changes), LONG)


def test_missing_and_zero_spends_both_mean_not_used(frame):
    frame.loc[0, "coupon"] = np.nan
    frame.loc[1, "coupon"] = 0.0
    logs = read_logs(frame, SPENDS)
    assert logs.shares[0, 1] == logs.shares[1, 1] == 0
    codes = [note.code for note in logs.notes]
    assert "empty_spend" in codes
    assert "mixed_zeros" in codes


def test_rows_without_budget_or_outcome_are_set_aside_and_counted(frame):
    frame.loc[3, ["ads", "coupon", "rebate"]] = 0.0
    frame.loc[5:6, "orders"] = np.nan
    logs = read_logs(frame, SPENDS)
    assert len(logs) == 237
    assert {note.code: note.rows for note in logs.notes} == {"zero_budget": 1, "missing_outcome": 2}


def test_features_may_be_missing_dates_categories_or_flags(frame):
    frame["launched"] = pd.to_datetime("2024-05-01")
    frame.loc[4, ["price", "launched"]] = None
    frame.loc[4, "category"] = None
    frame["promoted"] = frame["promoted"].astype("boolean")
    frame.loc[4, "promoted"] = None
    frame["fine"] = [f"c{i % 97}" for i in range(len(frame))]
    logs = read_logs(
        frame,
        Schema(
            **{**SPENDS.__dict__, "features": ("price", "launched", "category", "promoted", "fine")}
        ),
    )
    assert [logs.table[name].null_count for name in ("launched", "category", "promoted")] == [
        1,
        1,
        1,
    ]
    assert np.isnan(logs.feature("price").to_numpy()[4])
    assert len(logs.feature("fine").chunk(0).dictionary) == 97


def test_times_of_day_are_kept_and_zones_become_utc(frame):
    hours = pd.to_datetime(frame["date"]) + pd.Timedelta(hours=13)
    logs = read_logs(frame.assign(date=hours), SPENDS)
    assert logs.times[0] == np.datetime64("2025-01-06T13:00")
    assert "no_time_zone" in [note.code for note in logs.notes]
    zoned = read_logs(frame.assign(date=hours.dt.tz_localize("Europe/Berlin")), SPENDS)
    assert zoned.times[0] == np.datetime64("2025-01-06T12:00")
    text = read_logs(frame.assign(date=hours.dt.strftime("%Y-%m-%dT%H:%M:%S+01:00")), SPENDS)
    assert text.times[0] == np.datetime64("2025-01-06T12:00")


def test_csv_columns_with_leading_zeros_or_words_are_categories(frame, tmp_path):
    frame = frame.assign(shop=["007", "12"] * 120, flag=["true", "false"] * 120)
    logs = read_logs(to_csv(frame, tmp_path / "logs.csv"), SPENDS)
    assert pa.types.is_dictionary(logs.table["shop"].type)
    assert pa.types.is_boolean(logs.table["flag"].type)
    assert "undeclared_types" in [note.code for note in logs.notes]


def test_declared_csv_types_are_not_guessed(frame, tmp_path):
    path = to_csv(frame.assign(shop=["7", "12"] * 120), tmp_path / "logs.csv")
    declared = Schema(
        **{**SPENDS.__dict__, "features": ("price", "shop"), "categorical": ("shop",)}
    )
    logs = read_logs(path, declared)
    assert pa.types.is_dictionary(logs.table["shop"].type)
    assert "undeclared_types" not in [note.code for note in logs.notes]
    with pytest.raises(
        LogError, match="Expected numbers in column 'category', got 'books'|'toys'|'food'"
    ):
        read_logs(path, Schema(**{**SPENDS.__dict__, "features": ("category",), "categorical": ()}))


def test_units_can_be_dropped_by_name(frame):
    logs = read_logs(frame, Schema(**{**SPENDS.__dict__, "drop_units": ("i003", "nobody")}))
    assert logs.unit_count == 29
    assert "unknown_drop" in [note.code for note in logs.notes]


def test_progress_is_reported_up_to_the_last_row(frame):
    calls = []
    read_logs(frame, SPENDS, on_progress=lambda done, total: calls.append((done, total)))
    assert calls[-1] == (240, 240)


def test_today_may_be_set_to_read_an_old_log_as_of_then(frame):
    with pytest.raises(LogError, match="dates up to today"):
        read_logs(frame, SPENDS, today=date(2025, 1, 10))


CASES = {
    "shares as percent": (
        SHARES,
        {"ads": 30.0, "coupon": 30.0, "rebate": 40.0, "budget": 10.0},
        "percent",
    ),
    "basis points": (
        SHARES,
        {"ads": 3000.0, "coupon": 3000.0, "rebate": 4000.0, "budget": 7.0},
        "basis points",
    ),
    "amounts": (
        SHARES,
        {"ads": 3.0, "coupon": 3.0, "rebate": 4.0, "budget": 10.0},
        "leave out `budget=`",
    ),
    "rounded": (
        SHARES,
        {"ads": 0.33, "coupon": 0.33, "rebate": 0.33, "budget": 10.0},
        "look rounded",
    ),
    "not shares": (
        SHARES,
        {"ads": 0.9, "coupon": 0.9, "rebate": 0.9, "budget": 10.0},
        "sum to 1, got 2.7",
    ),
    "negative share": (
        SHARES,
        {"ads": -0.5, "coupon": 1.0, "rebate": 0.5, "budget": 10.0},
        "at least 0 in column 'ads'",
    ),
    "negative budget": (
        SHARES,
        {"ads": 0.5, "coupon": 0.5, "rebate": 0.0, "budget": -1.0},
        "'budget', got -1",
    ),
    "negative spend": (SPENDS, {"ads": -0.5}, "at least 0 in column 'ads', got -0.5"),
    "infinite spend": (SPENDS, {"ads": np.inf}, "finite numbers in column 'ads'"),
    "infinite outcome": (SPENDS, {"orders": -np.inf}, "finite numbers in column 'orders'"),
    "infinite feature": (SPENDS, {"price": np.inf}, "finite numbers in column 'price'"),
    "micros": (SPENDS, {"ads": 1e15}, "below 9e13 in column 'ads'"),
    "no unit": (SPENDS, {"item": None}, "Expected an id in column 'item'"),
    "blank unit": (SPENDS, {"item": "  "}, "Expected an id in column 'item'"),
    "no date": (SPENDS, {"date": None}, "Expected a date in column 'date'"),
    "future": (
        SPENDS,
        {"date": date(2999, 1, 1)},
        "dates up to today in column 'date', got 2999-01-01",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_one_wrong_row_refuses_the_log_and_says_where(name):
    schema, values, text = CASES[name]
    frame = make_frame()
    frame[["budget", "extra"]] = 1.0, 1.0
    if schema.budget:
        from tests.conftest import as_shares

        frame = as_shares(frame)
    for column, value in values.items():
        frame[column] = (
            frame[column].astype(object) if not isinstance(value, float) else frame[column]
        )
        frame.loc[7, column] = value
    with pytest.raises(LogError, match=text) as caught:
        read_logs(frame, schema)
    assert "row 8" in str(caught.value)


def test_all_problems_come_in_one_message(frame):
    frame.loc[2, "ads"] = -1.0
    frame.loc[3, "orders"] = np.inf
    with pytest.raises(
        LogError, match=r"2 problems in the log:\n  1\. .*'ads'.*\n  2\. .*'orders'"
    ):
        read_logs(frame, SPENDS)


def test_duplicates_are_refused_with_the_first_ones_named(frame):
    doubled = pd.concat([frame, frame.iloc[[4, 9]]])
    with pytest.raises(
        LogError, match="'i000' on 2025-01-10, 'i001' on 2025-01-07 .all of them exact copies."
    ):
        read_logs(doubled, SPENDS)
    doubled = pd.concat([frame, frame.iloc[[4]].assign(orders=999.0)])
    with pytest.raises(LogError, match="0 of them exact copies"):
        read_logs(doubled, SPENDS)


@pytest.mark.parametrize(("twin", "refused"), [("i000 ", True), ("I000", False)])
def test_ids_that_are_one_id_in_two_forms(frame, twin, refused):
    frame.loc[7, "item"] = twin
    if refused:
        with pytest.raises(LogError, match="differ only in blanks"):
            read_logs(frame, SPENDS)
    else:
        assert "id_collision" in [note.code for note in read_logs(frame, SPENDS).notes]


def test_a_missing_column_suggests_the_nearest(frame):
    with pytest.raises(
        LogError,
        match=r"Expected a column 'order' \(`outcome` of the schema\).* Did you mean 'orders'\?",
    ):
        read_logs(frame, Schema(**{**SPENDS.__dict__, "outcome": "order"}))


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("/nowhere/at/all.parquet", "nothing is at"),
        ("s3://bucket/logs.parquet", "a path on this machine"),
        ("/nowhere/*.parquet", "nothing is at"),
        ([], "an empty list"),
        ([1, 2], "a list of paths"),
        (3, "a path, a list of paths, or a pandas, polars or pyarrow table, got int"),
        (None, "got NoneType"),
        ({"item": [1]}, "got dict"),
    ],
)
def test_sources_that_are_none(source, text):
    with pytest.raises(LogError, match=text):
        read_logs(source, SPENDS)


def test_unusable_files(tmp_path, frame):
    (tmp_path / "logs.xlsx").write_bytes(b"PK")
    with pytest.raises(LogError, match="ends in .parquet"):
        read_logs(tmp_path / "logs.xlsx", SPENDS)
    (tmp_path / "empty").mkdir()
    with pytest.raises(LogError, match="there are none"):
        read_logs(tmp_path / "empty", SPENDS)
    frame.to_parquet(tmp_path / "a.parquet")
    to_csv(frame, tmp_path / "b.csv")
    with pytest.raises(LogError, match="Parquet and CSV together"):
        read_logs([tmp_path / "a.parquet", tmp_path / "b.csv"], SPENDS)
    frame.drop(columns="price").to_parquet(tmp_path / "c.parquet")
    with pytest.raises(LogError, match=r"c\.parquet has no column 'price'"):
        read_logs([tmp_path / "a.parquet", tmp_path / "c.parquet"], SPENDS)


@pytest.mark.parametrize(
    ("column", "values", "text"),
    [
        ("orders", "twelve", "Expected numbers in column 'orders', got text"),
        ("ads", True, "Expected numbers in column 'ads', got true/false"),
        ("date", 20250106, "Expected dates in column 'date', got whole numbers"),
        ("item", 1.5, "text or whole numbers in column 'item'"),
    ],
)
def test_wrong_types_are_refused_by_column(frame, column, values, text):
    with pytest.raises(LogError, match=text):
        read_logs(frame.assign(**{column: values}), SPENDS)


def test_a_datetime_with_nonsense_text_is_quoted(frame):
    frame["date"] = frame["date"].astype(str)
    frame.loc[3, "date"] = "31/01/2025"
    with pytest.raises(LogError, match="'31/01/2025'"):
        read_logs(frame, SPENDS)
    frame.loc[3, "date"] = "2025-02-30"
    with pytest.raises(LogError, match="'2025-02-30'"):
        read_logs(frame, SPENDS)
    assert datetime(2025, 1, 1)  # a real one, for contrast


def test_the_index_of_a_pandas_frame_is_no_feature(frame, tmp_path):
    shuffled = frame.sample(frac=1, random_state=1)
    shuffled.to_parquet(tmp_path / "indexed.parquet")
    for source in (shuffled, tmp_path / "indexed.parquet"):
        assert same(read_logs(source, SPENDS), read_logs(frame, SPENDS))
