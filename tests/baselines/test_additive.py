"""The additive response has no interaction; those of the state alone have constant slopes."""

from typing import Any

import numpy as np
import pytest

from realloc.base.simplex import Floats
from tests.baselines.test_response import fitted, states


def interaction(name: str) -> tuple[Floats, float]:
    """Mixed differences f(a+b) − f(a) − f(b) + f(0) of two channels, and the spread of f."""
    base, a, b = (
        np.array([0.3, 0.3, 0.4]),
        np.array([0.2, 0.0, 0.0]),
        np.array([0.0, 0.2, 0.0]),
    )
    x = states(name, 3)
    corners = np.broadcast_to(
        np.stack([base + a + b, base + a, base + b, base]), (len(x), 4, 3)
    )
    f = fitted(name).response.values(x, corners)
    return f @ np.array([1.0, -1.0, -1.0, 1.0]), float(np.abs(f - f[:, :1]).max())


def test_channels_of_the_additive_response_do_not_interact():
    mixed, spread = interaction("additive")
    assert np.abs(mixed).max() < 1e-12 * (1 + spread)
    joint, spread = interaction("s_network")  # the control
    assert np.abs(joint).max() > 1e-4 * spread


def test_the_additive_response_is_curved_in_its_own_channel():
    x = states("additive", 3)
    line = np.broadcast_to(
        np.array([[0.1, 0.3, 0.4], [0.3, 0.3, 0.4], [0.5, 0.3, 0.4]]), (len(x), 3, 3)
    )
    bend = fitted("additive").response.values(x, line) @ np.array([1.0, -2.0, 1.0])
    assert np.abs(bend).max() > 1e-6


@pytest.mark.parametrize("name", ["r_learner", "context_only"])
def test_slopes_of_the_state_alone_are_the_same_everywhere(name):
    x = states(name, 3)
    response: Any = fitted(name).response
    here = response.slopes(x, np.tile([0.2, 0.3, 0.5], (len(x), 1)))
    there = response.slopes(x, np.tile([0.7, 0.3, 0.0], (len(x), 1)))
    assert np.allclose(here, there, rtol=1e-10)
    assert here.std(axis=0).max() > 1e-3  # but they do depend on the state
