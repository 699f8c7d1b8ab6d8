"""Solve with a covariance that rounding has left short of positive definite.

The matrix is tried as it is. Where that fails, a growing part of its mean diagonal is added until
it works. So well-conditioned matrices give the same numbers as without this module.
"""

from collections.abc import Callable
from typing import TypeVar

import numpy as np
from numpy.linalg import LinAlgError

from realloc.base.simplex import Floats

Result = TypeVar("Result")
JITTERS = (0.0, 1e-10, 1e-8, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)  # parts of the mean diagonal


def with_jitter(attempt: Callable[[float], Result]) -> Result:
    """`attempt(jitter)` with the least jitter that raises no `LinAlgError`, or its last error."""
    for jitter in JITTERS[:-1]:
        try:
            return attempt(jitter)
        except LinAlgError:
            continue
    return attempt(JITTERS[-1])


def add_jitter(matrix: Floats, jitter: float) -> Floats:
    """The matrix (p, p) with a part of its mean diagonal added to its diagonal.

    >>> add_jitter(np.array([[1.0, 0.0], [0.0, 3.0]]), 0.5)
    array([[2., 0.],
           [0., 4.]])
    """
    if not jitter:
        return matrix
    return matrix + jitter * float(np.trace(matrix)) / len(matrix) * np.eye(len(matrix))


def solve(matrix: Floats, right: Floats) -> Floats:
    """The finite solution of `matrix` (p, p) times it = `right` (p,) or (p, t).

    >>> solve(np.ones((2, 2)), np.ones(2)).round(6)
    array([0.5, 0.5])
    """

    def attempt(jitter: float) -> Floats:
        found = np.linalg.solve(add_jitter(matrix, jitter), right)
        if not np.isfinite(found).all():
            raise LinAlgError("the solution is not finite")
        return found

    return with_jitter(attempt)
