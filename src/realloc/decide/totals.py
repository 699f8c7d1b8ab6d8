"""What many decisions bring together: the sum of their gains with its interval, money by pair.

A sum of lower bounds would say that every unit is unlucky at once. Errors of single units average
out; what all gains have in common does not.

Var(Σ g) = (Σ c g)² + Σ (σ̂² − c² g²),   c the common error of all gains, in parts of them
"""

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from realloc.base.simplex import Floats

CONFIDENCE = 0.95
NORMAL_QUANTILE = NormalDist().inv_cdf(0.5 + CONFIDENCE / 2)


@dataclass(frozen=True)
class GainSum:
    """Three sums over rows that give the total and its interval; sums of parts add up."""

    gain: float = 0.0
    common: float = 0.0  # Σ c g
    single: float = 0.0  # Σ (σ̂² − c² g²)

    @classmethod
    def of(cls, gain: Floats, sigma: Floats, common: Floats) -> "GainSum":
        """Of rows with gains (n,), σ̂ (n,) and common errors (n,); NaN counts as 0."""
        gain, sigma, common = (np.nan_to_num(values) for values in (gain, sigma, common))
        shared = common * gain
        single = np.maximum(np.square(sigma) - np.square(shared), 0.0)
        return cls(float(gain.sum()), float(shared.sum()), float(single.sum()))

    def __add__(self, other: "GainSum") -> "GainSum":
        return GainSum(
            self.gain + other.gain, self.common + other.common, self.single + other.single
        )

    @property
    def half(self) -> float:
        """How far the 95 % interval reaches to either side.

        >>> round(GainSum(100.0, common=15.0, single=64.0).half, 1)
        33.3
        """
        return float(NORMAL_QUANTILE * np.sqrt(self.common**2 + self.single))


def money_flows(change: Floats) -> Floats:
    """Money (K, K) from channel k to channel l, for changes of spend (n, K).

    A channel that gets more takes from all givers of its row in proportion.

    >>> money_flows(np.array([[-2.0, 2.0]])).tolist()
    [[0.0, 2.0], [0.0, 0.0]]
    """
    given = np.maximum(-change, 0)
    part = given / np.maximum(given.sum(axis=1, keepdims=True), 1e-300)
    return part.T @ np.maximum(change, 0)


def name_flows(flows: Floats, channels: tuple[str, ...]) -> dict[str, float]:
    """Flows (K, K) by pair of channels, the largest first."""
    named = {
        f"{source} → {target}": round(float(flows[k, m]), 2)
        for k, source in enumerate(channels)
        for m, target in enumerate(channels)
        if flows[k, m] > 0
    }
    return dict(sorted(named.items(), key=lambda pair: -pair[1]))
