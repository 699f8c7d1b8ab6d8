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
    columns = Columns([scale])
    encoded, unseen = columns.encode(values[:, None], clip)
    return Block(encoded, columns.names([""]), float(unseen[0]))


class Columns:
    """Several features at once: a row alone costs as much as one of them does."""

    def __init__(self, scales: Sequence[Scale]) -> None:
        learned = np.array([(s.centre, s.spread, s.low, s.high) for s in scales])
        self.centre, self.spread, self.low, self.high = learned.T
        self.has_missing = np.array([scale.has_missing for scale in scales])
        # of the values, each followed by its flag for missing
        flags = np.stack([np.ones_like(self.has_missing), self.has_missing], axis=1)
        self.kept = np.flatnonzero(flags)

    def names(self, features: Sequence[str]) -> tuple[str, ...]:
        """What each column is called."""
        both = [name for feature in features for name in (feature, f"{feature} missing")]
        return tuple(both[place] for place in self.kept)

    def encode(self, values: Floats, clip: float) -> tuple[Floats32, Floats]:
        """The columns of features (n, F), and the part of the rows that training never saw (F,)."""
        missing = ~np.isfinite(values)
        with np.errstate(
            over="ignore", invalid="ignore"
        ):  # far beyond the clip, or missing
            scaled = np.clip((values - self.centre) / self.spread, -clip, clip)
        scaled[missing] = 0.0
        outside = (values < self.low) | (values > self.high)
        outside |= missing & ~self.has_missing
        unseen = outside.mean(axis=0) if len(values) else np.zeros(len(self.centre))
        both = np.empty((*values.shape, 2), np.float32)
        both[..., 0] = scaled
        both[..., 1] = missing
        return both.reshape(len(values), 2 * values.shape[1])[:, self.kept], unseen
