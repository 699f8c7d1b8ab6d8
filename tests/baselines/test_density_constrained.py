"""Ends have enough density, and stay within the movement budget where there is one."""

from dataclasses import replace
from typing import Any

import numpy as np
import torch

from realloc.baselines import DensityConstrained
from realloc.baselines.density_constrained import DensityConfig, radius
from tests.baselines.test_response import SMALL, fitted
from tests.small import CONFIG, window

TODAY = window(1)


def look(policy, shares):
    border = policy.support.density.at(policy.encoder.encode(TODAY).values)
    return border.radius(np.arange(len(TODAY)), shares[:, None])[
        :, 0
    ], policy.support.ranks.at(0.95)


def test_ends_have_the_density_of_all_but_the_rarest_logged_actions():
    policy = fitted("density")
    decision = policy.decide(TODAY)
    moved = decision.reason == "moved"
    found, limit = look(policy, decision.shares)
    assert moved.mean() > 0.5
    assert np.all(found[moved] <= limit * (1 + 1e-9))


def test_without_the_density_the_same_response_leads_out_of_the_region():
    policy = fitted("density")
    ends = policy.search_anywhere(
        policy.encoder.encode(TODAY).values, np.array(TODAY.shares)
    )
    found, limit = look(policy, ends)
    assert np.mean(found > limit) > 0.5


def test_the_movement_budget_holds_and_can_be_lifted():
    policy = fitted("density")
    gone = np.linalg.norm(policy.decide(TODAY).shares - TODAY.shares, axis=1)
    assert gone.max() <= CONFIG.decision.max_length + 1e-9
    wide = replace(CONFIG, decision=replace(CONFIG.decision, max_length=2.0))
    free: Any = DensityConstrained(wide, DensityConfig(turns=25, outcome=SMALL))
    free.encoder = policy.encoder
    free.response = policy.response
    free.support = policy.support
    decision = free.decide(TODAY)
    assert (
        np.linalg.norm(decision.shares - TODAY.shares, axis=1).max()
        > CONFIG.decision.max_length
    )
    found, limit = look(free, decision.shares)
    assert np.all(found[decision.reason == "moved"] <= limit * (1 + 1e-9))


def test_the_differentiable_radius_is_that_of_the_support():
    policy = fitted("density")
    border = policy.support.density.at(policy.encoder.encode(TODAY).values)
    shares = np.array(TODAY.shares)
    again = radius(border, torch.arange(len(TODAY)), torch.from_numpy(shares)).numpy()
    assert np.allclose(again, look(policy, shares)[0], rtol=1e-9)
