"""The terms of the additive model of the support."""

import numpy as np

from realloc.learn.support.basis import fit_basis
from realloc.learn.support.location import fit_location


def test_a_column_that_never_varies_changes_nothing():
    x = np.random.default_rng(0).normal(size=(500, 2)).astype(np.float32)
    still = np.concatenate([x, np.full((500, 1), 3.0, np.float32)], axis=1)
    design = fit_basis(still).design(still)
    assert np.isfinite(design).all()
    assert np.ptp(design[:, 3]) == 0
    v = 0.5 * x.astype(np.float64)
    found = fit_location(
        design, v + 0.1 * np.random.default_rng(1).standard_normal((500, 2))
    )
    assert np.isfinite(found.centre).all()


def test_flags_get_no_curves_and_numbers_do():
    random = np.random.default_rng(0)
    x = np.stack([random.normal(size=300), random.random(300) < 0.5], axis=1).astype(
        np.float32
    )
    basis = fit_basis(x)
    assert basis.continuous.tolist() == [True, False]
    assert basis.design(x).shape == (300, 1 + 2 + 2)


def test_states_far_from_training_get_finite_terms():
    x = np.random.default_rng(0).normal(size=(300, 2)).astype(np.float32)
    assert np.isfinite(fit_basis(x).design(np.array([[1e20, -1e20]], np.float32))).all()
