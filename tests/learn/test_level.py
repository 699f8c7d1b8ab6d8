"""The level of the outcome: found where units differ in size, absent where they do not."""

import numpy as np
import pytest

from realloc.learn.level import fit_level
from realloc.learn.window import Window

ROWS = 3000
PERIODS = 5


def window(outcome, x):
    """Rows of units with five periods each, in five folds of units."""
    units = np.arange(ROWS) // PERIODS
    return Window(
        x=x.astype(np.float32),
        shares=np.tile([0.4, 0.6], (ROWS, 1)),
        outcome=outcome,
        folds=units % 5,
        units=units,
        weights=np.ones(ROWS),
        periods=np.arange(ROWS) % PERIODS,
    )


@pytest.fixture(scope="module")
def random():
    return np.random.default_rng(5)


@pytest.fixture(scope="module")
def x(random):
    """Two features of units; the first is the logarithm of their size."""
    return np.repeat(random.normal(size=(ROWS // PERIODS, 2)), PERIODS, axis=0)


def spread(level, x):
    """Slope and correlation of the logarithm of the level on the logarithm of the size."""
    found = np.log(level(x.astype(np.float32)))
    slope = float(np.polyfit(x[:, 0], found, 1)[0])
    return slope, float(np.corrcoef(x[:, 0], found)[0, 1])


def test_noise_that_grows_with_size_gives_a_level_of_the_same_size(random, x):
    outcome = 50 * np.exp(x[:, 0]) * (1 + 0.2 * random.normal(size=ROWS))
    slope, correlation = spread(fit_level(window(outcome, x), 0), x)
    assert slope == pytest.approx(1.0, abs=0.1)
    assert correlation > 0.98


def test_counts_have_a_level(random, x):
    outcome = random.poisson(20 * np.exp(x[:, 0])).astype(float)
    slope, correlation = spread(fit_level(window(outcome, x), 0), x)
    assert 0.4 < slope < 1.1
    assert correlation > 0.98


def test_rows_that_are_comparable_have_no_level(random, x):
    assert fit_level(window(100 + x[:, 0] + random.normal(size=ROWS), x), 0) is None


def test_outcomes_below_zero_have_no_level(random, x):
    assert fit_level(window(np.exp(x[:, 0]) * random.normal(size=ROWS), x), 0) is None


def test_the_unit_of_the_outcome_does_not_matter(random, x):
    outcome = np.exp(x[:, 0]) * random.gamma(20.0, size=ROWS)
    once = fit_level(window(outcome, x), 0)
    million = fit_level(window(1e6 * outcome, x), 0)
    asked = x[:50].astype(np.float32)
    assert million(asked) == pytest.approx(once(asked), rel=1e-6)


def test_states_beyond_all_rows_get_the_largest_level_of_the_log(random, x):
    outcome = np.exp(x[:, 0]) * random.gamma(20.0, size=ROWS)
    level = fit_level(window(outcome, x), 0)
    far = np.array([[30.0, 0.0], [-30.0, 0.0]], np.float32)
    assert np.log(level(far)) == pytest.approx([level.high, level.low])


def test_the_mean_of_the_logarithm_is_nothing(random, x):
    """So that a relative outcome is about as large as the outcome."""
    outcome = 1e4 * np.exp(x[:, 0]) * random.gamma(20.0, size=ROWS)
    level = fit_level(window(outcome, x), 0)
    assert np.log(level(x.astype(np.float32))).mean() == pytest.approx(0, abs=0.05)
