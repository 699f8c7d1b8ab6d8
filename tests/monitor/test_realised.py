# ruff: noqa: F811
"""Realised against predicted gains, with and without a random hold-out."""

import numpy as np
import pandas as pd
import pytest

from realloc.monitor.watch import watch
from tests.batch.conftest import NOW, _made, place, recommend  # noqa: F401  fixtures
from tests.monitor.test_watch import store_of, write
from tests.small import window


def outcomes_of(place, effect):
    """The decided rows with an outcome: half of the units treated, which gain `effect` times
    what was promised.
    """
    logs = window(97, units=40).to_pandas().head(150)
    found = pd.read_parquet(place / "recs.parquet")
    treated = logs.item_id.map(
        {u: n % 2 == 0 for n, u in enumerate(sorted(set(logs.item_id)))}
    )
    noise = np.random.default_rng(0).normal(scale=0.02, size=len(logs))
    logs["orders"] = 10 + noise + np.where(treated, effect * found.gain.to_numpy(), 0.0)
    return logs.assign(arm=np.where(treated, "treatment", "control"))


@pytest.mark.parametrize(("effect", "change"), [(1.0, "none"), (-1.0, "stop")])
def test_a_random_hold_out_says_whether_gains_are_real(place, effect, change):
    recommend(place)
    told = watch(store_of(place), write(place, outcomes_of(place, effect)), arm="arm")
    found = told["realised"]
    assert found["joined"] == 150
    assert found["calibration"]["fit"]["share"]["value"] == pytest.approx(effect, abs=0.2)
    assert found["calibration"]["change"] == change
    assert bool(told["alarms"]) == (change == "stop")


def test_without_a_hold_out_nothing_is_claimed(place):
    recommend(place)
    found = watch(store_of(place), write(place, outcomes_of(place, 1.0)))["realised"]
    assert found["calibration"] is None
    assert "cannot be told apart from chance" in found["why_not"]
