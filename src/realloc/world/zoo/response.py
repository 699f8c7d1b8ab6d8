"""The true responses of the zoo.

outcome = size · {10 + drive + effect(x, p)} + noise,   effect(x, p) = reacts(x) · g(x, p) / scale
"""

from dataclasses import dataclass, replace

import numpy as np

from realloc.base.simplex import Floats, Rows
from realloc.world.draws import stream
from realloc.world.state import row_norms
from realloc.world.zoo.cards import Card
from realloc.world.zoo.state import UNIT_FEATURES, ZooState

LEVEL = 10.0
LOWEST = 0.5  # of an outcome per unit of size
SUBSTITUTION = 0.5  # exponent of the CES response
STEEPNESS = 0.03  # of a threshold, in shares
HILL = 1.5  # exponent of saturation


@dataclass(frozen=True, eq=False)
class ZooSurface:
    """The expected outcome of n rows as a function of their shares."""

    card: Card
    weights: Floats  # (n, K) how well channels work
    middle: Floats  # (n, K) shares at which they half saturate, or begin to work
    base: Floats  # (n,) per unit of size
    size: Floats  # (n,)
    before: Floats  # (n, K) the mix of the period before
    scale: float  # of the effect

    def take(self, rows: Rows) -> "ZooSurface":
        """Of some of the rows, in that order."""
        return replace(
            self,
            weights=self.weights[rows],
            middle=self.middle[rows],
            base=self.base[rows],
            size=self.size[rows],
            before=self.before[rows],
        )

    def value(self, shares: Floats) -> Floats:
        """At shares (n, K) → (n,), or (n, m, K) → (n, m)."""
        if shares.ndim == 3:
            wide = replace(
                self,
                weights=self.weights[:, None],
                middle=self.middle[:, None],
                base=self.base[:, None],
                size=self.size[:, None],
                before=self.before[:, None],
            )
            return wide._value(shares)
        return self._value(shares)

    def _value(self, shares: Floats) -> Floats:
        carried = self.card.carry_over
        felt = (1 - carried) * shares + carried * self.before
        per_size = self.base + self.effect(felt) / self.scale
        return self.size * np.maximum(per_size, LOWEST)

    def effect(self, shares: Floats) -> Floats:
        """g(x, p), before it is scaled."""
        w = self.weights
        kind = self.card.response
        if kind == "none":
            return np.zeros(np.broadcast_shapes(shares.shape, w.shape)[:-1])
        if kind == "linear":
            return (w * shares).sum(axis=-1)
        if kind == "ces":
            inner = (w * np.power(shares, SUBSTITUTION)).sum(axis=-1)
            return np.square(inner)
        if kind == "threshold":
            return (w / (1 + np.exp((self.middle - shares) / STEEPNESS))).sum(axis=-1)
        power = np.power(shares, HILL)
        return (w * power / (power + np.power(self.middle, HILL))).sum(axis=-1)


def open_surface(
    card: Card, seed: int, state: ZooState, before: Floats, scale: float = 1.0
) -> ZooSurface:
    """The response of rows; some traits make a channel work better."""
    key = (card.name, seed, "response")
    K = card.channels
    taste = row_norms(stream(*key, "taste"), K, UNIT_FEATURES, 0.9)
    level = 0.3 * stream(*key, "level").standard_normal(K)
    traits = state.features[:, :UNIT_FEATURES]
    works = level + traits @ taste.T
    weights = works if card.response == "linear" else np.exp(0.7 * np.tanh(works))
    middles = stream(*key, "middle").uniform(0.5, 1.5, K) / K
    return ZooSurface(
        card=card,
        weights=np.where(state.reacts[:, None], weights, 0.0),
        middle=np.broadcast_to(middles, weights.shape),
        base=LEVEL + state.drive + 1.5 * card.hidden * state.hidden,
        size=state.size,
        before=before,
        scale=scale,
    )
