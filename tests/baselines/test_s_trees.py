"""Trees: they learn a step, the local search moves along it, and units held out stop them."""

import numpy as np

from realloc.baselines import STrees
from realloc.baselines.s_trees import TreeConfig
from tests.baselines.test_response import fitted
from tests.small import CONFIG, window


def test_the_local_search_moves_within_the_movement_budget():
    decision = fitted("s_trees").decide(window(1))
    moved = decision.reason == "moved"
    assert moved.mean() > 0.05
    assert np.all(decision.gain[moved] > 0)
    length = np.linalg.norm(decision.shares - window(1).shares, axis=1)
    assert length.max() <= CONFIG.decision.max_length + 1e-9


def test_the_global_search_promises_at_least_as_much_as_the_local_one():
    policy = STrees("global", CONFIG, TreeConfig(trees=40, leaves=8))
    local = fitted("s_trees")
    policy.encoder, policy.response, policy.support = (
        local.encoder,
        local.response,
        local.support,
    )
    everywhere = policy.decide(window(1))
    assert everywhere.gain.mean() > local.decide(window(1)).gain.mean()
    assert (
        np.linalg.norm(everywhere.shares - window(1).shares, axis=1).max()
        > CONFIG.decision.max_length
    )
