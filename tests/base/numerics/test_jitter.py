"""Matrices that rounding has left short of positive definite."""

import numpy as np
import pytest
from numpy.linalg import LinAlgError

from realloc.base.numerics.jitter import JITTERS, solve, with_jitter


def test_a_sound_matrix_is_solved_as_it_is():
    root = np.random.default_rng(0).normal(size=(20, 20))
    matrix = root @ root.T
    assert np.array_equal(solve(matrix, root), np.linalg.solve(matrix, root))


def test_a_singular_matrix_is_solved_nearly():
    matrix = np.ones((3, 3))
    assert matrix @ solve(matrix, np.ones(3)) == pytest.approx(np.ones(3), abs=1e-6)


def test_jitter_grows_until_it_is_enough():
    tried: list[float] = []

    def attempt(jitter: float) -> str:
        tried.append(jitter)
        if jitter < 1e-6:
            raise LinAlgError
        return "done"

    assert with_jitter(attempt) == "done"
    assert tried == [jitter for jitter in JITTERS if jitter <= 1e-6]


@pytest.mark.parametrize("value", [0.0, np.nan])
def test_what_no_jitter_helps_is_an_error(value: float):
    with pytest.raises(LinAlgError):
        solve(np.full((2, 2), value), np.ones(2))
