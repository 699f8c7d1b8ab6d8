"""The standard deviation of a gain, from the covariance of the field."""

import numpy as np

from realloc.decide.gain_std import gain_std


def test_deviation_is_the_quadratic_form_of_the_way():
    random = np.random.default_rng(0)
    root = random.standard_normal((4, 3, 3))
    covariance = root @ root.transpose(0, 2, 1)
    start, ends = random.dirichlet(np.ones(3), 4), random.dirichlet(np.ones(3), (4, 5))
    found = gain_std(covariance, start, ends)
    for a in range(4):
        for m in range(5):
            off = ends[a, m] - start[a]
            assert np.isclose(found[a, m], np.sqrt(off @ covariance[a] @ off))
    assert (gain_std(covariance, start, start[:, None]) == 0).all()


def test_doubt_grows_in_proportion_to_the_way():
    covariance = np.eye(3)[None] * 2
    start, end = np.array([[0.2, 0.3, 0.5]]), np.array([[0.3, 0.3, 0.4]])
    near, far = (
        gain_std(covariance, start, (start + part * (end - start))[:, None])[0, 0]
        for part in (0.5, 1.0)
    )
    assert np.isclose(far, 2 * near)
