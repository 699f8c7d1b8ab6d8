from math import comb

import numpy as np
import pytest

from grid_oracle import search_global, simplex_grid
from realloc.base.errors import ConfigError
from realloc.decide.search.greedy import SearchConfig
from realloc.world import World
from realloc.world.oracle import search_config, search_local
from tests.geometry import path_length
from tests.world.drawn import ALL_REGIMES, draw


@pytest.mark.parametrize("regime", ALL_REGIMES)
def test_local_oracle_never_loses_and_keeps_its_limits(regime):
    world = World(regime, 1)
    _, state, start = draw(world, units=100, periods=2)
    trace = search_local(world, state, start)
    gain = world.response(state, trace.shares) - world.response(state, start)
    moved = trace.steps > 0
    assert np.all(gain[moved] > 0)
    assert np.all(gain[~moved] == 0)
    assert np.allclose(trace.gain, gain)
    assert np.all(world.supported(state, start, trace.shares)[moved])
    assert np.all(path_length(trace.points) <= world.parameters.max_length + 1e-9)
    assert np.all(trace.steps <= world.parameters.max_steps)
    assert np.allclose(trace.shares.sum(axis=1), 1)
    assert trace.shares.min() >= 0


def test_unsupported_starts_stay():
    world = World("hard", 1)
    _, state, start = draw(world, units=400, periods=2)
    outside = ~world.region(state).inside(start)
    assert outside.any()
    assert np.all(search_local(world, state, start).steps[outside] == 0)


def test_at_the_end_no_allowed_step_gains():
    world = World("hard", 1)
    _, state, start = draw(world, units=50, periods=1)
    free = SearchConfig(steps=world.parameters.steps, max_steps=60, max_length=9.0)
    end = search_local(world, state, start, free).shares
    for move in (
        np.vstack([np.eye(3)[[1, 2, 0]] - np.eye(3), np.eye(3)[[2, 0, 1]] - np.eye(3)])
        * 0.01
    ):
        further = end + move
        possible = (further.min(axis=1) >= 0) & world.supported(
            state, start, np.maximum(further, 0)
        )
        assert np.all(
            world.response(state, further)[possible] <= world.response(state, end)[possible]
        )


@pytest.mark.parametrize("regime", ["benign", "extreme"])
def test_global_oracle_is_an_upper_bound_of_the_local_one(regime):
    world = World(regime, 1)
    _, state, start = draw(world, units=60, periods=1)
    best, local = (
        search_global(world, state, start),
        search_local(world, state, start).shares,
    )
    assert np.all(world.response(state, best) >= world.response(state, local))
    assert world.response(state, best).mean() > world.response(state, local).mean()
    moved = np.any(best != start, axis=1)
    assert np.all(world.supported(state, start, best)[moved])


def test_global_oracle_does_not_change_its_input():
    world = World("hard", 1)
    _, state, start = draw(world, units=5, periods=1)
    before = start.copy()
    search_global(world, state, start)
    assert np.array_equal(start, before)


def test_more_movement_never_hurts_the_average():
    world = World("benign", 1)
    _, state, start = draw(world, units=100, periods=1)
    usual = search_config(world.parameters)
    half = SearchConfig(
        steps=usual.steps, max_steps=usual.max_steps, max_length=usual.max_length / 2
    )
    value = [
        world.response(state, search_local(world, state, start, c).shares).mean()
        for c in (half, usual)
    ]
    assert value[0] < value[1]


@pytest.mark.parametrize(("channels", "parts"), [(2, 7), (3, 10), (4, 6)])
def test_the_grid_holds_every_point_once(channels, parts):
    grid = simplex_grid(channels, parts)
    assert (
        len(np.unique(grid, axis=0))
        == len(grid)
        == comb(parts + channels - 1, channels - 1)
    )
    assert np.allclose(grid.sum(axis=1), 1)
    assert grid.min() == 0


def test_a_grid_too_fine_is_refused():
    with pytest.raises(
        ConfigError, match="Expected at most 200,000 grid points, got .* Use a coarser grid"
    ):
        simplex_grid(9, 40)
