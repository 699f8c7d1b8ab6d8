"""Numbers as features."""

import numpy as np

from realloc.learn.features import number


def test_a_constant_with_rounding_errors_is_a_constant():
    """Shares that add up to one up to the last bit must not become a feature of rounding errors."""
    random = np.random.default_rng(0)
    shares = random.dirichlet(np.ones(5), 200)
    budget = (shares / shares.sum(axis=1, keepdims=True)).sum(axis=1)
    assert len(np.unique(budget)) > 1
    for values in (number.log(budget), budget, 1e6 * budget):
        scale = number.fit(values)
        assert scale.spread == 1.0
        assert np.abs(number.encode(values, scale, 5.0).values).max() < 1e-6


def test_small_numbers_that_vary_are_scaled():
    values = 1e-9 * np.random.default_rng(0).normal(size=500)
    assert 0.8e-9 < number.fit(values).spread < 1.2e-9
