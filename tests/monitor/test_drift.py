"""Drift: chance is not called drift, and what has moved is."""

import numpy as np
import pandas as pd
import pytest

from realloc.logs import Schema, read_logs
from realloc.logs.summary import summary
from realloc.monitor import count_columns, measure
from realloc.monitor.drift import add_counts

SCHEMA = Schema(
    unit="item",
    time="day",
    outcome="orders",
    channels=["ads", "coupon"],
    features=["price", "kind"],
    categorical=["kind"],
)


def drawn(
    seed: int, units: int = 400, days: int = 5, shift: float = 0.0, kinds=("a", "b", "c")
):
    random = np.random.default_rng(seed)
    n = units * days
    ads = random.uniform(0.2, 0.8, n)
    frame = pd.DataFrame(
        {
            "item": np.repeat([f"{seed}-{u}" for u in range(units)], days),
            "day": np.tile(pd.date_range("2026-01-01", periods=days), units),
            "orders": random.poisson(5, n).astype(float),
            "ads": 10 * ads,
            "coupon": 10 * (1 - ads),
            "price": np.repeat(random.normal(size=units), days)
            + 0.3 * random.normal(size=n)
            + shift,
            "kind": np.repeat(random.choice(kinds, units), days),
        }
    )
    return read_logs(frame, SCHEMA)


def summarised(logs):
    """As a version's record keeps it."""
    return summary(logs).to_json()


def drifts(told, logs):
    found = measure(told, count_columns(told, logs), len(logs) / logs.unit_count)
    return {one.name: one for one in found}


def test_without_drift_nothing_is_called_drift():
    told = summarised(drawn(0))
    wrong = sum(
        one.drifted for seed in range(1, 41) for one in drifts(told, drawn(seed)).values()
    )
    assert wrong == 0


def test_control_without_the_null_distribution_chance_would_be_called_drift():
    """PSI alone: fifty rows of the same population lie far beyond the 0.1 of the rule of thumb."""
    told = summarised(drawn(0))
    few = [
        drifts(told, drawn(seed, units=10, days=5))["feature price"]
        for seed in range(1, 11)
    ]
    assert np.mean([one.psi > 0.1 for one in few]) > 0.8
    assert not any(one.drifted for one in few)


@pytest.mark.parametrize(
    ("change", "name"),
    [({"shift": 1.0}, "feature price"), ({"kinds": ("a", "b", "new")}, "feature kind")],
)
def test_what_has_moved_is_found_and_named(change, name):
    found = drifts(summarised(drawn(0)), drawn(1, **change))
    assert found[name].drifted
    assert [one for one in found if found[one].drifted] == [name]


def test_missing_values_where_there_were_none_are_drift():
    logs = drawn(1)
    frame = logs.to_pandas()
    frame.loc[::3, "price"] = np.nan
    assert drifts(summarised(drawn(0)), read_logs(frame, SCHEMA))["feature price"].drifted


def test_what_changes_from_day_to_day_in_training_is_usual():
    def weekly(seed):
        frame = drawn(seed, days=7).to_pandas()
        frame["price"] += 2.0 * (frame["day"].dt.day_of_week >= 5)
        return frame

    told = summarised(read_logs(weekly(0), SCHEMA))
    weekend = weekly(1)
    weekend = weekend[weekend["day"].dt.day_of_week >= 5]
    found = drifts(told, read_logs(weekend, SCHEMA))["feature price"]
    assert found.psi > 0.25  # far from the window as a whole
    assert not found.drifted  # but a weekend was as far in training


def test_counts_of_batches_add_up_to_those_of_all_rows():
    told, logs = summarised(drawn(0)), drawn(1)
    parts = [
        count_columns(told, logs.take(np.arange(first, first + 500)))
        for first in range(0, 2000, 500)
    ]
    total: dict[str, list[int]] = {}
    for part in parts:
        total = add_counts(total, part)
    assert total == count_columns(told, logs)
