"""Units, days and what drives sales, in a world of the zoo."""

from dataclasses import dataclass
from datetime import date

import numpy as np
from scipy.stats import norm

from realloc.base.simplex import Floats, Integers, Mask
from realloc.world.draws import stream
from realloc.world.zoo.cards import Card

FIRST_DAY = date(2025, 1, 1)
UNIT_FEATURES = 6  # the first two drive sales, the others modify effects
FEATURES = (*(f"u{j + 1}" for j in range(UNIT_FEATURES)), "size", "promotion", "demand")
SIZE_ERROR = 0.2  # of the recorded log of a unit's size
DEMAND_MEMORY = 0.7
SEGMENT = 2  # the feature that says who reacts


@dataclass(frozen=True, eq=False)
class ZooState:
    """What is true of every row before its mix is chosen; rows are units × periods."""

    unit: Integers  # (n,)
    day: Integers  # (n,) since 1970
    features: Floats  # (n, F) as recorded
    size: Floats  # (n,)
    drive: Floats  # (n,) what drives both sales and the policy, per unit of size
    hidden: Floats  # (n,) the unrecorded driver
    available: Mask  # (n, K) channels that can be used
    reacts: Mask  # (n,)

    def __len__(self) -> int:
        return len(self.unit)


def draw_state(card: Card, seed: int, sample: int, units: int, periods: int) -> ZooState:
    """Units of their own for every `sample`, over consecutive periods."""
    key = (card.name, seed, sample)
    n = units * periods
    unit = np.repeat(np.arange(units), periods)
    first = (FIRST_DAY - date(1970, 1, 1)).days
    day = np.tile(first + card.days_apart * np.arange(periods), units)
    traits = stream(*key, "units").standard_normal((units, UNIT_FEATURES))
    log_size = card.size_spread * stream(*key, "size").standard_normal(units)
    recorded = log_size + SIZE_ERROR * stream(*key, "size error").standard_normal(units)
    demand = _demand(stream(*key, "demand").standard_normal((units, periods)))
    promotion = (stream(*key, "promotion").random(n) < 0.15).astype(np.float64)
    season = np.sin(2 * np.pi * day / 365) + 0.5 * (day % 7 >= 5) * (card.days_apart == 1)
    u = traits[unit]
    features = np.column_stack([u, recorded[unit], promotion, demand.ravel()])
    calendar = card.season * (season + 1.5 * promotion + 0.5 * demand.ravel())
    return ZooState(
        unit=unit,
        day=day,
        features=features,
        size=np.exp(log_size[unit]),
        drive=u[:, 0] + 0.7 * np.square(u[:, 1]) + 0.6 * u[:, 0] * u[:, 1] + calendar,
        hidden=stream(*key, "hidden").standard_normal(n),
        available=_available(card, key, unit),
        reacts=_reacts(card, u),
    )


def _demand(shocks: Floats) -> Floats:
    """A demand index that remembers itself, (units, periods)."""
    demand = np.empty_like(shocks)
    demand[:, 0] = shocks[:, 0]
    keep = DEMAND_MEMORY
    for t in range(1, shocks.shape[1]):
        demand[:, t] = keep * demand[:, t - 1] + np.sqrt(1 - keep**2) * shocks[:, t]
    return demand


def _available(card: Card, key: tuple[str | int, ...], unit: Integers) -> Mask:
    """Channels of every row; at least two, the first ones where chance leaves fewer."""
    K = card.channels
    has = stream(*key, "channels").random((int(unit.max()) + 1, K)) >= card.never_used
    has[:, :2] |= has.sum(axis=1, keepdims=True) < 2
    today = has[unit] & (stream(*key, "today").random((len(unit), K)) >= card.not_today)
    return np.where(today.sum(axis=1, keepdims=True) < 2, has[unit], today)


def _reacts(card: Card, u: Floats) -> Mask:
    """Those whose feature is among the highest of its normal law."""
    if card.segment == 1:
        return np.ones(len(u), dtype=bool)
    return u[:, SEGMENT] > norm.isf(card.segment)
