"""Carry-over is found in worlds that have it, and in no other; longer periods help."""

from datetime import date

import numpy as np
import pandas as pd
import pytest

from realloc import Logs, Schema, World, read_logs
from realloc.logs.checks.carry_over import MOST_TERMS, mix_terms, strength
from realloc.world.zoo.zoo import ZooWorld


def warned(logs: Logs) -> bool:
    return "carry_over" in [finding.code for finding in logs.check().findings]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_weeks_with_carry_over_get_a_warning(seed):
    logs = ZooWorld(
        "region_weeks", seed=seed
    ).sample()  # 30 % of the mix works a week later
    assert warned(logs)
    finding = next(note for note in logs.check().warnings if note.code == "carry_over")
    assert "still works in this one" in finding.what
    assert "gains come out too small" in finding.meaning


@pytest.mark.parametrize(
    "name", ["nine_channels", "seasons_alone", "unseen_demand", "sticky_mixes"]
)
def test_worlds_without_it_are_quiet(name):
    # seasons_alone and unseen_demand: a state that lasts drives mixes and outcomes.
    logs = ZooWorld(name, seed=2).sample(units=400, seed=5)
    assert not warned(logs)


def test_the_control_is_what_keeps_a_lasting_state_quiet():
    logs = ZooWorld("seasons_alone", seed=2).sample(seed=1)
    alone, beyond_next = strength(logs)
    assert alone > 3  # without next period's mix there would be a false alarm
    assert beyond_next < 2


def test_single_rows_and_short_logs_say_nothing():
    logs = World(regime="medium", seed=1).sample(units=300, periods=2)
    assert strength(logs) is None


def test_shuffled_weeks_are_quiet():
    logs = ZooWorld("region_weeks", seed=1).sample()
    frame = logs.to_pandas()
    order = np.random.default_rng(0).permuted(np.arange(len(frame)).reshape(40, -1), axis=1)
    frame["date"] = frame["date"].to_numpy()[order.ravel()]
    assert not warned(read_logs(frame, logs.schema, today=date.max))


def test_adding_up_periods_as_advised_brings_the_effect_into_its_row():
    world = ZooWorld("region_weeks", seed=1)
    weekly = world.draw(units=400, seed=3)
    truth = slope_of_truth(weekly)
    assert slope(weekly.logs) / truth < 0.8
    assert slope(added_up(weekly.logs, 4)) / truth > 0.85
    assert not warned(added_up(world.sample(), 4))


def slope_of_truth(sample):
    """What keeping the first channel's share a little higher for ever brings, per share."""
    shares = np.array(sample.logs.shares)
    more = shares.copy()
    more[:, 0] += 0.01
    more[:, -1] -= 0.01
    carry = 1 - 0.3  # the surface holds last week's mix fixed, so it shows this part alone
    return float(
        (sample.surface.value(more) - sample.surface.value(shares)).mean() / 0.01 / carry
    )


def slope(logs):
    """Least squares of the outcome on shares within units and periods."""
    frame = logs.to_pandas().assign(**dict(zip("abcde", logs.shares.T, strict=True)))
    columns = frame[["sales", *"abcd"]]
    for key in (logs.schema.unit, logs.schema.time) * 2:
        columns = columns - columns.groupby(frame[key]).transform("mean")
    matrix = columns[[*"abcd"]].to_numpy()
    return float(np.linalg.lstsq(matrix, columns["sales"].to_numpy(), rcond=None)[0][0])


def added_up(logs, periods):
    """Averages of so many periods: shares and outcome keep their size."""
    frame = logs.to_pandas()
    days = np.sort(frame["date"].unique())
    block = pd.Series(np.arange(len(days)) // periods * periods, index=days)
    frame["date"] = days[block[frame["date"]].to_numpy()]
    wide = frame.groupby(["unit", "date"], observed=True, as_index=False).mean()
    schema = Schema(
        unit="unit",
        time="date",
        outcome="sales",
        channels=logs.schema.channels,
        budget="budget",
        features=logs.features,
    )
    return read_logs(wide, schema, today=date.max)


def test_many_channels_and_features_stay_small():
    random = np.random.default_rng(0)
    shares = random.dirichlet(np.ones(60), 500)
    assert mix_terms(shares, random.normal(size=(500, 300))).shape[1] <= 60 * 2 + MOST_TERMS
