"""What rows of a period share is found where there is something, and is nothing elsewhere."""

import numpy as np

from realloc.learn.periods import period_effects

UNITS = 200
PERIODS = 12
N = UNITS * PERIODS
CODES = np.tile(np.arange(PERIODS), UNITS)


def draw(seed=0):
    random = np.random.default_rng(seed)
    x = random.normal(size=(N, 3)).astype(np.float32)
    values = (2 * x[:, :1] + np.square(x[:, 1:2])).astype(np.float64)
    return x, values + random.normal(size=(N, 1))


def test_a_shared_shock_is_found_up_to_the_error_of_a_mean():
    x, values = draw()
    shock = np.random.default_rng(1).normal(size=PERIODS)
    found = period_effects(x, values + shock[CODES, None], CODES, np.ones(N))[:, 0]
    off = found - (shock - shock.mean())[CODES]
    assert np.sqrt(np.square(off).mean()) < 4 / np.sqrt(UNITS)


def test_without_a_shock_there_is_next_to_none():
    x, values = draw()
    found = period_effects(x, values, CODES, np.ones(N))
    assert np.abs(found).max() < 2 / np.sqrt(UNITS)


def test_rows_with_a_time_of_their_own_share_nothing():
    x, values = draw()
    found = period_effects(x, values, np.arange(N), np.ones(N))
    assert np.sqrt(np.square(found).mean()) < 0.1


def test_one_period_has_no_effect():
    x, values = draw()
    found = period_effects(x, values + 5, np.zeros(N, int), np.ones(N))
    assert np.abs(found).max() < 1e-6


def test_weights_count():
    x, values = draw()
    shock = np.random.default_rng(1).normal(size=PERIODS)[CODES, None]
    weights = np.ones(N)
    weights[: N // 2] = 0.0
    values[: N // 2] += 100.0
    found = period_effects(x, values + shock, CODES, weights)
    half = period_effects(
        x[N // 2 :], (values + shock)[N // 2 :], CODES[N // 2 :], np.ones(N // 2)
    )
    assert np.allclose(found[N // 2 :], half, atol=0.02)
