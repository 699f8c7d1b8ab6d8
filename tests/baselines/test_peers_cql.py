"""CQL: actions are shares, and the actor stays within limits."""

import numpy as np
import pytest
import torch

from realloc.base.simplex import tangent_basis
from realloc.baselines import CQLPolicy
from realloc.baselines.peers_cql import Box, pull_back
from realloc.baselines.response import everywhere
from tests.baselines.peers import PLACES, confounded
from tests.small import CONFIG, window


def test_actions_lead_back_to_their_shares():
    Q = tangent_basis(3)
    t = PLACES @ Q
    box = Box((t.max(axis=0) + t.min(axis=0)) / 2, np.ptp(t, axis=0) / 2)
    assert np.abs(box.actions(PLACES)).max() <= 1 + 1e-6
    assert np.abs(box.shares(box.actions(PLACES)) - PLACES).max() < 1e-6


def test_a_forbidden_action_is_pulled_back_the_straight_way():
    start, end = PLACES[:1], PLACES[1:2]
    assert pull_back(start, end, everywhere, 2.0) == pytest.approx(end)
    assert np.linalg.norm(pull_back(start, end, everywhere, 0.1) - start) == pytest.approx(
        0.1
    )
    half = pull_back(
        start, end, lambda rows, p, ends: np.abs(ends - start).max(axis=-1) <= 0.3001, 2.0
    )
    assert half == pytest.approx((start + end) / 2)
    assert np.array_equal(
        pull_back(start, end, lambda rows, p, ends: np.zeros(ends.shape[:2], bool), 2.0),
        start,
    )


def test_the_actor_stays_within_limits(d3rlpy):
    logs = window()
    policy = CQLPolicy(config=CONFIG, steps=5).fit(logs)
    decision = policy.decide(logs)
    assert (
        np.linalg.norm(decision.shares - logs.shares, axis=1).max()
        <= CONFIG.decision.max_length + 1e-9
    )
    assert np.abs(decision.shares.sum(axis=1) - 1).max() < 1e-9
    assert np.isfinite(decision.gain).all()


def test_training_repeats_and_leaves_the_global_generator_alone(d3rlpy):
    task, p = confounded(300)
    before = torch.random.get_rng_state()
    one, other = (CQLPolicy(config=CONFIG, steps=5).fit_response(task) for _ in range(2))
    assert torch.equal(before, torch.random.get_rng_state())
    assert np.array_equal(
        one.values(task.window.x, p[:, None]), other.values(task.window.x, p[:, None])
    )
