import numpy as np
import pytest

from realloc.base.errors import LogError
from realloc.world import World, WorldParameters
from realloc.world.state import draw_shocks, read_state
from tests.world.drawn import draw


def test_blocks_have_the_papers_moments():
    world = World("hard", 3)
    logs, state, _ = draw(world, units=4000, periods=1)
    for block in (state.C, state.E, state.S):
        # Items are N(0, 1); one day adds one constant shock.
        assert np.abs(block.std(axis=0) - 1).max() < 5 / np.sqrt(2 * len(logs))


def test_shocks_have_the_papers_scale_and_belong_to_the_day():
    days = np.arange(20_000, 20_400)
    shocks = draw_shocks(1, days, WorldParameters())
    assert abs(shocks.std() - 0.35) < 5 * 0.35 / np.sqrt(2 * shocks.size)
    assert np.array_equal(draw_shocks(1, days[100:], WorldParameters()), shocks[:, 100:])


def test_items_of_one_day_share_its_shock():
    world = World("hard", 1)
    early = world.sample(units=50, periods=1, seed=0, first_day="2025-01-01")
    late = world.sample(units=50, periods=1, seed=0, first_day="2025-01-02")
    shift = late.feature("c1").to_numpy() - early.feature("c1").to_numpy()
    assert np.allclose(shift, shift[0], atol=1e-6)
    assert shift[0] != 0


def test_the_budget_follows_its_equation():
    world = World("benign", 2)
    _, state, _ = draw(world, units=5000, periods=1)
    inside = (state.B > 0.2) & (state.B < 5)
    residual = np.log(state.B[inside]) - state.C[inside] @ world.policy.weights.a_B
    assert state.B.min() >= 0.2
    assert state.B.max() <= 5
    assert inside.mean() > 0.98
    assert abs(residual.std() - 0.2) < 0.01


def test_state_of_logs_is_the_state_the_world_computed_with():
    world = World("hard", 1)
    logs, state, shares = draw(world)
    noise_free = world.response(state, shares)
    reread = read_state(logs, world.parameters)
    assert np.array_equal(world.response(reread, shares), noise_free)
    assert np.array_equal(reread.C.astype(np.float32), reread.C)


def test_take_keeps_rows_together():
    _, state, _ = draw(World("hard", 1))
    part = state.take(np.array([4, 2]))
    assert np.array_equal(part.C, state.C[[4, 2]])
    assert np.array_equal(part.B, state.B[[4, 2]])


def test_logs_of_another_world_are_refused():
    logs, _, _ = draw(World("hard", 1))
    with pytest.raises(
        LogError,
        match="Expected logs of this world with the features c1 … s7 and the budget, got none 'c7'",
    ):
        read_state(logs, WorldParameters(block_size=7))
