import numpy as np
import pytest

from realloc.base.simplex import softmax
from realloc.world import World
from realloc.world.rotation import logit_tilt, window_bias
from tests.world.drawn import draw


@pytest.mark.parametrize("channels", [2, 3, 5])
def test_the_bias_is_a_cycle(channels):
    bias = np.array([window_bias(w, channels, 6) for w in range(7)])
    assert np.allclose(bias[0], bias[6])
    assert np.allclose(bias[:6].sum(axis=0), 0)
    assert (
        np.abs(np.diff(bias, axis=0)).max() <= 2 * np.sin(np.pi / 6) + 1e-12
    )  # smooth: no jump between windows


def test_every_channel_has_its_turn():
    assert {int(window_bias(w, 3, 6).argmax()) for w in range(6)} == {0, 1, 2}


def test_a_window_moves_the_logging_mean_as_written():
    world = World("hard", 1)
    _, state, _ = draw(world)
    logs = world.sample(units=60, periods=3, seed=5, window=2)
    rotated = world.state(logs, window=2)
    expected = softmax(
        np.log(world.policy.mean(state)) + logit_tilt(2, 3, world.parameters)
    )
    assert np.allclose(world.policy.mean(rotated), expected)
    assert not np.allclose(
        np.array(logs.shares).mean(axis=0), world.policy.mean(state).mean(axis=0), atol=0.05
    )


def test_a_window_leaves_state_and_response_alone():
    world = World("hard", 1)
    _, state, shares = draw(world)
    rotated = world.state(world.sample(units=60, periods=3, seed=5, window=2), window=2)
    assert np.array_equal(rotated.C, state.C)
    assert np.array_equal(rotated.B, state.B)
    assert np.array_equal(world.response(rotated, shares), world.response(state, shares))


def test_logged_actions_of_a_window_are_inside_its_own_region():
    world = World("hard", 1)
    logs = world.sample(units=1000, periods=4, seed=5, window=1)
    shares = np.array(logs.shares)
    level, n = world.parameters.support_level, len(logs)
    own = world.region(world.state(logs, window=1)).inside(shares).mean()
    other = world.region(world.state(logs)).inside(shares).mean()
    assert abs(own - level) < 4 * np.sqrt(level * (1 - level) / n)
    assert other < 0.8
