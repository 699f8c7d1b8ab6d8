"""Ridge with interactions: a quadratic is found again, λ is chosen by units, columns are exact."""

import time

import numpy as np
import pytest

from realloc import ConfigError, World
from realloc.baselines import RidgeInteractions
from realloc.baselines.ridge_interactions import RidgeConfig, expand, solve, to_response
from tests.baselines.peers import PLACES, confounded
from tests.small import CONFIG


def test_the_response_is_the_sum_of_its_columns():
    random = np.random.default_rng(0)
    x = random.normal(size=(5, 2)).astype(np.float32)
    p = random.dirichlet(np.ones(3), 5)
    slopes = random.normal(size=expand(x, p).shape[1])
    response = to_response(1.5, slopes, 3, 0.1)
    found = response.values(x, p[:, None])[:, 0]
    assert np.allclose(found, 1.5 + expand(x, p) @ slopes)


def test_every_penalty_solves_its_normal_equations():
    random = np.random.default_rng(1)
    columns = random.normal(2.0, 3.0, (200, 4))
    columns[:, 3] = 7.0  # never varies
    outcome = columns[:, 0] - columns[:, 1] + random.normal(size=200)
    levels, slopes = solve(columns, outcome, (1e-8, 0.5))
    assert np.allclose(slopes[3], 0)
    free = np.column_stack([np.ones(200), columns[:, :3]])
    least_squares = np.linalg.lstsq(free, outcome)[0]
    assert np.allclose([levels[0], *slopes[:3, 0]], least_squares, atol=1e-6)
    scale = columns[:, :3].std(axis=0)
    rest = outcome - levels[1] - columns @ slopes[:, 1]
    gradient = rest @ (columns[:, :3] - columns[:, :3].mean(axis=0)) / scale / 200
    assert np.allclose(gradient, 0.5 * slopes[:3, 1] * scale)


def test_it_recovers_a_quadratic_effect_where_the_state_acts_linearly():
    task, p = confounded()
    task.window.outcome[:] -= task.window.x[:, 1] ** 2
    response = RidgeInteractions(config=CONFIG).fit_response(task)
    ends = np.stack([p, np.tile(PLACES[0], (len(p), 1))], axis=1)
    found = np.diff(response.values(task.window.x, ends), axis=1)[:, 0]
    truth = 8 * np.square(p - PLACES[0]).sum(axis=1)
    assert np.corrcoef(found, truth)[0, 1] > 0.97


def test_where_outcomes_are_noise_the_largest_penalty_is_chosen():
    task, p = confounded(300)
    task.window.outcome[:] = np.random.default_rng(0).normal(size=len(p))
    assert RidgeInteractions(config=CONFIG).fit_response(task).penalty == 1.0


def test_bad_penalties_are_refused():
    with pytest.raises(ConfigError, match="one or more `penalties` above 0, got"):
        RidgeConfig(penalties=(0.1, 0.0))
    with pytest.raises(ConfigError, match="one or more `penalties` above 0, got"):
        RidgeConfig(penalties=())


def test_the_response_to_twenty_thousand_rows_takes_seconds():
    random = np.random.default_rng(0)
    x = random.normal(size=(20_000, 18)).astype(np.float32)
    columns = expand(x, random.dirichlet(np.ones(3), 20_000))
    began = time.process_time()
    for _ in range(5):  # folds
        solve(columns, random.normal(size=20_000), RidgeConfig().penalties)
    assert time.process_time() - began < 10


def test_it_moves_to_better_shares_than_logged():
    world = World("medium", seed=5)
    policy = RidgeInteractions(config=CONFIG).fit(
        world.sample(units=200, periods=6, seed=0)
    )
    logs = world.sample(units=60, periods=2, seed=1)
    surface = world.surface(world.state(logs))
    decision = policy.decide(logs)
    gain = surface.value(decision.shares) - surface.value(np.array(logs.shares))
    assert gain.mean() > 0.1
