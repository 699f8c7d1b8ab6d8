import numpy as np
import pandas as pd
import pytest

from realloc import LogError
from realloc.evaluate.demand import fit_demand, known_before, predict_demand
from realloc.evaluate.events import find_events
from tests.evaluate.moved import START, moved_frame, read

FRAME = moved_frame(units=60, days=16)


def learned(frame):
    """m_eval, and what is known of every row."""
    logs = read(frame)
    events = find_events(logs)
    known = known_before(logs, events)
    before = (logs.times < np.datetime64(START)) & events.is_control
    return fit_demand(known, logs.outcome, logs.unit_codes, before), known, logs


def in_window(frame):
    return (frame["date"] >= START).to_numpy()


def test_the_recent_level_is_the_mean_of_earlier_outcomes_only():
    logs = read(FRAME)
    known, table = known_before(logs, find_events(logs), recent=3), logs.to_pandas()
    level = known.values[:, known.names.index("recent level")]
    for i in range(0, len(table), 7):
        before = table[
            (table["item"] == table["item"][i]) & (table["date"] < table["date"][i])
        ]
        expected = before.sort_values("date")["orders"].tail(3).mean()
        assert np.isclose(level[i], expected, rtol=1e-5, equal_nan=True)


def test_what_is_known_holds_neither_outcomes_nor_realised_shares():
    logs = read(FRAME)
    known = known_before(logs, find_events(logs))
    assert known.names == (
        *(f"previous share of {name}" for name in logs.schema.channels),
        "log budget",
        "recent level",
        "traffic",
        "size",
        "category",
    )
    late = in_window(FRAME)
    changed = FRAME.assign(orders=np.where(late, 77.0, FRAME["orders"]), gmv=99.0)
    same_day = read(changed).times == np.datetime64(START)
    other = known_before(read(changed), find_events(read(changed)))
    assert np.array_equal(known.values[same_day], other.values[same_day])
    later = read(changed).times > np.datetime64(START)
    assert not np.array_equal(
        known.values[later], other.values[later]
    )  # the control: tomorrow may know today


@pytest.mark.parametrize("column", ["orders", "traffic", "size", "budget"])
def test_nothing_from_the_window_reaches_the_evaluation_model(column):
    model = learned(FRAME)[0].model_to_string()
    late = in_window(FRAME)
    planted = FRAME.assign(
        **{column: np.where(late, FRAME["orders"] * 3 + 1, FRAME[column])}
    )
    assert learned(planted)[0].model_to_string() == model
    early = FRAME.assign(**{column: np.where(late, FRAME[column], FRAME["orders"] * 3 + 1)})
    assert learned(early)[0].model_to_string() != model  # the control: earlier dates do


def test_shares_of_the_window_do_not_reach_it_either():
    late, model = in_window(FRAME), learned(FRAME)[0].model_to_string()
    swapped = FRAME.assign(ads=FRAME["coupon"], coupon=FRAME["ads"])
    assert learned(pd.concat([FRAME[~late], swapped[late]]))[0].model_to_string() == model
    assert learned(pd.concat([swapped[~late], FRAME[late]]))[0].model_to_string() != model


def test_a_feature_that_turns_into_the_outcome_in_the_window_foretells_nothing():
    """The control: the same feature, if it had told the outcome before,
    would leave next to nothing.
    """
    rng, late = np.random.default_rng(0), in_window(FRAME)
    noise = rng.permutation(FRAME["orders"].to_numpy())
    left = {}
    for name, leaks in (("window only", late), ("always", np.ones(len(FRAME), dtype=bool))):
        frame = FRAME.assign(traffic=np.where(leaks, FRAME["orders"], noise))
        booster, known, logs = learned(frame)
        rows = np.flatnonzero(logs.times >= np.datetime64(START))
        left[name] = (logs.outcome[rows] - predict_demand(booster, known, rows)).std()
    assert left["window only"] > 2.5 * left["always"]


def test_rows_that_moved_teach_it_nothing():
    late, model = in_window(FRAME), learned(FRAME)[0].model_to_string()
    lost = (FRAME["effect"] != 0).to_numpy() & (
        FRAME["date"] == FRAME["date"][~late].max()
    ).to_numpy()
    assert lost.sum() > 5
    assert (
        learned(FRAME.assign(orders=FRAME["orders"] + 50 * lost))[0].model_to_string()
        == model
    )


def test_demand_is_foretold_from_what_is_known():
    booster, known, logs = learned(moved_frame(units=200, days=16))
    rows = np.flatnonzero(logs.times >= np.datetime64(START))
    y = logs.outcome[rows]
    assert (
        y - predict_demand(booster, known, rows)
    ).var() < 0.75 * y.var()  # shocks of a day cannot be foretold


def test_missing_values_and_one_unit_are_fine():
    frame = FRAME.assign(
        traffic=np.where(np.arange(len(FRAME)) % 3 == 0, np.nan, FRAME["traffic"])
    )
    booster, known, _ = learned(frame)
    assert np.isfinite(predict_demand(booster, known, np.arange(50))).all()
    lone = moved_frame(units=1, days=200)
    logs = read(lone)
    events = find_events(logs)
    found = fit_demand(
        known_before(logs, events), logs.outcome, logs.unit_codes, events.is_control
    )
    assert found.num_trees() >= 1


def test_too_few_earlier_rows_are_refused():
    logs = read(FRAME)
    events = find_events(logs)
    with pytest.raises(
        LogError,
        match="Expected at least 50 no-move rows on dates before the replay window .* got 0",
    ):
        fit_demand(
            known_before(logs, events),
            logs.outcome,
            logs.unit_codes,
            np.zeros(len(logs), dtype=bool),
        )
