"""How a column has changed, in words: where more rows or fewer lie than in the training window."""

import numpy as np

from realloc.base.numbers import readable
from realloc.base.simplex import Floats
from realloc.logs.summary import ColumnSummary

Places = list[tuple[float, float, str]]  # part of the rows now, in training, and where


def describe_change(name: str, column: ColumnSummary, counts: list[int]) -> str:
    """The place whose part of the rows changed most."""
    now = np.array(counts, dtype=np.float64) / max(sum(counts), 1)
    before = np.array(column.parts)
    places: Places = [(now[-1], before[-1], "have no value")]
    if column.type == "text":
        names = [f"are {level!r}" for level in column.levels]
        places += zip(now, before, [*names, "have a rarer or new level"], strict=False)
    else:
        places += _cuts(name, column, now, before)
    part, former, where = max(places, key=lambda place: abs(place[0] - place[1]))
    return f"{part:.0%} of the rows {where}, in training {former:.0%}"


def _cuts(name: str, column: ColumnSummary, now: Floats, before: Floats) -> Places:
    """Above each border, or up to it where that is more than it was."""
    places: Places = []
    for cut in range(len(column.edges)):
        above, former = (float(part[cut + 1 : -1].sum()) for part in (now, before))
        border = _border(name, column, cut)
        if above >= former:
            places.append((above, former, f"lie above {border}"))
        else:
            up_to, former = (float(part[: cut + 1].sum()) for part in (now, before))
            places.append((up_to, former, f"lie at {border} or below"))
    return places


def _border(name: str, column: ColumnSummary, cut: int) -> str:
    """As people write it; budgets are kept as logarithms."""
    value = column.edges[cut]
    if column.type == "date":
        return str(np.datetime64(0, "D") + int(value))
    return readable(float(np.exp(value)) if name == "budget" else value)
