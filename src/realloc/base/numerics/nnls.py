"""Least squares with weights of at least zero, as in scipy.optimize, whose import costs more than
most logs that are checked with it.
"""

import numpy as np

from realloc.base.simplex import Floats, Mask

ROUNDING = (
    10.0  # machine epsilons times the size of the problem: below it, a gradient is zero
)


def nnls(design: Floats, target: Floats) -> Floats:
    """argmin ‖A w − y‖ over w ≥ 0, by the active sets of Lawson and Hanson.

    >>> nnls(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), np.array([1.0, -1.0, 1.0]))
    array([1., 0.])
    """
    gram = design.T @ design
    moment = design.T @ target
    columns = len(gram)
    weights = np.zeros(columns)
    free = np.zeros(columns, bool)
    size = np.abs(gram).sum(axis=0).max(initial=0.0)
    tolerance = ROUNDING * max(design.shape) * np.finfo(float).eps * size
    for _ in range(3 * columns):
        gradient = np.where(free, -np.inf, moment - gram @ weights)
        if free.all() or gradient.max() <= tolerance:
            break
        free[np.argmax(gradient)] = True
        weights = _shorten(design, target, weights, free)
    return weights


def _shorten(design: Floats, target: Floats, weights: Floats, free: Mask) -> Floats:
    """The solution on the free columns; those that would turn negative stop at zero."""
    while True:
        goal = np.zeros_like(weights)
        goal[free] = np.linalg.lstsq(design[:, free], target)[0]
        falling = free & (goal <= 0)
        if not falling.any():
            return goal
        room = weights[falling] / np.maximum(weights - goal, 1e-300)[falling]
        weights = weights + room.min() * (goal - weights)
        free &= weights > 1e-14 * np.abs(weights).max(initial=0.0)
        weights[~free] = 0.0
