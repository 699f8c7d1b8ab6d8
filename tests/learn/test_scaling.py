"""Units that models compute in: there and back."""

import numpy as np

from realloc.learn.scaling import Scaling

SCALING = Scaling(
    np.array([0.2, 0.3, 0.5], np.float32), np.array([4.0, 5.0, 0.0], np.float32), 2.0
)


def test_shares_are_centred_and_divided_by_their_spread():
    z = SCALING.shares(np.array([[0.45, 0.1, 0.45]]))
    assert z.dtype == np.float32
    assert np.allclose(z, [[1.0, -1.0, 0.0]], atol=1e-6)  # the last channel never moved


def test_a_field_is_the_slope_along_moves_in_units_of_the_outcome():
    slopes = np.array([1.0, -2.0, 7.0], np.float32)
    field = SCALING.field(slopes)
    assert field.dtype == np.float64
    assert abs(field.sum()) < 1e-6
    random = np.random.default_rng(0)
    start, end = random.dirichlet(np.ones(3), 2)
    gain = 2.0 * (SCALING.shares(end) - SCALING.shares(start)) @ slopes
    assert np.isclose((end - start) @ field, gain, rtol=1e-5)
