"""Arrays with one entry per row that belong together, as the fields of a dataclass."""

from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class RowArrays:
    """What such dataclasses share: every field is an array whose first axis is the row."""

    def take(self, rows: NDArray[Any] | slice) -> Self:
        """The rows at a mask or positions."""
        taken = {spec.name: getattr(self, spec.name)[rows] for spec in fields(self)}
        return replace(self, **taken)

    def join(self, other: Self) -> Self:
        """These rows and then the others."""
        names = [spec.name for spec in fields(self)]
        joined = {
            name: np.concatenate([getattr(self, name), getattr(other, name)])
            for name in names
        }
        return replace(self, **joined)
