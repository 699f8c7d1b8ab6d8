"""Resampling whole units: weights of every draw, and the percentile interval of what they give."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from realloc.base.errors import ConfigError
from realloc.base.simplex import Floats
from realloc.base.validation import check_types
from realloc.evaluate.result import CONFIDENCE, NAN

CELLS = 1 << 20  # numbers held at once per array


@dataclass(frozen=True, kw_only=True)
class Bootstrap:
    """How often units are drawn again, and from which seed."""

    draws: int = 500
    seed: int = 0

    def __post_init__(self) -> None:
        check_types(self, "the bootstrap")
        if self.draws < 20:
            raise ConfigError(
                f"Expected at least 20 bootstrap draws for an interval, got {self.draws}."
            )

    def weights(self, units: int, width: int) -> Iterator[Floats]:
        """How often each unit is drawn, (b, units);
        as many draws at a time as arrays of `width` allow.
        """
        rng = np.random.default_rng([self.seed, 11])
        most = max(1, CELLS // max(width, units))
        for first in range(0, self.draws, most):
            size = min(most, self.draws - first)
            picked = (
                rng.integers(0, units, (size, units)) + units * np.arange(size)[:, None]
            )
            counts = np.bincount(picked.ravel(), minlength=size * units)
            yield counts.reshape(size, units).astype(np.float64)


DEFAULT = Bootstrap()


def interval(values: Floats) -> tuple[float, float]:
    """The middle 95 % of bootstrap values; NaN without any,
    or where more than half are not finite.
    """
    finite = values[np.isfinite(values)]
    if not len(finite) or 2 * len(finite) < len(values):
        return NAN, NAN
    tails = [0.5 - CONFIDENCE / 2, 0.5 + CONFIDENCE / 2]
    # The k-th of B draws has k / (B + 1) below it on average: other rules make intervals too short.
    low, high = np.quantile(finite, tails, method="weibull")
    return float(low), float(high)
