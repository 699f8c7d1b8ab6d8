"""Neighbours' mixes are found where they work, and nowhere else."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from realloc import Logs, Schema, read_logs
from realloc.logs.checks.interference import groups_to_try, neighbour_strength
from realloc.logs.checks.limits import CheckConfig
from realloc.world.zoo import ZooWorld

UNITS_EACH = 8


def grouped(name: str, spill: float, seed: int = 1, units: int = 320) -> Logs:
    """A log whose units belong to groups, and lose what a part of their neighbours' mix gains."""
    drawn = ZooWorld(name, seed=seed).draw(units, 8, seed=3)
    logs = drawn.logs
    group = np.random.default_rng(seed).permutation(units)[logs.unit_codes] // UNITS_EACH
    usual = np.tile(logs.shares.mean(axis=0), (len(logs), 1))
    works = drawn.surface.value(logs.shares) - drawn.surface.value(usual)
    key = group * 1000 + np.unique(logs.times, return_inverse=True)[1]
    total = np.bincount(key, weights=works)[key] - works
    outcome = logs.outcome - spill * total / (UNITS_EACH - 1)
    return with_category(replaced(logs, logs.schema.outcome, outcome), group)


def replaced(logs: Logs, column: str, values) -> Logs:
    place = logs.table.schema.get_field_index(column)
    return replace(logs, table=logs.table.set_column(place, column, pa.array(values)))


def with_category(logs: Logs, group) -> Logs:
    names = pa.array([f"g{code}" for code in group]).dictionary_encode()
    features = (*logs.features, "category")
    return replace(
        logs,
        table=logs.table.append_column("category", names),
        features=features,
        schema=replace(logs.schema, features=features),
    )


def warned(logs: Logs) -> bool:
    return "interference" in [finding.code for finding in logs.check().findings]


@pytest.mark.parametrize("name", ["nine_channels", "rare_exploration"])
def test_units_that_compete_get_a_warning(name):
    logs = grouped(name, spill=2.0, units=640)
    assert warned(logs)
    finding = next(one for one in logs.check().warnings if one.code == "interference")
    assert finding.column == "category"
    assert "cluster = 'category'" in finding.advice


def test_groups_that_became_units_are_quiet():
    logs = grouped("rare_exploration", spill=2.0, units=640)
    channels = list(logs.schema.channels)
    frame = pd.DataFrame(logs.shares * logs.budget[:, None], columns=channels)
    frame["sales"] = logs.outcome
    group = logs.table["category"].to_pandas().astype(str).to_numpy()
    days = pd.to_datetime(logs.times).strftime("%Y-%m-%d").to_numpy()
    merged = frame.groupby([pd.Series(group, name="group"), pd.Series(days, name="day")])
    rows = merged.sum().reset_index()
    rows["category"] = rows["group"]
    schema = Schema(
        unit="group", time="day", channels=channels, outcome="sales", features=["category"]
    )
    assert warned(logs)
    assert not warned(read_logs(rows, schema))


@pytest.mark.parametrize("name", ["nine_channels", "seasons_alone", "unseen_demand"])
def test_units_on_their_own_are_quiet(name):
    assert not warned(grouped(name, spill=0.0, seed=2))


def test_only_categories_that_last_are_looked_at_unless_one_is_named():
    logs = grouped("nine_channels", spill=0.0, units=40)
    plain = ZooWorld("nine_channels", seed=1).sample(40, 8, seed=3)
    day = with_category(plain, np.arange(len(plain)) % 3)  # changes within units
    assert groups_to_try(logs, CheckConfig()) == ["category"]
    assert groups_to_try(day, CheckConfig()) == []
    assert groups_to_try(logs, CheckConfig(cluster="category")) == ["category"]
    assert groups_to_try(logs, CheckConfig(cluster="shop")) == []


def test_few_groups_and_single_rows_say_nothing():
    logs = grouped("nine_channels", spill=0.0, units=40)  # five groups
    assert neighbour_strength(logs, "category") is None
    single = ZooWorld("one_day_each", seed=1).sample(units=300, seed=1)
    alone = with_category(single, np.arange(300) // UNITS_EACH)
    assert neighbour_strength(alone, "category") is None
