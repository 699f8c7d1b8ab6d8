"""The memory: bounded, balanced by window, a uniform sample of each, and what left is gone."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from realloc.learn.memory.buffer import may_stay, remember, share_capacity
from tests.learn.memory.labelled import make_labels


def sizes(replay):
    windows, counts = np.unique(replay.window, return_counts=True)
    return dict(zip(windows.tolist(), counts.tolist(), strict=True))


def rows_of(replay):
    return set(
        zip(replay.window.tolist(), replay.x[:, 0].astype(int).tolist(), strict=True)
    )


def follow(counts, capacity):
    """The memory after every window."""
    replay = None
    for window, n in enumerate(counts):
        replay = remember(replay, make_labels(n, window, members=1, places=1), capacity)
        yield replay


@settings(max_examples=25)
@given(st.lists(st.integers(1, 60), min_size=40, max_size=40), st.integers(100, 400))
def test_over_forty_windows_it_is_never_above_capacity_and_balanced(counts, capacity):
    for seen, replay in enumerate(follow(counts, capacity), start=1):
        assert len(replay) == min(sum(counts[:seen]), capacity)
        kept = sizes(replay)
        short = [w for w in range(seen) if kept[w] < counts[w]]
        level = max(kept.values())
        assert all(
            kept[w] >= level - 1 for w in short
        )  # who had to give up rows has as many as anybody, but one


@settings(max_examples=25)
@given(st.lists(st.integers(1, 60), min_size=12, max_size=12), st.integers(100, 200))
def test_rows_that_left_never_come_back(counts, capacity):
    former = set()
    for window, replay in enumerate(follow(counts, capacity)):
        now = rows_of(replay)
        assert len(now) == len(replay)
        assert now <= former | {(window, i) for i in range(counts[window])}
        former = now


@settings(max_examples=25)
@given(st.lists(st.integers(1, 60), min_size=12, max_size=12), st.integers(100, 200))
def test_a_window_keeps_its_rows_of_lowest_rank(counts, capacity):
    for seen, replay in enumerate(follow(counts, capacity), start=1):
        for window in range(seen):
            kept = np.sort(replay.rank[replay.window == window])
            everything = np.sort(
                make_labels(counts[window], window, members=1, places=1).rank
            )
            assert np.array_equal(kept, everything[: len(kept)])


@settings(max_examples=50)
@given(st.lists(st.integers(1, 200), min_size=12, max_size=12), st.integers(100, 400))
def test_rows_that_may_not_stay_are_not_missed(counts, capacity):
    replay = None
    for window, n in enumerate(counts):
        fresh = make_labels(n, window, members=1, places=1)
        rows = may_stay(replay, capacity, fresh.rank)
        few, replay = (
            remember(replay, fresh.take(rows), capacity),
            remember(replay, fresh, capacity),
        )
        assert np.array_equal(few.rank, replay.rank)
        assert np.array_equal(few.pair, replay.pair)


def test_a_late_window_is_hardly_labelled():
    *_, replay = follow([500] * 9, 500)
    assert (
        len(may_stay(replay, 500, make_labels(500).rank)) == 56
    )  # ninths stay; a tenth is needed
    assert len(may_stay(None, 500, make_labels(300).rank)) == 300


def test_every_row_of_a_window_has_the_same_chance():
    """Rows 0..19 of the first of three windows, over 400 seeds: chi-square against uniform."""
    stayed = np.zeros(20)
    for seed in range(400):
        replay = None
        for window in range(3):
            replay = remember(
                replay, make_labels(20, window, seed, members=1, places=1), 15
            )
        stayed[[row for window, row in rows_of(replay) if window == 0]] += 1
    assert stayed.sum() == 400 * 5
    assert stats.chisquare(stayed).pvalue > 0.001
    worst = np.repeat(
        [200.0, 0.0], 10
    )  # the first rows always: what a memory without ranks would keep
    assert stats.chisquare(worst).pvalue < 0.001


def test_a_small_window_leaves_its_room_to_the_others():
    *_, replay = follow([500, 10, 500], 210)
    assert sizes(replay) == {0: 100, 1: 10, 2: 100}


def test_rows_keep_what_belongs_to_them():
    fresh = [make_labels(80, window) for window in range(2)]
    replay = remember(remember(None, fresh[0], 100), fresh[1], 100)
    for i in range(len(replay)):
        origin, row = fresh[replay.window[i]], int(replay.x[i, 0])
        for name in ("x", "shares", "source", "target", "step", "window", "rank"):
            assert np.array_equal(getattr(replay, name)[i], getattr(origin, name)[row]), (
                name
            )
        assert np.array_equal(replay.pair[:, i], origin.pair[:, row])
        assert np.array_equal(replay.field[:, i], origin.field[:, row])


def test_below_capacity_everything_stays_in_order():
    fresh = make_labels(30)
    replay = remember(None, fresh, 100)
    assert np.array_equal(replay.x, fresh.x)
    assert np.array_equal(replay.pair, fresh.pair)


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=40), st.integers(1, 5000))
def test_shares_of_the_capacity_use_it_up_and_are_even(counts, capacity):
    counts = np.array(counts)
    quota = share_capacity(counts, capacity)
    assert quota.sum() == min(counts.sum(), capacity)
    assert (quota <= counts).all()
    assert (quota >= 0).all()
    short = quota < counts
    assert not short.any() or (quota[short] >= quota.max() - 1).all()


@given(st.integers(1, 40), st.integers(1, 500))
def test_what_does_not_divide_goes_to_the_newest_of_equal_windows(windows, capacity):
    quota = share_capacity(np.full(windows, 1000), capacity)
    assert (np.diff(quota) >= 0).all()
