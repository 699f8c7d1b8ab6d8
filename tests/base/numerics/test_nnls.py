"""Weights of at least zero, equal to scipy's."""

import numpy as np
import pytest
from scipy import optimize

from realloc.base.numerics.nnls import nnls


@pytest.mark.parametrize("shape", [(50, 1), (200, 8), (60, 60), (40, 120)])
@pytest.mark.parametrize("seed", range(5))
def test_the_residual_is_that_of_scipy(shape, seed):
    rng = np.random.default_rng(seed)
    design = rng.random(shape)
    target = design @ np.maximum(rng.normal(size=shape[1]), 0) + rng.normal(size=shape[0])
    weights = nnls(design, target)
    known, residual = optimize.nnls(design, target)
    assert weights.min() >= 0
    assert np.linalg.norm(design @ weights - target) == pytest.approx(residual, rel=1e-8)
    if shape[0] > shape[1]:
        np.testing.assert_allclose(weights, known, atol=1e-8)


def test_nothing_fits_an_outcome_that_points_away():
    assert nnls(np.ones((5, 2)), -np.ones(5)).tolist() == [0, 0]
    assert nnls(np.zeros((5, 2)), np.ones(5)).tolist() == [0, 0]
    assert nnls(np.ones((5, 2)), np.ones(5)).sum() == pytest.approx(1)
