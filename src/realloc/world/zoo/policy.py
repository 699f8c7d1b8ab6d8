"""How mixes were logged in a world of the zoo, and the region they cover.

log p_k of the channels that a row can use: centre_k(x) + spread · ξ_k, ξ normal and without mean,
for a few rows `exploration_scale` times wider. Of the mixes of a row's own channels the true region
holds the part of largest density with mass `LEVEL`.
"""

from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from scipy.optimize import brentq
from scipy.stats import chi2

from realloc.base.simplex import Floats, Mask, Rows, softmax
from realloc.world.draws import stream
from realloc.world.state import row_norms
from realloc.world.zoo.cards import Card
from realloc.world.zoo.state import UNIT_FEATURES, ZooState

LEVEL = 0.95
SLACK = 1e-9


@dataclass(frozen=True, eq=False)
class ZooLaw:
    """The law of the logged mixes of n rows."""

    card: Card
    logits: Floats  # (n, K)
    available: Mask  # (n, K)

    def take(self, rows: Rows) -> "ZooLaw":
        """Of some of the rows, in that order."""
        return replace(self, logits=self.logits[rows], available=self.available[rows])

    def sample(self, normals: Floats, wide: Mask) -> Floats:
        """Mixes (n, K) from normals (n, K); `wide` says which rows explored."""
        scale = self.card.spread * np.where(wide, self.card.exploration_scale, 1.0)
        logits = self.logits + scale[:, None] * normals
        return softmax(np.where(self.available, logits, -np.inf))

    def inside(self, shares: Floats) -> Mask:
        """Whether shares (n, K) or (n, m, K) lie in the true region of their rows."""
        logits = self.logits
        available = self.available
        if shares.ndim == 3:
            logits = logits[:, None]
            available = available[:, None]
        own = np.where(available, shares > 0, shares <= SLACK).all(axis=-1)
        log_shares = np.log(np.where(available & (shares > 0), shares, 1.0))
        count = available.sum(axis=-1, keepdims=True)
        away = np.where(available, log_shares - logits, 0.0)
        away = np.where(available, away - away.sum(axis=-1, keepdims=True) / count, 0.0)
        squared = np.square(away / self.card.spread).sum(axis=-1)
        return own & (squared <= radii(self.card)[count[..., 0] - 1])

    def path_inside(self, start: Floats, ends: Floats, intervals: int = 10) -> Mask:
        """Whether all of start (n, K) → ends (n, m, K) is inside: (n, m)."""
        inside = np.ones(ends.shape[:2], dtype=bool)
        for s in np.arange(intervals + 1) / intervals:
            inside &= self.inside((1 - s) * start[:, None] + s * ends)
        return inside


def radii(card: Card) -> Floats:
    """The squared radius of the region by degrees of freedom, 0 to K − 1."""
    eps = card.exploration
    c = card.exploration_scale
    found = [0.0]
    for degrees in range(1, card.channels):

        def missing(squared: float, degrees: int = degrees) -> float:
            narrow = (1 - eps) * chi2.sf(squared, degrees)
            return float(narrow + eps * chi2.sf(squared / c**2, degrees)) - (1 - LEVEL)

        highest = c**2 * float(chi2.isf((1 - LEVEL) / 2, degrees)) + 1
        found.append(cast("float", brentq(missing, 0.0, highest)))
    return np.array(found)


def open_law(card: Card, seed: int, state: ZooState) -> ZooLaw:
    """The policy prefers by traits, and follows what drives sales, seen or not."""
    key = (card.name, seed, "policy")
    K = card.channels
    taste = row_norms(stream(*key, "taste"), K, UNIT_FEATURES, 0.6)
    follow = row_norms(stream(*key, "follow"), 1, K, 0.3 * np.sqrt(K))[0]
    level = 0.5 * stream(*key, "level").standard_normal(K)
    known = card.confounding * np.tanh(state.drive / 2)
    drive = known + card.hidden * state.hidden
    traits = state.features[:, :UNIT_FEATURES]
    logits = level + np.tanh(traits @ taste.T) + drive[:, None] * follow
    return ZooLaw(card, logits, state.available)


def draw_shares(law: ZooLaw, seed: int, sample: int, periods: int) -> Floats:
    """Logged mixes, (n, K); deviations of a unit stay until its mix is drawn anew."""
    card = law.card
    key = (card.name, seed, sample)
    shape = law.logits.shape
    normals = stream(*key, "mix").standard_normal(shape)
    wide = stream(*key, "explore").random(shape[0]) < card.exploration
    anew = (stream(*key, "anew").random(shape[0]) < card.new_mix).reshape(-1, periods)
    anew[:, 0] = True
    since = np.maximum.accumulate(np.where(anew, np.arange(periods), 0), axis=1)
    source = (since + periods * np.arange(len(anew))[:, None]).ravel()
    return law.sample(normals[source], wide[source])
