"""The conservative gain: Ĝ − β σ̂ − λ_s φ(ω), φ(ω) = −log(ω + ε).

Ĝ is the potential difference between the row's own shares and the end, σ̂ how far it may be off (posterior, members or
dropout): both of the whole way, so that doubts of consecutive steps, mostly the same doubt, are not counted again and again.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from realloc.base.simplex import Floats
from realloc.decide.config import DecisionConfig

Rows = NDArray[np.integer[Any]]
Mask = NDArray[np.bool_]

# (rows of the batch, starts (a, K), ends (a, m, K)) → (a, m)
OfWays = Callable[[Rows, Floats, Floats], Floats]


class Evidence(Protocol):
    """What a support says about n rows."""

    def allowed(self, rows: Rows, start: Floats, ends: Floats, /) -> Mask:
        """Whether the straight ways are supported: (a, m)."""
        ...

    def inside(self, rows: Rows, ends: Floats, /) -> Mask:
        """Whether the ends themselves are: (a, m)."""
        ...

    def omega(self, rows: Rows, ends: Floats, /) -> Floats:
        """Directional support of ends (a, m, K): (a, m)."""
        ...


@dataclass(frozen=True)
class Stake:
    """One outcome: gains and how far they may be off, its weight in the objective, and as a guardrail what it may lose."""

    name: str
    gain: OfWays
    sigma: OfWays
    slopes: Callable[
        [Rows, Floats], Floats
    ]  # (rows, shares (a, K)) → the members' mean field (a, K)
    weight: float = 1.0
    tolerance: float | None = None  # None: not a guardrail
    # (starts (n, K), longest way) → gains near enough to the true ones to compare places by, where those are dear
    near: Callable[[Floats, float], OfWays | None] | None = None

    def roughly(self, start: Floats, radius: float) -> "Stake":
        """The same for a search around `start` (n, K)."""
        found = None if self.near is None else self.near(start, radius)
        return self if found is None else replace(self, gain=found)


def weigh_gain(stakes: tuple[Stake, ...], rows: Rows, start: Floats, ends: Floats) -> Floats:
    """Ĝ of the objective, (a, m)."""
    return sum(
        (s.weight * s.gain(rows, start, ends) for s in stakes if s.weight), start=np.zeros(())
    )


def weigh_sigma(stakes: tuple[Stake, ...], rows: Rows, start: Floats, ends: Floats) -> Floats:
    """σ̂ of the objective, (a, m). Outcomes err alike (what raises orders raises sales), so errors add up."""
    return sum(
        (abs(s.weight) * s.sigma(rows, start, ends) for s in stakes if s.weight), start=np.zeros(())
    )


def weigh_slopes(stakes: tuple[Stake, ...], rows: Rows, held: Floats) -> Floats:
    """The objective's field at shares (a, K)."""
    return sum((s.weight * s.slopes(rows, held) for s in stakes if s.weight), start=np.zeros(()))


def spread(gains: Floats) -> Floats:
    """Standard deviation of members (M, ...): 0 where there is one."""
    return gains.std(axis=0, ddof=1) if len(gains) > 1 else np.zeros(gains.shape[1:])


def conservative_gain(
    gain: Floats, sigma: Floats, omega: Floats | None, config: DecisionConfig
) -> Floats:
    """Ĝ − β σ̂ − λ_s φ(ω).

    >>> conservative_gain(np.array([2.0]), np.array([1.5]), None, DecisionConfig(beta=0.5)).tolist()
    [1.25]
    """
    found = gain - config.beta * sigma
    if omega is not None and config.lambda_support:
        found = found + config.lambda_support * np.log(omega + config.epsilon)
    return found


def guarded(
    stakes: tuple[Stake, ...], radius: float, rows: Rows, start: Floats, ends: Floats
) -> Mask:
    """Whether every guardrail's lower bound Ĝ − radius · σ̂ stays above what it may lose: (a, m)."""
    safe = np.ones(ends.shape[:2], dtype=bool)
    for stake in stakes:
        if stake.tolerance is not None:
            lower = stake.gain(rows, start, ends) - radius * stake.sigma(rows, start, ends)
            safe &= lower >= -stake.tolerance
    return safe
