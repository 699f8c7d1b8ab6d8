"""The simple policy finds a constant field where there is one, in spite of confounding, and
abstains where there is none.
"""

import numpy as np
import pandas as pd
import pytest

from realloc import Schema, read_logs
from realloc.baselines import ConstantField

TWO = Schema(
    unit="u", time="d", outcome="y", channels=["a", "b"], budget="B", features=["x"]
)


def confounded(effect, seed=0, units=200, days=10):
    """Outcome = 3x + effect·share of b + noise, and the old policy gives b more budget where x is
    high.
    """
    rng = np.random.default_rng(seed)
    n = units * days
    x = rng.normal(size=n)
    b = 1 / (1 + np.exp(-(x + rng.normal(0, 0.5, n))))
    return pd.DataFrame(
        {
            "u": np.repeat([f"u{i}" for i in range(units)], days),
            "d": np.tile(pd.date_range("2025-01-01", periods=days).date, units),
            "a": 1 - b,
            "b": b,
            "B": 100.0,
            "y": 3 * x + effect * b + rng.normal(0, 1.0, n),
            "x": x,
        }
    )


@pytest.mark.parametrize("effect", [-2.0, 2.0])
def test_the_direction_is_found_in_spite_of_confounding(effect):
    frame = confounded(effect)
    naive = np.polyfit(frame["b"], frame["y"], 1)[0]
    assert (
        naive > 5
    )  # the control: what ignoring the state would believe, whatever the effect
    policy = ConstantField().fit(read_logs(frame, TWO))
    slope = policy.field[1] - policy.field[0]
    error = np.sqrt(np.array([-1, 1]) @ policy.covariance @ np.array([-1, 1]))
    assert (
        abs(slope - effect) < 4 * error + 0.3
    )  # four standard errors, and the linear nuisance's own bias
    answer = policy.recommend(frame.head(50))
    moved = answer[answer["moved"]]
    assert len(moved)
    start = frame.head(50)["b"].to_numpy()[answer["moved"]]
    assert np.all(np.sign(moved["share_b"] - start) == np.sign(effect))
    assert np.allclose(moved["moved_share"], 0.05)


def test_without_an_effect_most_logs_lead_to_no_move():
    kept = 0
    for seed in range(20):
        policy = ConstantField().fit(read_logs(confounded(0.0, seed), TWO))
        answer = policy.recommend(confounded(0.0, seed).head(20))
        kept += not answer["moved"].any()
    assert (
        kept >= 14
    )  # one-sided 5 % on the better of two directions, twenty logs: P(< 14) is below 1 in 1,000


def test_a_channel_that_is_closed_is_not_opened():
    frame = confounded(2.0)
    policy = ConstantField().fit(read_logs(frame, TWO))
    closed = frame.head(20).assign(a=1.0, b=0.0)
    assert (policy.recommend(closed)["reason"] == "constrained").all()
