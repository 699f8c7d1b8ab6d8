"""Splits that cannot leak, as properties."""

from datetime import date

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from realloc import (
    ConfigError,
    LogError,
    read_logs,
    split_by_time,
    split_by_unit,
)
from realloc.logs import unit_folds
from tests.conftest import SPENDS, make_frame

LOGS = read_logs(make_frame(units=23, days=5), SPENDS)


def units_of(logs):
    return set(logs.to_arrow()["item"].to_pylist())


@given(st.lists(st.floats(0.05, 1), min_size=2, max_size=5), st.integers(0, 1000))
def test_parts_share_no_unit_and_lose_no_row(weights, seed):
    parts = [w / sum(weights) for w in weights]
    parts[-1] = 1 - sum(parts[:-1])
    pieces = split_by_unit(LOGS, parts, seed)
    assert sum(map(len, pieces)) == len(LOGS)
    assert all(len(piece) for piece in pieces)
    for i, one in enumerate(pieces):
        for other in pieces[i + 1 :]:
            assert not units_of(one) & units_of(other)


def test_part_sizes_are_as_asked():
    train, test = split_by_unit(LOGS, (0.8, 0.2), seed=1)
    assert (train.unit_count, test.unit_count) == (18, 5)


def test_a_split_depends_on_ids_and_seed_only():
    shuffled = read_logs(
        make_frame(units=23, days=5).sample(frac=1, random_state=2), SPENDS
    )
    assert units_of(split_by_unit(LOGS, (0.5, 0.5), 4)[0]) == units_of(
        split_by_unit(shuffled, (0.5, 0.5), 4)[0]
    )
    assert units_of(split_by_unit(LOGS, (0.5, 0.5), 4)[0]) != units_of(
        split_by_unit(LOGS, (0.5, 0.5), 5)[0]
    )


def test_grouped_units_stay_together():
    frame = make_frame(units=24, days=5)
    frame["brand"] = "b" + (frame["item"].str[1:].astype(int) // 3).astype(str)
    logs = read_logs(frame, SPENDS)
    one, other = split_by_unit(logs, (0.5, 0.5), seed=0, groups="brand")
    assert not set(one.to_pandas()["brand"]) & set(other.to_pandas()["brand"])
    assert len(one) + len(other) == len(logs)


def test_a_group_that_splits_a_unit_is_refused():
    with pytest.raises(LogError, match="one is in several"):
        split_by_unit(LOGS, (0.5, 0.5), groups="category")
    with pytest.raises(LogError, match="categorical feature"):
        split_by_unit(LOGS, (0.5, 0.5), groups="price")


def test_folds_keep_units_whole_and_even():
    folds = unit_folds(LOGS, 5, seed=3)
    table = pd.DataFrame({"unit": LOGS.unit_codes, "fold": folds})
    assert table.groupby("unit")["fold"].nunique().max() == 1
    sizes = table.drop_duplicates().groupby("fold").size()
    assert sizes.max() - sizes.min() <= 1
    with pytest.raises(LogError, match="2 to 23 folds"):
        unit_folds(LOGS, 24)


@given(st.integers(1, 4), st.integers(0, 2))
def test_time_splits_put_no_future_in_the_past(day, gap):
    cut = date(2025, 1, 6 + day)
    if day + gap > 4:
        with pytest.raises(LogError, match="both sides"):
            split_by_time(LOGS, cut, gap)
        return
    past, future = split_by_time(LOGS, cut, gap)
    assert past.times.max() < np.datetime64(cut)
    assert future.times.min() >= np.datetime64(cut) + gap
    assert len(past) + len(future) == len(LOGS) - gap * 23


def test_bad_splits_are_refused():
    for parts in [(1.0,), (0.5, 0.6), (1.5, -0.5)]:
        with pytest.raises(ConfigError, match="sum to 1"):
            split_by_unit(LOGS, parts)
    with pytest.raises(LogError, match="at least 3 units"):
        split_by_unit(LOGS.take(LOGS.unit_codes < 2), (0.4, 0.3, 0.3))
    with pytest.raises(LogError, match="both sides of 1999-01-01"):
        split_by_time(LOGS, "1999-01-01")
    with pytest.raises(ConfigError, match="a date such as"):
        split_by_time(LOGS, "next week")
    with pytest.raises(ConfigError, match="at least 0 days"):
        split_by_time(LOGS, "2025-01-08", gap_days=-1)
