"""The best candidate that a dear rule allows, asking the rule about the best ones first and about no more than needed.

Most rows find an allowed one among their first few; asking about all of them would cost several times as much and give the
same answer.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from realloc.simplex import Floats

Rows = NDArray[np.int64]
Mask = NDArray[np.bool_]

WIDTHS = (2, 6, 18)  # candidates a row is asked about at a time; then all that are left


def ask_ranked(
    score: Floats, wanted: Mask, judge: Callable[[Rows, Rows], Mask], enough: Mask | None = None
) -> tuple[Rows, Mask]:
    """For scores (n, C): the first `wanted` candidate in falling order that is judged right, −1 where none is; and all answers.

    `judge(rows (a,), columns (a, m))` → (a, m). A row is done once a candidate is right that is `enough`, too.

    >>> score = np.array([[3.0, 2.0, 1.0]])
    >>> ask_ranked(score, score > 0, lambda rows, columns: columns > 0)[0].tolist()
    [1]
    """
    count = wanted.sum(axis=1)
    order = np.argsort(np.where(wanted, -score, np.inf), axis=1, kind="stable")
    found, right = np.full(len(score), -1), np.zeros(score.shape, dtype=bool)
    rows, first = np.flatnonzero(count > 0), 0
    for width in (*WIDTHS, score.shape[1]):
        if not len(rows):
            break
        columns = order[rows, first : first + width]
        held = judge(rows, columns) & np.take_along_axis(wanted[rows], columns, axis=1)
        right[rows[:, None], columns] = held
        held = held if enough is None else held & np.take_along_axis(enough[rows], columns, axis=1)
        hit = held.any(axis=1)
        found[rows[hit]] = columns[hit, held[hit].argmax(axis=1)]
        first += width
        rows = rows[~hit & (count[rows] > first)]
    return found, right
