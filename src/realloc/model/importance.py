"""Which features make gains differ between rows.

For each feature j, its values are handed round among the rows, and the gains g of moving one point
of the budget are looked at again: g′ is the gain with another row's value. Its part of the
differences is the total effect of Sobol (estimator of Jansen):

S_j = mean (g − g′)² / (2 Var g)

Zero: knowing the feature changes no gain; one: without it, all rows would gain alike. Features act
together, so parts may sum to more than one. Rows that the model has not learned from are the ones
to ask about.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from realloc.base.imports import need
from realloc.base.numbers import counted, percent
from realloc.base.simplex import Floats
from realloc.decide.config import DecisionConfig
from realloc.decide.totals import NORMAL_QUANTILE
from realloc.logs import Logs
from realloc.model.effects import gains_of_a_point
from realloc.model.state import RoundState

ROUNDS = 5  # times that values are handed round
MOST_ROWS = 2000
MATTERS = 0.05
SHOWN = 3
BUDGET = "budget"
MIX = "current mix"


@dataclass(frozen=True)
class FeatureImportance:
    """The part of the differences between gains that a feature makes, with its 95 % interval."""

    feature: str
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Importance:
    """All features, the most important first."""

    features: tuple[FeatureImportance, ...]
    rows: int
    significant: bool  # whether held-out units speak for the gains at all

    def lines(self) -> list[str]:
        """The answer in words."""
        lines = list(self._answer())
        if not self.significant:
            lines.append(
                "The evidence for any gain is too weak, so this is what the model would believe; "
                "`model.summary()` says what would help."
            )
        return lines

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def to_frame(self) -> Any:
        """One row per feature, as a pandas frame."""
        return need("pandas").DataFrame([asdict(one) for one in self.features])

    def _answer(self) -> Iterator[str]:
        mattering = [one for one in self.features if one.low > MATTERS]
        if not mattering:
            yield (
                f"No feature makes a clear difference to gains (of {counted(self.rows, 'row')})."
            )
            return
        named = [f"{one.feature} ({percent(one.value)})" for one in mattering[:SHOWN]]
        more = len(mattering) - len(named)
        also = f", and {counted(more, 'more feature')}" if more else ""
        yield (
            f"Which moves pay depends on {', '.join(named)}{also}: that part of the differences "
            f"between gains goes with it (of {counted(self.rows, 'row')})."
        )
        rest = [one.feature for one in self.features if one.high <= MATTERS]
        if rest:
            yield f"Below {percent(MATTERS)}: {', '.join(rest)}."


def importance(state: RoundState, logs: Logs, config: DecisionConfig) -> Importance:
    """The importance of every feature, the budget and the current mix."""
    if len(logs) > MOST_ROWS:
        logs = logs.take(np.linspace(0, len(logs) - 1, MOST_ROWS).astype(np.int64))
    encoded = state.encoder.encode(logs)
    x = encoded.values
    shares = np.array(logs.shares)
    gains = gains_of_a_point(state, x, shares, config)
    random = np.random.default_rng(len(logs))
    orders = [random.permutation(len(logs)) for _ in range(ROUNDS)]
    owners = np.array([BUDGET if o == "log budget" else o for o in encoded.owners])
    found: list[FeatureImportance] = []
    for feature in dict.fromkeys(owners.tolist()):
        differences = np.zeros(len(logs))
        for order in orders:
            other = np.where(owners == feature, x[order], x)
            differences += _squares(gains, gains_of_a_point(state, other, shares, config))
        found.append(_part(feature, differences / ROUNDS, gains, logs.unit_codes))
    differences = np.zeros(len(logs))
    for order in orders:
        differences += _squares(gains, gains_of_a_point(state, x, shares[order], config))
    found.append(_part(MIX, differences / ROUNDS, gains, logs.unit_codes))
    found.sort(key=lambda one: -one.value)
    return Importance(tuple(found), len(logs), state.is_significant(config))


def _squares(gains: Floats, others: Floats) -> Floats:
    """Half the mean square difference of each row's gains, over moves that both can make."""
    squares = np.square(gains - others)
    possible = ~np.isnan(squares)
    return (
        0.5
        * np.where(possible, squares, 0).sum(axis=1)
        / np.maximum(possible.sum(axis=1), 1)
    )


def _part(
    feature: str, differences: Floats, gains: Floats, units: Any
) -> FeatureImportance:
    """The ratio to the variance of gains; its error by linearisation, units as clusters."""
    possible = ~np.isnan(gains)
    mean = np.where(possible, gains, 0).sum(axis=0) / np.maximum(possible.sum(axis=0), 1)
    apart = np.where(possible, np.square(gains - mean), 0).sum(axis=1)
    apart = apart / np.maximum(possible.sum(axis=1), 1)
    whole = float(apart.mean())
    if whole <= 0:
        return FeatureImportance(feature, 0.0, 0.0, 0.0)
    value = float(differences.mean()) / whole
    by_unit = np.bincount(
        np.unique(units, return_inverse=True)[1], differences - value * apart
    )
    half = NORMAL_QUANTILE * float(np.sqrt(np.square(by_unit).sum())) / (len(gains) * whole)
    return FeatureImportance(feature, value, max(value - half, 0.0), value + half)
