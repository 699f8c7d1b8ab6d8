"""The checks of decisions can fail: each one does once its guard is off."""

from dataclasses import replace

import numpy as np
import pytest

from realloc.base import simplex
from realloc.decide.constraints.constraints import Constraints
from realloc.decide.constraints.limits import Limits, compile_limits
from realloc.model import recommend as recommendation
from realloc.model.state import RoundState
from tests.controls import Control, try_control
from tests.small import CHANNELS, CONFIG, fitted, today


def advice(constraints=None, **decision):
    model = fitted()
    model.config = replace(CONFIG, decision=replace(CONFIG.decision, **decision))
    frame = today()
    shares = frame[CHANNELS].to_numpy()
    start = shares / shares.sum(axis=1, keepdims=True)
    return start, model.recommend(frame, constraints=constraints)


def share(answer) -> np.ndarray:
    return answer[[f"share_{name}" for name in CHANNELS]].to_numpy()


def money_sums_to_the_budget(_):
    budget = today()["budget"].round(2)
    _, answer = advice()
    total = answer[[f"spend_{name}" for name in CHANNELS]].sum(axis=1)
    assert answer["moved"].any()
    assert np.abs(total - budget).max() < 1e-6


def frozen_channels_stay(_):
    start, answer = advice(Constraints(frozen=("ads",)))
    assert np.abs(share(answer)[:, 0] - start[:, 0]).max() < 1e-9


def caps_hold(_):
    _, answer = advice(Constraints(caps={"ads": 0.3}))
    assert share(answer)[:, 0].max() <= 0.3 + 1e-9


def moves_are_short(_):
    start, answer = advice(Constraints(largest_move=0.02))
    assert np.abs(share(answer) - start).sum(axis=1).max() / 2 <= 0.02 + 1e-9


def weak_evidence_moves_nothing(_):
    _, answer = advice(min_significance=1e6)
    assert not answer["moved"].any()


def shares_stay_on_the_simplex(_):
    points = np.random.default_rng(0).normal(size=(50, 3))
    closest = simplex.project(points)
    assert (closest >= 0).all()
    assert np.abs(closest.sum(axis=1) - 1).max() < 1e-12


def without_constraints(_, *arguments, **named):
    return compile_limits(Constraints(), *arguments, **named)


def rounded_one_by_one(limits, shares):
    return np.rint(shares * limits.bounds.budget[:, None] * 100).astype(np.int64)


CONTROLS = {
    "money": Control(money_sums_to_the_budget, Limits, "round_money", rounded_one_by_one),
    "frozen channels": Control(
        frozen_channels_stay, recommendation, "compile_limits", without_constraints
    ),
    "caps": Control(caps_hold, recommendation, "compile_limits", without_constraints),
    "largest move": Control(
        moves_are_short, recommendation, "compile_limits", without_constraints
    ),
    "held-out significance": Control(
        weak_evidence_moves_nothing, RoundState, "is_significant", lambda *_: True
    ),
    "simplex": Control(
        shares_stay_on_the_simplex, simplex, "project", lambda points: points
    ),
}


@pytest.mark.parametrize("name", CONTROLS)
def test_a_check_fails_once_its_guard_is_off(tmp_path, name):
    try_control(CONTROLS[name], tmp_path)
