from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

from realloc import read_logs
from realloc.base.errors import StoreError
from realloc.storage.store.windows import WindowId, check_order, count_repeats, identify
from tests.conftest import SPENDS, make_frame

NOON = datetime(2025, 3, 1, 12, tzinfo=UTC)
DAY = 86400


def window(first, last, hole=DAY, digest="x"):
    return WindowId(first, last, 100, digest, hole)


def test_neither_the_order_of_rows_nor_of_columns_nor_of_files_changes_the_id(tmp_path):
    frame = make_frame()
    known = identify(read_logs(frame, SPENDS))
    assert (known.first, known.last, known.rows, known.gap_seconds) == (
        "2025-01-06",
        "2025-01-13",
        len(frame),
        DAY,
    )
    shuffled = frame.sample(frac=1, random_state=0)[list(reversed(frame.columns))]
    assert identify(read_logs(shuffled, SPENDS)) == known
    shuffled[:90].to_parquet(tmp_path / "b.parquet")
    shuffled[90:].to_parquet(tmp_path / "a.parquet")
    assert (
        identify(read_logs([tmp_path / "a.parquet", tmp_path / "b.parquet"], SPENDS))
        == known
    )


def test_the_schema_that_a_fit_pins_reads_the_same_window():
    logs = read_logs(make_frame(), SPENDS)
    assert identify(read_logs(make_frame(), logs.pinned_schema)) == identify(logs)


def test_any_other_value_changes_the_id():
    frame = make_frame()
    known = identify(read_logs(frame, SPENDS)).digest
    found = {known}
    for column, value in (
        ("ads", 1.23),
        ("orders", 77.0),
        ("price", 5.5),
        ("category", "toys"),
        ("promoted", True),
    ):
        other = frame.copy()
        row = int(np.flatnonzero(other[column] != value)[3])
        other.loc[row, column] = value
        found.add(identify(read_logs(other, SPENDS)).digest)
    swapped = frame.copy()
    swapped.loc[[0, 1], "price"] = frame.loc[[1, 0], "price"].to_numpy()
    found.add(identify(read_logs(swapped, SPENDS)).digest)
    assert len(found) == 7


def test_an_empty_window_is_refused():
    logs = read_logs(make_frame(), SPENDS)
    with pytest.raises(StoreError, match="Expected a window with rows"):
        identify(logs.take(np.zeros(len(logs), dtype=bool)))


def test_the_next_window_may_come_with_weekends_and_other_units_on_the_same_days():
    known = (window("2025-01-06", "2025-01-12"),)
    for new in (
        window("2025-01-13", "2025-01-19"),
        window("2025-01-06", "2025-01-12"),
        window("2025-01-10", "2025-01-15"),
    ):
        check_order(new, known, NOON, False, False)
    check_order(
        window("2025-01-15", "2025-01-19"),
        (replace(known[0], gap_seconds=3 * DAY),),
        NOON,
        False,
        False,
    )
    check_order(
        window("2025-02-15", "2025-02-15", 0),
        (window("2025-01-06", "2025-01-06", 0),),
        NOON,
        False,
        False,
    )


def test_a_window_from_before_is_refused_unless_allowed():
    known = (window("2025-01-06", "2025-01-12"), window("2025-01-13", "2025-01-19"))
    early = window("2025-01-06", "2025-01-12")
    with pytest.raises(
        StoreError, match=r"in the order of time, got 2025-01-06 to .* `--allow-overlap`"
    ):
        check_order(early, known, NOON, False, False)
    check_order(early, known, NOON, False, True)


def test_a_hole_is_refused_unless_allowed():
    known = (window("2025-01-06", "2025-01-12"),)
    late = window("2025-01-20", "2025-01-26")
    with pytest.raises(
        StoreError,
        match=r"the gap of 8 days is longer than any inside a window so far \(1\)",
    ):
        check_order(late, known, NOON, False, False)
    check_order(late, known, NOON, True, False)


def test_a_window_from_the_future_is_refused_also_after_the_clock_went_back():
    check_order(
        window("2025-02-25", "2025-03-02"), (), NOON, False, False
    )  # tomorrow: another zone may be there already
    with pytest.raises(
        StoreError,
        match=r"ends by tomorrow, got one until 2025-03-03 while the clock says 2025-03-01",
    ):
        check_order(window("2025-02-25", "2025-03-03"), (), NOON, True, True)
    with pytest.raises(StoreError, match="the clock of this machine"):
        check_order(
            window("2025-02-25", "2025-03-02"),
            (),
            datetime(2024, 3, 1, tzinfo=UTC),
            True,
            True,
        )


def test_repeated_rows_are_counted_by_unit_and_time():
    logs = read_logs(make_frame(), SPENDS)
    units = np.array(["i000", "i001", "i001", "nobody", "i002"])
    times = np.array(
        ["2025-01-06", "2025-01-13", "2025-01-14", "2025-01-06", "2024-01-01"],
        dtype="datetime64[us]",
    )
    assert count_repeats(logs, units, times) == 2
    assert count_repeats(logs, units[:0], times[:0]) == 0
