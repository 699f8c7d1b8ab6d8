from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from realloc import ConfigError, LogError, Schema
from realloc.evaluate.events import at_previous, find_events
from tests import small
from tests.evaluate.moved import moved_frame, read


@pytest.fixture(scope="module")
def logs():
    return read(moved_frame(units=20, days=6))


def test_every_row_is_compared_with_the_row_before_of_its_unit(logs):
    events, table = find_events(logs), logs.to_pandas()
    shares = logs.shares
    for i in range(len(table)):
        before = table.index[
            (table["item"] == table["item"][i]) & (table["date"] < table["date"][i])
        ]
        if len(before) == 0:
            assert events.previous[i] == -1
            assert np.isnan(events.moved_by[i])
            continue
        last = table["date"][before].idxmax()
        assert events.previous[i] == last
        assert np.isclose(events.moved_by[i], np.abs(shares[i] - shares[last]).sum())


def test_rows_moved_held_or_were_first_and_nothing_else(logs):
    events = find_events(logs)
    first = events.previous < 0
    assert np.array_equal(
        events.is_event.astype(int) + events.is_control + first, np.ones(len(logs))
    )
    assert first.sum() == 20
    assert min(events.is_event.sum(), events.is_control.sum()) > 10


def test_the_order_of_rows_does_not_matter(logs):
    order = np.random.default_rng(0).permutation(len(logs))
    moved_by = find_events(logs.take(order)).moved_by
    assert np.array_equal(moved_by, find_events(logs).moved_by[order], equal_nan=True)


def test_moves_up_to_the_tolerance_are_controls(logs):
    moved_by = find_events(logs).moved_by
    found = find_events(logs, tolerance=0.2)
    assert np.array_equal(found.is_event, moved_by > 0.2)
    assert 0 < found.is_event.sum() < find_events(logs).is_event.sum()


def test_rounding_is_no_move(logs):
    frame = moved_frame(units=20, days=6)
    frame["ads"] = frame["ads"].astype(np.float64) * (1 + 1e-9)
    assert np.array_equal(find_events(read(frame)).is_event, find_events(logs).is_event)


def test_two_rows_of_one_time_are_refused(logs):
    twice = logs.take(np.append(np.arange(len(logs)), 3))
    with pytest.raises(LogError, match="Expected one row per unit and time, got two of 'i"):
        find_events(twice)


@pytest.mark.parametrize("tolerance", [-0.1, 2.0, float("nan")])
def test_a_tolerance_outside_its_range_is_refused(logs, tolerance):
    with pytest.raises(ConfigError, match="Expected a tolerance from 0 to below 2"):
        find_events(logs, tolerance)


def test_a_frame_is_no_log():
    with pytest.raises(
        LogError, match="Expected logs \\(from `read_logs`\\), got DataFrame"
    ):
        find_events(pd.DataFrame())


def test_an_empty_log_has_no_events(logs):
    assert len(find_events(logs.take(np.zeros(len(logs), dtype=bool))).is_event) == 0


def test_before_the_decision_shares_are_those_of_the_row_before_and_the_state_is_todays(
    logs,
):
    events = find_events(logs)
    rows = np.flatnonzero(events.is_event)
    asked = at_previous(logs, events)
    assert np.allclose(asked.shares, logs.shares[events.previous[rows]], atol=1e-15)
    assert not np.allclose(asked.shares, logs.shares[rows])
    assert np.array_equal(asked.budget, logs.budget[rows])
    assert np.array_equal(
        asked.feature("traffic").to_numpy(), logs.feature("traffic").to_numpy()[rows]
    )
    assert np.array_equal(asked.times, logs.times[rows])


def test_spends_are_previous_shares_of_todays_budget(logs):
    schema: Schema = replace(logs.schema, budget=None)
    spends = replace(logs, schema=schema, table=logs.table.drop_columns(["budget"]))
    for k, name in enumerate(schema.channels):
        column = spends.table.column_names.index(name)
        spends = replace(
            spends,
            table=spends.table.set_column(
                column, name, [logs.shares[:, k] * (1 + np.arange(len(logs)))]
            ),
        )
    events = find_events(spends, tolerance=1e-9)
    rows = np.flatnonzero(events.is_event)
    asked = at_previous(spends, events)
    assert np.allclose(asked.budget, spends.budget[rows])
    assert np.allclose(asked.shares, logs.shares[events.previous[rows]])


def test_what_came_out_cannot_be_seen_before_the_decision(logs):
    asked = at_previous(logs, find_events(logs))
    assert {"orders", "gmv"} & set(asked.table.column_names) == set()
    with pytest.raises(LogError, match="this log was read without it"):
        _ = asked.outcome


def test_the_first_row_of_a_unit_has_no_before(logs):
    events = find_events(logs)
    with pytest.raises(LogError, match="got the first row of a unit"):
        at_previous(logs, events, np.flatnonzero(events.previous < 0))


def test_a_model_can_be_asked_about_events():
    logs = small.window(1)
    events = find_events(logs)
    rows = np.flatnonzero(events.is_event)
    found = small.fitted().gain(at_previous(logs, events), logs.shares[rows])
    assert found.shape == (len(rows),)
    assert np.isfinite(found).all()
    assert np.ptp(found) > 0
