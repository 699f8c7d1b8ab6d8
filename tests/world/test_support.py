import numpy as np
import pytest
from scipy.stats import chi2

from realloc.world import Regime, World
from realloc.world.support import open_region
from tests.world.drawn import ALL_REGIMES, draw


@pytest.mark.parametrize("regime", ALL_REGIMES)
@pytest.mark.parametrize("channels", [2, 3, 5])
def test_logged_actions_are_inside_at_the_nominal_rate(regime, channels):
    world = World(regime, 1, channels)
    logs, state, shares = draw(world, units=2500, periods=4)
    level = world.parameters.support_level
    rate = world.region(state).inside(shares).mean()
    assert abs(rate - level) < 4 * np.sqrt(level * (1 - level) / len(logs))


def test_the_region_is_a_level_set_of_the_density():
    world = World("hard", 1)
    _, state, _ = draw(world, units=1, periods=1)
    region = world.region(state)
    many = np.random.default_rng(0).dirichlet(np.ones(3) * 3, 4000)[None]
    inside, density = region.inside(many)[0], region.law.log_density(many)[0]
    assert inside.any()
    assert density[inside].min() >= density[~inside].max()


def test_without_exploration_the_radius_is_a_chi_square_quantile():
    world = World(
        Regime(name="narrow", confounding=0.5, overlap=0.2, boundary=0.0, exploration=0.0),
        1,
    )
    _, state, _ = draw(world)
    region = open_region(world.policy.law(state), 0.9)
    assert np.isclose(region.radius_squared, chi2.ppf(0.9, 2))


def test_a_path_needs_both_ends_and_the_middle():
    world = World("hard", 1)
    _, state, _ = draw(world)
    q = world.policy.mean(state)
    outside = np.tile([0.98, 0.01, 0.01], (len(q), 1))
    assert world.supported(state, q, q).all()
    assert not world.supported(state, q, outside).any()
    assert not world.supported(state, outside, q).any()


def test_a_path_that_leaves_the_region_is_refused():
    """A wide region near a vertex is not convex in the shares: supported ends may have an
    unsupported way between.
    """
    wide = Regime(name="wide", confounding=1.0, overlap=1.5, boundary=20.0, exploration=0.0)
    world = World(wide, 1)
    _, state, _ = draw(world, units=200, periods=2)
    law, region = world.policy.law(state), world.region(state)
    rng = np.random.default_rng(0)
    sides = rng.standard_normal(
        (2, 2, len(state))
    )  # two ends per context, just inside the border
    sides *= (
        0.999
        * np.sqrt(region.radius_squared)
        / np.linalg.norm(sides, axis=1, keepdims=True)
    )
    start, end = (law.sample(side, np.ones(len(state))) for side in sides)
    whole = world.supported(state, start, end)
    s = np.linspace(0, 1, 401)[:, None, None]
    finest = np.all([region.inside(point) for point in (1 - s) * start + s * end], axis=0)
    assert region.inside(start).all()
    assert region.inside(end).all()
    assert np.all(whole[finest])
    assert 0.05 < (~whole).mean() < 0.5


@pytest.mark.parametrize("regime", ALL_REGIMES)
def test_path_support_is_robust_to_finer_grids(regime):
    world = World(regime, 2)
    _, state, shares = draw(world, units=1000, periods=2)
    region = world.region(state)
    end = np.roll(shares, 1, axis=1) * 0.5 + shares * 0.5
    coarse = region.path_inside(shares, end[:, None], 10)
    for finer in (20, 40, 160):
        assert (coarse != region.path_inside(shares, end[:, None], finer)).mean() < 0.005


def test_nonconformity_is_the_worst_point_of_the_way():
    world = World("hard", 1)
    _, state, shares = draw(world)
    q = world.policy.mean(state)
    region = world.region(state)
    assert np.allclose(
        region.nonconformity(shares, shares), -world.log_density(state, shares)
    )
    assert np.allclose(region.nonconformity(q, shares), -world.log_density(state, shares))
