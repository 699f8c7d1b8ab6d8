from dataclasses import dataclass

import numpy as np

from realloc.learn.row_arrays import RowArrays


@dataclass(frozen=True, eq=False)
class Pairs(RowArrays):
    number: np.ndarray
    table: np.ndarray


PAIRS = Pairs(np.arange(4), np.arange(8).reshape(4, 2))


def test_rows_are_taken_by_positions_masks_and_slices():
    for rows in (np.array([1, 2]), np.array([False, True, True, False]), slice(1, 3)):
        part = PAIRS.take(rows)
        assert part.number.tolist() == [1, 2]
        assert part.table.tolist() == [[2, 3], [4, 5]]


def test_joined_rows_come_after_the_first_ones():
    both = PAIRS.take(slice(2, 4)).join(PAIRS.take(slice(0, 1)))
    assert both.number.tolist() == [2, 3, 0]
    assert both.table.tolist() == [[4, 5], [6, 7], [0, 1]]
