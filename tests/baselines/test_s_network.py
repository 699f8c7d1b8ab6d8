"""The joint S-learner by networks."""

from dataclasses import replace

from realloc import World
from realloc.baselines import (
    SNetwork,
)
from realloc.baselines.backbone import Backbone
from realloc.world.score import score_shares
from tests.small import CONFIG


def test_the_constrained_s_network_improves_the_benign_world():
    world = World("benign", 205)
    logs, today = (
        world.sample(units=300, periods=6, seed=0),
        world.sample(units=60, periods=1, seed=1),
    )
    config = replace(CONFIG, support=replace(CONFIG.support, rows=2000))
    policy = SNetwork(
        "constrained", config, Backbone(members=2, width=32, least_steps=150)
    ).fit(logs)
    assert score_shares(world, today, policy.decide(today).shares)["raw_uplift"].low > 0
