import numpy as np
import pandas as pd

from realloc import Schema, read_logs
from realloc.learn.support.logged import remember_logged
from tests.small import same_bits, window


def states(logs, columns=2):
    return np.arange(len(logs) * columns, dtype=np.float32).reshape(len(logs), columns)


def test_every_row_is_remembered_with_its_own_state_unit_and_time():
    logs = window()
    found = remember_logged(None, logs, states(logs), 0, 10_000, 0)
    assert len(found) == len(logs)
    assert np.array_equal(found.x, states(logs))
    assert np.array_equal(found.shares, logs.shares)
    frame = logs.to_pandas()
    assert found.unit.tolist() == frame.item_id.tolist()
    assert found.time.astype("datetime64[D]").tolist() == frame.date.dt.date.tolist()


def test_rows_of_a_sample_still_belong_together():
    logs = window()
    whole, part = (
        remember_logged(None, logs, states(logs), 0, capacity, 3)
        for capacity in (10_000, 60)
    )
    assert len(part) == 60
    rows = (part.x[:, 0] / 2).astype(int)
    for name in ("shares", "unit", "time"):
        assert np.array_equal(getattr(part, name), getattr(whole, name)[rows])
    assert len(np.unique(rows)) == 60


def test_the_memory_is_bounded_and_balanced_by_window():
    found = None
    for number in range(4):
        logs = window(number)
        found = remember_logged(found, logs, states(logs), number, 200, number)
        assert len(found) <= 200
    assert np.bincount(found.window).tolist() == [50, 50, 50, 50]


def test_a_small_window_leaves_its_room_to_others():
    small = window().take(np.arange(10))
    found = remember_logged(None, small, states(small), 0, 100, 0)
    found = remember_logged(found, window(1), states(window(1)), 1, 100, 1)
    assert np.bincount(found.window).tolist() == [10, 90]


def test_the_same_seed_remembers_the_same_rows_and_another_one_others():
    logs = window()
    one, same, other = (
        remember_logged(None, logs, states(logs), 0, 50, seed) for seed in (0, 0, 1)
    )
    assert same_bits(one.x, same.x)
    assert not np.array_equal(one.x, other.x)


def test_what_was_remembered_is_not_changed_by_the_next_window():
    first = remember_logged(None, window(), states(window()), 0, 100, 0)
    before = first.shares.copy()
    remember_logged(first, window(1), states(window(1)), 1, 100, 1)
    assert np.array_equal(first.shares, before)


def days(shares, start="2025-01-01", units=300):
    """The same shares of the first channel, day by day, for all units."""
    names, times = (
        np.repeat([f"u{i}" for i in range(units)], len(shares)),
        np.tile(np.arange(len(shares)), units),
    )
    first = np.tile(shares, units)
    frame = pd.DataFrame(
        {"unit": names, "day": np.datetime64(start) + times.astype("timedelta64[D]")}
    )
    frame = frame.assign(a=first, b=1 - first, money=100.0, y=1.0)
    schema = Schema(
        unit="unit", time="day", outcome="y", channels=["a", "b"], budget="money"
    )
    return read_logs(frame.sample(frac=1, random_state=0), schema)


def test_rows_that_repeat_their_units_last_shares_are_no_actions():
    logs = days([0.5, 0.5, 0.5, 0.625, 0.5])
    found = remember_logged(None, logs, states(logs), 0, 10_000, 0)
    assert np.unique(found.time.astype("datetime64[D]").astype(str), return_counts=True)[
        1
    ].tolist() == [300, 300, 300]
    assert sorted(set(found.time.astype("datetime64[D]").astype(str))) == [
        "2025-01-01",
        "2025-01-04",
        "2025-01-05",
    ]
    rows = (found.x[:, 0] / 2).astype(int)
    assert np.array_equal(found.shares, logs.shares[rows])


def test_the_last_shares_are_known_from_window_to_window():
    first = days([0.5, 0.625])
    memory = remember_logged(None, first, states(first), 0, 10_000, 0)
    held, moved = days([0.625], "2025-01-03"), days([0.5], "2025-01-03")
    assert len(remember_logged(memory, held, states(held), 1, 10_000, 1)) == 600
    assert len(remember_logged(memory, moved, states(moved), 1, 10_000, 1)) == 900
    strangers = days([0.625], "2025-01-03", units=301)
    assert len(remember_logged(memory, strangers, states(strangers), 1, 10_000, 1)) == 601


def test_a_first_window_with_hardly_a_move_is_remembered_whole():
    logs = days([0.5, 0.5, 0.5], units=199)
    assert len(remember_logged(None, logs, states(logs), 0, 10_000, 0)) == 3 * 199
    assert (
        len(
            remember_logged(
                None,
                days([0.5, 0.5, 0.5], units=200),
                states(days([0.5] * 3)),
                0,
                10_000,
                0,
            )
        )
        == 200
    )
