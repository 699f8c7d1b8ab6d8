import json
from dataclasses import replace

import numpy as np
import pytest

from realloc.base.errors import ConfigError, LogError
from realloc.world import Regime, World, WorldParameters
from tests.world.drawn import draw


@pytest.mark.parametrize("channels", [2, 3, 4])
def test_a_card_rebuilds_the_world_bit_for_bit(channels):
    regime = Regime(
        name="own", confounding=0.1, overlap=0.33, boundary=0.2, exploration=0.03
    )
    world = World(
        regime, 11, channels, replace(WorldParameters(), noise=0.7, steps=(0.02, 0.03))
    )
    again = World.from_card(json.loads(json.dumps(world.card())))
    logs, state, shares = draw(world)
    assert again.sample(units=60, periods=3, seed=5).table.equals(logs.table)
    assert np.array_equal(again.response(state, shares), world.response(state, shares))
    assert np.array_equal(
        again.log_density(state, shares), world.log_density(state, shares)
    )
    assert again.card() == world.card()


def test_a_changed_card_is_refused():
    card = World("hard", 1).card()
    card["parameters"]["noise"] = 0.1
    with pytest.raises(
        ConfigError, match="Expected the card's parameters to match its own hash"
    ):
        World.from_card(card)


def test_a_card_of_another_world_is_refused():
    with pytest.raises(
        ConfigError,
        match="Expected the card of a 'paper' world, format 1, got 'platform' 1",
    ):
        World.from_card({"world": "platform", "format": 1})


def test_logs_serve_where_a_state_does():
    world = World("hard", 1)
    logs, state, shares = draw(world)
    assert np.array_equal(world.response(logs, shares), world.response(state, shares))
    assert np.array_equal(world.gradient(logs, shares), world.gradient(state, shares))
    assert np.array_equal(
        world.supported(logs, shares, shares), world.supported(state, shares, shares)
    )
    assert np.array_equal(world.log_density(logs, shares), world.log_density(state, shares))


def test_one_channel_is_refused():
    with pytest.raises(
        ConfigError, match="Expected at least 2 channels to move budget between, got 1"
    ):
        World("hard", 1, channels=1)


def test_repr_says_which_world():
    assert repr(World("hard", 4, 2)) == "World(regime='hard', seed=4, channels=2)"


def test_a_frame_is_a_state_too_and_wrong_shapes_are_refused():
    world = World(regime="hard", seed=1)
    logs = world.sample(units=4, periods=2, seed=0)
    assert np.array_equal(
        world.response(logs.to_pandas(), logs.shares), world.response(logs, logs.shares)
    )
    with pytest.raises(LogError, match="got none 'budget'"):
        world.response(logs.to_pandas().drop(columns="budget"), logs.shares)
    with pytest.raises(
        LogError, match=r"shape \(8, 3\), one row per context, got \(2, 3\)"
    ):
        world.response(logs, logs.shares[:2])
    with pytest.raises(ConfigError, match="a first day such as"):
        world.sample(units=2, first_day="soon")
