"""What an evaluation returns: a value, its interval and how many rows it rests on;
and tables of such.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from realloc.base.errors import LogError
from realloc.base.numbers import plain
from realloc.base.simplex import Floats, Rows

if TYPE_CHECKING:
    import pandas as pd

CONFIDENCE = 0.95
NORMAL_QUANTILE = NormalDist().inv_cdf(0.5 + CONFIDENCE / 2)
NAN = float("nan")
T = TypeVar("T")


@dataclass(frozen=True)
class Estimate:
    """One number with its 95 % interval; `low` and `high` are NaN where an interval makes no
    sense.
    """

    name: str
    value: float
    low: float
    high: float
    n: int

    @classmethod
    def point(cls, name: str, value: float, n: int) -> "Estimate":
        """A number without an interval."""
        return cls(name, float(value), NAN, NAN, n)

    @classmethod
    def around(cls, name: str, value: float, half: float, n: int) -> "Estimate":
        """A number in the middle of its interval, which reaches `half` to either side."""
        return cls(name, float(value), float(value - half), float(value + half), n)

    def __str__(self) -> str:
        interval = "" if np.isnan(self.low) else f" [{plain(self.low)}, {plain(self.high)}]"
        return f"{self.name} {plain(self.value)}{interval} (n={self.n:,})"


@dataclass(frozen=True)
class EstimateTable:
    """Estimates by name."""

    estimates: tuple[Estimate, ...]

    def __getitem__(self, name: str) -> Estimate:
        return pick({estimate.name: estimate for estimate in self.estimates}, name)

    def __iter__(self) -> Iterator[Estimate]:
        return iter(self.estimates)

    def __len__(self) -> int:
        return len(self.estimates)

    def to_arrow(self) -> pa.Table:
        """One row per estimate: name, value, low, high, n."""
        return pa.Table.from_pylist([vars(estimate) for estimate in self.estimates])

    def to_frame(self) -> "pd.DataFrame":
        """The same as a pandas frame."""
        return self.to_arrow().to_pandas()


def mean_estimate(name: str, values: Floats, clusters: Rows | None = None) -> Estimate:
    """The mean with a normal interval; rows of one cluster (a unit) count as one draw.

    >>> mean_estimate("gain", np.array([1.0, 3.0])).value
    2.0
    """
    if not len(values):
        return Estimate.point(name, NAN, 0)
    half = NORMAL_QUANTILE * standard_error(values, clusters)
    return Estimate.around(name, values.mean(), half, len(values))


def standard_error(values: Floats, clusters: Rows | None = None) -> float:
    """Standard error of the mean over G clusters; NaN with fewer than two.

    √(G/(G−1) Σ_g (Σ_{i∈g} (x_i − x̄))²) / n
    """
    residuals = values - values.mean()
    if clusters is not None:
        if len(clusters) != len(values):
            raise LogError(
                f"Expected one cluster per row, got {len(clusters)} for {len(values)} rows."
            )
        codes = group_codes(clusters)
        residuals = np.bincount(codes, weights=residuals)
    groups = len(residuals)
    if groups < 2:
        return NAN
    return float(np.sqrt(groups / (groups - 1) * np.square(residuals).sum()) / len(values))


def group_codes(labels: NDArray[Any]) -> NDArray[np.intp]:
    """The group of each label, numbered from 0 in the labels' order."""
    return np.unique(labels, return_inverse=True)[1]


def divide(top: Floats, bottom: NDArray[Any], otherwise: float = NAN) -> Floats:
    """Row by row; `otherwise` where the bottom is not above 0."""
    return np.divide(top, bottom, out=np.full(len(top), otherwise), where=bottom > 0)


def pick(known: Mapping[str, T], name: str) -> T:
    """What goes by a name; an unknown name is refused with the known ones."""
    if name not in known:
        raise KeyError(f"Expected one of {list(known)}, got {name!r}.")
    return known[name]


def without_nan(value: Any) -> Any:
    """Lists, texts and numbers for a JSON file, which knows no NaN: null stands for it."""
    return json.loads(json.dumps(value), parse_constant=lambda _: None)
