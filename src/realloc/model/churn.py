"""How much an update changed the field: by new data, and because any refit differs a little."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from realloc.base.numbers import counted, percent
from realloc.base.simplex import Floats, edge_directions
from realloc.draw import Bullets, DataTable, PagePiece, Shown


@dataclass(frozen=True)
class Churn(Shown):
    """Changes at the shares of the new window.

    Changes of the field are parts of the former field's size, changes of best moves parts of rows.
    `field` and `best_move` are what the update changed in total. `refit_field` and
    `refit_best_move` are what the same update with another seed changes against it, which is noise;
    None where that was not measured.
    """

    rows: int
    field: float
    best_move: float
    refit_field: float | None
    refit_best_move: float | None

    @property
    def data_field(self) -> float | None:
        """The change beyond that of a refit; independent changes add up in squares."""
        if self.refit_field is None:
            return None
        return max(0.0, self.field**2 - self.refit_field**2) ** 0.5

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {**asdict(self), "data_field": self.data_field}

    def pieces(self) -> list[PagePiece]:
        """What changed, in words and as a table."""
        changes = [
            ("in all", self.field, self.best_move),
            ("by a refit with another seed", self.refit_field, self.refit_best_move),
            ("by new data", self.data_field, None),
        ]
        rows = [(name, _part(field), _part(moved)) for name, field, moved in changes]
        heads = ("change", "of the field's size", "of best moves")
        caption = f"Compared on {counted(self.rows, 'row')}"
        return [Bullets(self.lines()), DataTable(heads, rows, caption)]

    def lines(self) -> list[str]:
        """For people."""
        first = (
            f"The field changed by {self.field:.0%} of its size; the best move of "
            f"{self.best_move:.0%} of the rows changed."
        )
        if self.refit_field is None:
            return [
                first,
                "How much of that is refit noise was not measured (update with churn=True).",
            ]
        return [
            first,
            f"A refit with another seed differs by {self.refit_field:.0%} and "
            f"{self.refit_best_move:.0%}, which is noise. "
            f"New data explains {self.data_field:.0%}.",
        ]


def compare_fields(former: Floats, fresh: Floats, again: Floats | None = None) -> Churn:
    """Compare fields (n, K) before the update, after it, and after it with another seed."""
    size = _size(former) or _size(fresh) or 1.0
    return Churn(
        rows=len(fresh),
        field=_size(fresh - former) / size,
        best_move=_best_moved(former, fresh),
        refit_field=None if again is None else _size(fresh - again) / size,
        refit_best_move=None if again is None else _best_moved(again, fresh),
    )


def _part(value: float | None) -> str:
    return "not known" if value is None else percent(value)


def _size(field: Floats) -> float:
    return float(np.sqrt(np.square(field).sum(axis=1).mean()))


def _best_moved(one: Floats, other: Floats) -> float:
    directions = edge_directions(one.shape[1]).T
    return float(
        np.mean((one @ directions).argmax(axis=1) != (other @ directions).argmax(axis=1))
    )
