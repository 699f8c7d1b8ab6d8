"""The best candidate that a rule allows, asking the rule about as few candidates as possible.

Rules (support, limits, guardrails) cost far more than scores, and mostly the best candidate is
allowed. So the best is asked about first, then a few more, then the rest; the answer is that of
asking about every candidate.
"""

from collections.abc import Callable

import numpy as np

from realloc.base.simplex import Floats, Integers, Mask, Rows

# (rows of the scores (r,), columns (r, c)) → whether each is allowed (r, c)
Rule = Callable[[Rows, Rows], Mask]

GROWTH = 4
FEW = 1000  # candidates asked about at once: a call costs more than so few candidates do


def best_allowed(score: Floats, rule: Rule, quick: Rule | None = None) -> Integers:
    """The column of each row's highest allowed score (n, C), the first of equals; −1 if none is.

    Scores of −inf are never allowed. `quick` is a cheap rule that forbids nothing that `rule`
    allows: `rule` is then asked only about what it lets through, one at a time.

    >>> best_allowed(np.array([[1.0, 3.0, 2.0]]), lambda rows, columns: columns != 1).tolist()
    [2]
    """
    best = score.argmax(axis=1)
    rows = np.arange(len(score))
    open_ = np.flatnonzero(score[rows, best] > -np.inf)
    allowed = rule(open_, best[open_, None])[:, 0]
    best[score[rows, best] == -np.inf] = -1
    best[open_[~allowed]] = -1
    open_ = open_[~allowed]
    order = np.argsort(-score[open_], axis=1, kind="stable")
    count = np.isfinite(score[open_]).sum(axis=1)
    done = 1
    size = max(GROWTH, FEW // max(len(open_), 1))
    while (left := np.flatnonzero((best[open_] < 0) & (count > done))).size:
        columns = order[left, done : done + size]
        possible = (rule if quick is None else quick)(open_[left], columns)
        possible &= np.arange(done, done + columns.shape[1]) < count[left, None]
        best[open_[left]] = _first(
            open_[left], columns, possible, None if quick is None else rule
        )
        done = done + size
        size = size * GROWTH
    return best


def _first(rows: Rows, columns: Rows, possible: Mask, rule: Rule | None) -> Integers:
    """The first possible of each row's columns (r, c) that the rule allows; −1 if none is."""
    first = np.full(len(rows), -1)
    left = np.flatnonzero(possible.any(axis=1))
    while len(left):
        place = possible[left].argmax(axis=1)
        column = columns[left, place]
        allowed = (
            np.ones(len(left), bool)
            if rule is None
            else rule(rows[left], column[:, None])[:, 0]
        )
        first[left[allowed]] = column[allowed]
        possible[left, place] = False
        left = left[~allowed & possible[left].any(axis=1)]
    return first
