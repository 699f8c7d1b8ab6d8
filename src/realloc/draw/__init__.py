"""Figures as SVG and pieces of pages: what reports, notebooks, the console and docs have in common.

Figures: `mix_bars`, `counts`, `gain_matrix`, `flow_matrix`, `money_flow`, `ternary`, `intervals`,
`calibration`, `distribution`, `time_series`. Each returns a `Figure`. A template writes
`{{ figure }}`; pages carry the style sheet (`style()`), figures only classes.
"""

from realloc.draw.bars import MixRow, counts, mix_bars
from realloc.draw.figure import Figure
from realloc.draw.intervals import Bar, Point, calibration, intervals
from realloc.draw.matrix import PairGain, flow_matrix, gain_matrix
from realloc.draw.page import page
from realloc.draw.pieces import (
    Bullets,
    DataTable,
    PagePiece,
    Paragraph,
    Part,
    Tile,
    Tiles,
    VerdictBox,
)
from realloc.draw.sankey import money_flow
from realloc.draw.series import Series, bin_values, distribution, time_series
from realloc.draw.show import Shown
from realloc.draw.templates import environment, style
from realloc.draw.ternary import TernaryField, TernaryPlot, lattice, ternary

__all__ = [
    "Bar",
    "Bullets",
    "DataTable",
    "Figure",
    "MixRow",
    "PagePiece",
    "PairGain",
    "Paragraph",
    "Part",
    "Point",
    "Series",
    "Shown",
    "TernaryField",
    "TernaryPlot",
    "Tile",
    "Tiles",
    "VerdictBox",
    "bin_values",
    "calibration",
    "counts",
    "distribution",
    "environment",
    "flow_matrix",
    "gain_matrix",
    "intervals",
    "lattice",
    "mix_bars",
    "money_flow",
    "page",
    "style",
    "ternary",
    "time_series",
]
