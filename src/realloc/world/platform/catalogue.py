"""What all items share: channels, and categories with their sizes, prices, weeks and shocks."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realloc.base.errors import ConfigError
from realloc.base.validation import check_range, check_types
from realloc.world.platform.draws import Draws, Floats, choose
from realloc.world.sample import channel_names

# How far a channel works through the price; further channels draw theirs.
DISCOUNTS = (0.0, 1.0, 0.6)
WEEK = 7
SPREADS = (
    "log_price_category_sd",
    "log_price_item_sd",
    "level_sd",
    "shock_sd",
    "affinity_sd",
)


@dataclass(frozen=True, kw_only=True)
class CatalogueParameters:
    """Categories. Money is in the platform's currency, demand on the log scale of the outcomes."""

    categories: int = 24
    size_skew: float = 1.0  # category c has a size ∝ 1/(c+1)^skew
    log_price_mean: float = 4.0
    log_price_category_sd: float = 0.8  # between category means
    log_price_item_sd: float = 0.6  # within a category
    level_mean: float = 3.0  # log orders of a typical item's day: about twenty
    level_sd: float = 0.4  # between category demand levels
    # Height of the weekly wave; its phase differs by category.
    weekly_amplitude: float = 0.15
    shock_sd: float = 0.06  # a category's common shock of one day
    affinity_sd: float = 0.20  # of a category to a channel, in log pull

    def __post_init__(self) -> None:
        check_types(self, "the catalogue")
        if self.categories < 1:
            raise ConfigError(
                f"Expected categories >= 1 in the catalogue, got {self.categories}."
            )
        check_range(self, SPREADS, ">= 0", "the catalogue")


@dataclass(frozen=True, eq=False)
class Catalogue:
    """The drawn categories (C) and channels (K) of one world."""

    parameters: CatalogueParameters
    seed: int
    channels: tuple[str, ...]
    discount: Floats  # (K,) from 0, works through attention, to 1, works through the price
    weight: Floats  # (C,) sizes, sum to 1
    log_price: Floats  # (C,)
    level: Floats  # (C,)
    week: Floats  # (C, 7) weekly season, mean 0
    affinity: Floats  # (C, K)

    def shock(self, day: int) -> Floats:
        """The categories' common demand shocks of a day, (C,)."""
        draws = Draws((self.seed,), 0, len(self.weight))
        return self.parameters.shock_sd * draws.normal("shock", day)

    def pick_category(self, uniform: Floats) -> NDArray[np.int32]:
        """Category codes drawn by size."""
        weights = np.broadcast_to(self.weight, (len(uniform), len(self.weight)))
        return choose(uniform, weights).astype(np.int32)


def draw_catalogue(seed: int, channels: int, parameters: CatalogueParameters) -> Catalogue:
    """Draw the categories of the world with this seed."""
    p = parameters
    draws = Draws((seed,), 0, p.categories)
    size = 1.0 / np.arange(1, p.categories + 1) ** p.size_skew
    phase = draws.uniform("week")[:, None] + np.arange(WEEK) / WEEK
    discount = Draws((seed,), 0, channels).uniform("discount")
    discount[: len(DISCOUNTS)] = DISCOUNTS[:channels]
    return Catalogue(
        parameters=p,
        seed=seed,
        channels=channel_names(channels),
        discount=discount,
        weight=size / size.sum(),
        log_price=p.log_price_mean + p.log_price_category_sd * draws.normal("log_price"),
        level=p.level_mean + p.level_sd * draws.normal("level"),
        week=p.weekly_amplitude * np.sin(2 * np.pi * phase),
        affinity=p.affinity_sd * draws.normals("affinity", channels),
    )
