"""Numbers: centred by the median, scaled by the middle half, clipped; missing ones at 0 with a flag
of their own.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from realloc.base.simplex import Floats
from realloc.learn.scaling import Floats32

NORMAL_IQR = 1.349  # interquartile range of a standard normal
ROUNDING = 1e-12  # of the largest value: what differs by less is one number


@dataclass(frozen=True, kw_only=True)
class Scale:
    """Median, robust standard deviation, range, and whether values were missing in training."""

    centre: float
    spread: float
    low: float
    high: float
    has_missing: bool


@dataclass(frozen=True)
class Block:
    """Columns of one feature, their name endings, and the part of the rows that training never saw
    the like of.
    """

    values: Floats32
    suffixes: tuple[str, ...]
    unseen: float = 0.0


def fit(values: Floats) -> Scale:
    """Learn a scale.

    Where the middle half is constant up to rounding the standard deviation serves, and 1 for a
    constant.
    """
    given = values[np.isfinite(values)]
    if not len(given):
        return Scale(centre=0.0, spread=1.0, low=0.0, high=0.0, has_missing=True)
    low, first, centre, third, high = np.quantile(
        given, [0.0, 0.25, 0.5, 0.75, 1.0]
    ).tolist()
    rounding = ROUNDING * max(abs(low), abs(high))
    spread = (third - first) / NORMAL_IQR
    if spread <= rounding:
        spread = float(given.std())
    return Scale(
        centre=centre,
        spread=spread if spread > rounding else 1.0,
        low=low,
        high=high,
        has_missing=len(given) < len(values),
    )


def log(values: Floats) -> Floats:
    """The logarithm to nine digits, NaN where there is none: sums that should be equal differ in
    the sixteenth.
    """
    return np.log(values, out=np.full(len(values), np.nan), where=values > 0).round(9)


def encode(values: Floats, scale: Scale, clip: float) -> Block:
    """(n, 1), or (n, 2) with the flag for missing.

    Values missing for the first time count as unseen.
    """
    return encode_all(values[:, None], [scale], clip)[0]


def encode_all(
    values: Floats,
    scales: Sequence[Scale],
    clip: float,
) -> list[Block]:
    """Several features (n, F) at once: a row alone costs as much as one of them does."""
    learned = np.array([(s.centre, s.spread, s.low, s.high) for s in scales]).reshape(-1, 4)
    centre, spread, low, high = learned.T
    missing = ~np.isfinite(values)
    with np.errstate(over="ignore", invalid="ignore"):  # far beyond the clip, or missing
        scaled = np.where(missing, 0.0, np.clip((values - centre) / spread, -clip, clip))
    never_missing = np.array([not scale.has_missing for scale in scales])
    outside = (values < low) | (values > high) | (missing & never_missing)
    unseen = outside.mean(axis=0) if len(values) else np.zeros(len(scales))
    both = np.stack([scaled, missing], axis=2).astype(np.float32)  # (n, F, 2)
    blocks: list[Block] = []
    for place, scale in enumerate(scales):
        suffixes = ("", " missing") if scale.has_missing else ("",)
        columns = both[:, place, : len(suffixes)]
        blocks.append(Block(columns, suffixes, float(unseen[place])))
    return blocks
