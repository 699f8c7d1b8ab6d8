# pyright: reportUnknownParameterType=false
# (pyarrow ships no types: its tables and arrays are unknown to the checker)
"""Items: what does not change from day to day, derived from the seeds and an item's number.

An item is named `<sample seed>-<number>`, e.g. `0-0000012`, so that a log's ids and the world's
seed recover it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from realloc.base.errors import ConfigError, LogError
from realloc.base.simplex import Integers, Mask, Rows, round_money
from realloc.base.validation import check_range, check_types
from realloc.world.platform.catalogue import Catalogue
from realloc.world.platform.draws import Draws, Floats, row_sum

GRID = 1000  # shares are whole thousandths of the budget, so that moves and zeros are exact
Thousandths = NDArray[np.int32]


@dataclass(frozen=True, kw_only=True)
class ItemParameters:
    """How items differ."""

    level_sd: float = 0.9  # of an item's demand level within its category
    price_elasticity: float = 0.35  # demand falls by this per unit of log price
    drift_sd: float = 0.3  # sales trend: change over the 60 days
    wave: float = 0.25  # height of an item's own slow wave …
    wave_days_min: float = 20.0  # … whose period lies between these
    wave_days_max: float = 50.0
    log_budget_mean: float = 4.0  # of a typical item's daily budget
    log_budget_sd: float = 0.5
    # Elasticity of the standing budget to the demand level.
    budget_follows_level: float = 0.6
    taste_sd: float = 0.25  # an item's own log pull of a channel
    mix_sd: float = 1.4  # spread of the starting shares' logits
    never_used: float = 0.10  # probability that an item has never used a channel
    explored: float = 0.10  # share of the items under randomized exploration

    def __post_init__(self) -> None:
        check_types(self, "the items")
        check_range(self, ("never_used", "explored"), "from 0 to 1", "the items")
        if not 0 < self.wave_days_min <= self.wave_days_max:
            raise ConfigError(
                "Expected 0 < wave_days_min <= wave_days_max in the items, "
                f"got {self.wave_days_min} and {self.wave_days_max}."
            )
        spreads = ("level_sd", "drift_sd", "log_budget_sd", "taste_sd", "mix_sd")
        check_range(self, spreads, ">= 0", "the items")


@dataclass(frozen=True, eq=False)
class Items:
    """One row per item."""

    category: NDArray[np.int32]  # (n,)
    log_price: Floats
    price_deviation: Floats  # log price above the category's, in standard units
    level: Floats  # mean demand
    drift: Floats  # change of demand over `SPAN` days
    wave_days: Floats
    wave_phase: Floats
    log_budget: Floats  # standing budget
    taste: Floats  # (n, K) log pull of the channels: category's affinity and own
    synergy: Floats  # positive factors around 1
    thrift: Floats  # from −1 to 1: how much dearer than usual a discount is for this item
    opened: Mask  # (n, K) channels the item has ever used
    start: Thousandths  # (n, K) shares before the first day
    explored: Mask

    def __len__(self) -> int:
        return len(self.category)

    def take(self, rows: Rows) -> "Items":
        """The given rows, in that order."""
        return Items(**{name: values[rows] for name, values in vars(self).items()})

    @classmethod
    def join(cls, parts: Sequence["Items"]) -> "Items":
        """Several lots one after the other."""
        columns = {name: [getattr(part, name) for part in parts] for name in vars(parts[0])}
        return cls(**{name: np.concatenate(values) for name, values in columns.items()})


def draw_items(catalogue: Catalogue, draws: Draws, parameters: ItemParameters) -> Items:
    """Draw the items a block of `draws` stands for."""
    p = parameters
    common = catalogue.parameters
    K = len(catalogue.channels)
    category = catalogue.pick_category(draws.uniform("item.category"))
    price_deviation = draws.normal("item.price")
    log_price = catalogue.log_price[category] + common.log_price_item_sd * price_deviation
    level = catalogue.level[category] + p.level_sd * draws.normal("item.level")
    level -= p.price_elasticity * (log_price - common.log_price_mean)
    taste = catalogue.affinity[category] + p.taste_sd * draws.normals("item.taste", K)
    opened = draw_opened(draws.uniforms("item.opened", K), p.never_used)
    mix = catalogue.affinity[category] + p.mix_sd * draws.normals("item.mix", K)
    usual_budget = p.log_budget_mean + p.budget_follows_level * (level - common.level_mean)
    wave_range = p.wave_days_max - p.wave_days_min
    return Items(
        category=category,
        log_price=log_price,
        price_deviation=price_deviation,
        level=level,
        drift=p.drift_sd * draws.normal("item.drift"),
        wave_days=p.wave_days_min + wave_range * draws.uniform("item.wave_days"),
        wave_phase=2 * np.pi * draws.uniform("item.wave_phase"),
        log_budget=usual_budget + p.log_budget_sd * draws.normal("item.budget"),
        taste=taste,
        synergy=np.exp(0.3 * draws.normal("item.synergy")),
        thrift=2 * draws.uniform("item.thrift") - 1,
        opened=opened,
        start=to_thousandths(mix, opened),
        explored=draws.uniform("item.explored") < p.explored,
    )


def draw_opened(uniform: Floats, never_used: float) -> Mask:
    """Which channels an item has ever used, (n, K); every item has used at least one."""
    opened = uniform >= never_used
    opened[np.arange(len(uniform)), np.argmax(uniform, axis=1)] = True
    return opened


def to_thousandths(logits: Floats, opened: Mask) -> Thousandths:
    """Softmax shares of the opened channels in whole thousandths that sum to 1000."""
    weights = np.where(opened, np.exp(logits), 0.0)
    shares = weights / row_sum(weights)[:, None]
    return round_money(shares, float(GRID), digits=0).astype(np.int32)


def item_names(seed: int, first: int, count: int) -> pa.Array:
    """Ids of a block of items.

    >>> item_names(0, 12, 2).to_pylist()
    ['0-0000012', '0-0000013']
    """
    return pa.array(
        [f"{seed}-{number:07d}" for number in range(first, first + count)], pa.string()
    )


def parse_names(names: pa.Array) -> Integers:
    """The inverse: sample seeds and numbers, (n, 2)."""
    numbers: list[list[int]] = []
    for name in names.to_pylist():
        parts = str(name).split("-")
        if len(parts) != 2 or not all(part.isdecimal() for part in parts):
            raise LogError(
                f"Expected item ids of the marketplace such as '0-0000012', got {name!r}."
            )
        numbers.append([int(part) for part in parts])
    return np.array(numbers, dtype=np.int64).reshape(-1, 2)
