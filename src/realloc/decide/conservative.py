"""The conservative gain: Ĝ − β σ̂ − λ_s φ(ω), φ(ω) = −log(ω + ε).

Ĝ is the difference of potentials between the row's own shares and the end, σ̂ its standard
deviation. Both are of the whole move: consecutive steps share most of their uncertainty, and adding
it up step by step would count it again and again.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from realloc.base.simplex import Floats, Mask, Rows
from realloc.decide.config import DecisionConfig
from realloc.decide.search.gain_arrays import NetworkArrays

# (rows of the batch, starts (a, K), ends (a, m, K)) → (a, m)
MoveFunction = Callable[[Rows, Floats, Floats], Floats]


class SupportAt(Protocol):
    """What the learned support says at n states."""

    def allowed(self, rows: Rows, start: Floats, ends: Floats, /) -> Mask:
        """Whether the straight ways to ends (a, m, K) are supported: (a, m)."""
        ...

    def inside(self, rows: Rows, ends: Floats, start: Floats | None = None, /) -> Mask:
        """Whether the ends themselves are, where ways come from `start` (a, K): (a, m)."""
        ...

    def omega(self, rows: Rows, ends: Floats, /) -> Floats:
        """Directional support of the ends: (a, m)."""
        ...


@dataclass(frozen=True)
class OutcomeTerm:
    """One outcome: gains with their σ̂, the weight in the objective, what it may lose."""

    name: str
    gain: MoveFunction
    sigma: MoveFunction
    slopes: Callable[[Rows, Floats], Floats]  # (rows, shares (a, K)) → field (a, K)
    weight: float = 1.0
    tolerance: float | None = None  # what a guardrail may lose; None: not a guardrail
    common_error: float = 0.0  # how far all gains together may be off, in parts of them
    # (starts (n, K), longest move) → gains that are cheap and close enough to compare ends by
    local_gain: Callable[[Floats, float], MoveFunction | None] | None = None
    # how far a hidden cause of strength 1 may set a gain off (`robustness.py`)
    hidden: MoveFunction | None = None
    network: NetworkArrays | None = None  # the surface of `gain`, where numbers say it

    def gain_and_error(
        self, rows: Rows, start: Floats, ends: Floats
    ) -> tuple[Floats, Floats]:
        """Ĝ and its standard deviation with the common error, which a search need not count."""
        gain = self.gain(rows, start, ends)
        return gain, np.hypot(self.sigma(rows, start, ends), self.common_error * gain)


def weigh_gains(
    outcomes: tuple[OutcomeTerm, ...], rows: Rows, start: Floats, ends: Floats
) -> tuple[Floats, Floats]:
    """Ĝ and σ̂ of the objective, (a, m) each. Outcomes err alike, so their σ̂ add up."""
    gain = np.zeros(())
    sigma = np.zeros(())
    for term in outcomes:
        if term.weight:
            gain = gain + term.weight * term.gain(rows, start, ends)
            sigma = sigma + abs(term.weight) * term.sigma(rows, start, ends)
    return gain, sigma


def weigh_slopes(outcomes: tuple[OutcomeTerm, ...], rows: Rows, shares: Floats) -> Floats:
    """The objective's field at shares (a, K)."""
    slopes = (term.weight * term.slopes(rows, shares) for term in outcomes if term.weight)
    return sum(slopes, start=np.zeros(()))


def spread(gains: Floats) -> Floats:
    """Standard deviation over members (M, ...); 0 if there is only one."""
    return gains.std(axis=0, ddof=1) if len(gains) > 1 else np.zeros(gains.shape[1:])


def conservative_gain(
    gain: Floats, sigma: Floats, omega: Floats | None, config: DecisionConfig
) -> Floats:
    """Ĝ − β σ̂ − λ_s φ(ω).

    >>> conservative_gain(np.array([2.0]), np.array([1.5]), None, DecisionConfig(beta=0.5)).tolist()
    [1.25]
    """
    conservative = gain - config.beta * sigma
    if omega is not None and config.lambda_support:
        conservative = conservative + config.lambda_support * np.log(omega + config.epsilon)
    return conservative


def guarded(
    outcomes: tuple[OutcomeTerm, ...],
    radius: float,
    rows: Rows,
    start: Floats,
    ends: Floats,
) -> Mask:
    """Whether Ĝ − radius · σ̂ of every guardrail stays above what it may lose: (a, m)."""
    safe = np.ones(ends.shape[:2], dtype=bool)
    for term in outcomes:
        if term.tolerance is not None:
            gain, error = term.gain_and_error(rows, start, ends)
            safe &= gain - radius * error >= -term.tolerance
    return safe
