"""The best candidate that a rule allows, asking the rule as rarely as possible: the best first, then a few more, then the rest.

Rules about places (support, limits, guardrails) cost far more than knowing what a place is worth, and mostly the best place
is allowed. The answer is that of asking about every candidate.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from realloc.simplex import Floats

Rows = NDArray[np.integer[Any]]
# (rows of the scores (r,), columns (r, c)) → whether each is allowed (r, c)
Rule = Callable[[Rows, Rows], NDArray[np.bool_]]

GROWTH = 4


def first_allowed(score: Floats, rule: Rule) -> NDArray[np.int64]:
    """The column of the highest allowed score of every row (n, C), the first of equals; −1 where none above −inf is.

    >>> first_allowed(np.array([[1.0, 3.0, 2.0]]), lambda rows, columns: columns != 1).tolist()
    [2]
    """
    best = np.full(len(score), -1)
    order = np.argsort(-score, axis=1, kind="stable")
    count = np.isfinite(score).sum(axis=1)
    open_, done, size = np.flatnonzero(count), 0, 1
    while len(open_):
        columns = order[open_, done : done + size]
        allowed = rule(open_, columns) & (np.arange(done, done + columns.shape[1]) < count[open_, None])
        some = allowed.any(axis=1)
        best[open_[some]] = columns[some, allowed[some].argmax(axis=1)]
        done, size = done + size, size * GROWTH
        open_ = open_[~some & (count[open_] > done)]
    return best
