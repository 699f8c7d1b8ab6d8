import numpy as np
import pytest

from platform_figures import Panel
from realloc.base.errors import LogError
from realloc.world.platform import Marketplace
from realloc.world.platform.response import OUTCOMES, effect_scale


@pytest.fixture(params=["two", "three"])
def world(request: pytest.FixtureRequest) -> Panel:
    return request.getfixturevalue(request.param)


def some_rows(world: Panel, count: int = 400) -> np.ndarray:
    return np.random.default_rng(0).choice(len(world.logs), count, replace=False)


def random_shares(world: Panel, count: int, seed: int) -> np.ndarray:
    shares = np.random.default_rng(seed).dirichlet(np.ones(world.after.shape[1]), count)
    shares[::5, 0] = 0  # the border belongs to the simplex
    return shares / shares.sum(axis=1, keepdims=True)


def test_gradient_agrees_with_finite_differences(world: Panel) -> None:
    rows = some_rows(world)
    state, p, h = world.state.take(rows), random_shares(world, len(rows), 1), 1e-5
    gradient = world.market.gradient(state, p)
    for k in range(p.shape[1]):
        step = h * np.eye(p.shape[1])[k]
        up, down = (
            world.market.response(state, p + step),
            world.market.response(state, p - step),
        )
        for name in OUTCOMES:
            assert np.allclose(
                gradient[name][:, k],
                (up[name] - down[name]) / (2 * h),
                rtol=1e-6,
                atol=1e-8,
            ), name


def test_every_outcome_is_concave_on_the_closed_simplex(world: Panel) -> None:
    rows = some_rows(world)
    state, p, q = (
        world.state.take(rows),
        random_shares(world, len(rows), 1),
        random_shares(world, len(rows), 2)[::-1],
    )
    ends, middle = (
        [world.market.response(state, s) for s in (p, q)],
        world.market.response(state, (p + q) / 2),
    )
    for name in OUTCOMES:
        assert (middle[name] > (ends[0][name] + ends[1][name]) / 2).all()


def test_channels_interact(world: Panel) -> None:
    rows, h = some_rows(world), 1e-4
    state, p = world.state.take(rows), random_shares(world, len(rows), 1)
    a, b = h * np.eye(p.shape[1])[:2]
    f = {
        s: world.market.response(state, p + s[0] * a + s[1] * b)["orders"]
        for s in ((0, 0), (0, 1), (1, 0), (1, 1))
    }
    mixed = (f[1, 1] - f[1, 0] - f[0, 1] + f[0, 0]) / h**2
    expected = effect_scale(world.market.parameters.response, p.shape[1]) * state.synergy
    assert np.allclose(mixed, expected, rtol=1e-2, atol=1e-5)
    assert (expected > 0).all()


def test_the_effect_depends_on_item_budget_and_weekday(two: Panel) -> None:
    slope = two.market.gradient(two.state, np.full_like(two.after, 0.5))["orders"]
    slope = (slope[:, 1] - slope[:, 0]).reshape(60, -1)
    assert slope.mean(axis=0).std() > 0.05  # between items
    within = slope - slope.mean(axis=0)
    assert within.std() > 0.01  # between an item's days
    by_weekday = np.array(
        [within[day::7].mean() for day in range(7)]
    )  # the first day is a Monday
    assert by_weekday[5:].min() > by_weekday[:5].max() + 5 * np.ptp(by_weekday[:5])


def test_wrong_shapes_are_refused(two: Panel) -> None:
    with pytest.raises(
        LogError,
        match=r"Expected shares of shape \(3, 2\), one row per row of the state, got \(2, 2\)",
    ):
        two.market.response(two.state.take(np.arange(3)), two.after[:2])


@pytest.mark.parametrize("channels", [2, 3, 4, 6])
def test_the_truth_is_finite_at_every_corner(channels: int) -> None:
    market = Marketplace(channels=channels)
    logs = market.sample(items=20, days=2)
    for corner in np.eye(channels):
        p = np.tile(corner, (len(logs), 1))
        for value in (
            *market.response(market.state(logs), p).values(),
            *market.gradient(market.state(logs), p).values(),
        ):
            assert np.isfinite(value).all()
