import numpy as np
import pytest

from realloc.base.simplex import softmax, tangent_basis
from realloc.world import REGIMES, Regime, World
from tests.geometry import from_log_ratio
from tests.world.drawn import ALL_REGIMES, draw


def test_the_mean_is_the_papers_equation():
    world = World("extreme", 4)
    _, state, _ = draw(world)
    w, r = world.policy.weights, REGIMES["extreme"]
    drive = (
        state.S @ w.W_S.T
        + r.confounding * state.C @ w.W_C.T
        + np.log1p(state.B)[:, None] * w.w_B
    )
    assert np.allclose(world.policy.mean(state), softmax(1.5 * 0.45 * drive))


@pytest.mark.parametrize("regime", ALL_REGIMES)
def test_logged_actions_have_the_conditional_moments(regime):
    world = World(regime, 1)
    logs, state, shares = draw(world, units=3000, periods=4)
    law, eps, c = (
        world.policy.law(state),
        world.regime.exploration,
        world.parameters.exploration_scale,
    )
    standard = ((np.log(shares) @ tangent_basis(3)).T - law.centre) / law.spread
    variance = (1 - eps) + eps * c**2
    fourth = 3 * ((1 - eps) + eps * c**4)
    assert np.abs(standard.mean(axis=1)).max() < 5 * np.sqrt(variance / len(logs))
    assert np.abs(standard.var(axis=1) - variance).max() < 5 * np.sqrt(
        (fourth - variance**2) / len(logs)
    )


def test_spread_follows_the_effect_coordinate():
    world = World("hard", 1)
    _, state, _ = draw(world)
    expected = 0.15 * np.sqrt(world.parameters.spread) * (1 + 0.2 * np.tanh(state.E[:, 0]))
    assert np.allclose(world.policy.law(state).spread, expected)


@pytest.mark.parametrize("channels", [2, 3])
def test_the_density_integrates_to_one(channels):
    world = World("benign", 1, channels)
    _, state, _ = draw(world, units=2, periods=1)
    law = world.policy.law(state)
    reach = 8 * world.parameters.exploration_scale * law.spread.max()
    axis = np.linspace(-reach, reach, 801)
    offsets = np.stack(
        np.meshgrid(*[axis] * (channels - 1), indexing="ij"), axis=-1
    ).reshape(-1, channels - 1)
    shares = from_log_ratio(law.centre.T[:, None, :] + offsets)
    mass = np.exp(law.log_density(shares)).sum(axis=1) * (axis[1] - axis[0]) ** (
        channels - 1
    )
    assert np.allclose(mass, 1, atol=1e-6)


def test_a_zero_share_has_no_density():
    world = World("hard", 1)
    _, state, shares = draw(world)
    shares[:, 0] = 0
    assert np.all(world.log_density(state, shares) == -np.inf)


def test_without_exploration_the_density_is_one_normal():
    regime = Regime(
        name="narrow", confounding=0.5, overlap=0.2, boundary=0.0, exploration=0.0
    )
    world = World(regime, 1)
    _, state, shares = draw(world)
    law = world.policy.law(state)
    expected = -0.5 * law.distance(shares) - np.log(2 * np.pi * law.spread**2)
    assert np.allclose(world.log_density(state, shares), expected)


def test_many_allocations_per_context_equal_one_by_one():
    world = World("hard", 1)
    _, state, shares = draw(world)
    stack = np.stack([shares, shares[:, ::-1]], axis=1)
    together = world.log_density(state, stack)
    assert np.allclose(together[:, 0], world.log_density(state, shares))
    assert np.allclose(together[:, 1], world.log_density(state, shares[:, ::-1]))
