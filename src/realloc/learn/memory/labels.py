"""What the teacher said about moves, as the memory keeps it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realloc.base.simplex import Floats, Integers, Rows

Singles = NDArray[np.float32]

BY_ROW = (
    "x",
    "shares",
    "source",
    "target",
    "step",
    "window",
    "rank",
)  # the row is the first axis


@dataclass(frozen=True)
class Labels:
    """Targets of n rows × q places for M members; without a feasible move, step and pair are 0."""

    x: Singles  # (n, d)
    shares: Singles  # (n, q, K)
    source: NDArray[np.int16]  # (n, q) k
    target: NDArray[np.int16]  # (n, q) l
    step: Singles  # (n, q) δ
    pair: Singles  # (M, n, q) y
    field: Singles  # (M, n, q, K) g
    window: Integers  # (n,) which round
    rank: Floats  # (n,) uniform draws that decide who stays in a bounded memory

    def __len__(self) -> int:
        return len(self.x)

    def take(self, rows: Rows) -> "Labels":
        """Some of the rows."""
        by_row = {name: getattr(self, name)[rows] for name in BY_ROW}
        return Labels(**by_row, pair=self.pair[:, rows], field=self.field[:, rows])

    def join(self, other: "Labels") -> "Labels":
        """These rows and then the others."""
        by_row = {
            name: np.concatenate([getattr(self, name), getattr(other, name)])
            for name in BY_ROW
        }
        pair = np.concatenate([self.pair, other.pair], axis=1)
        field = np.concatenate([self.field, other.field], axis=1)
        return Labels(**by_row, pair=pair, field=field)

    @property
    def ends(self) -> Singles:
        """Where the moves end: (n, q, K)."""
        ends = self.shares.copy()
        at = np.indices(self.step.shape)
        ends[*at, self.source] -= self.step
        ends[*at, self.target] += self.step
        return ends

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(getattr(self, name).nbytes for name in (*BY_ROW, "pair", "field"))
