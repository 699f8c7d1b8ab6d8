# pyright: reportUnknownParameterType=false
# (pyarrow ships no types: its tables and arrays are unknown to the checker)
"""The marketplace: many items, small confounded reallocations, faint effects, a known truth."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from realloc.base.errors import ConfigError, LogError
from realloc.base.simplex import Integers, Rows
from realloc.evaluate.randomized import find_arms
from realloc.logs import Logs, Schema
from realloc.world.platform import response as truth
from realloc.world.platform.catalogue import draw_catalogue
from realloc.world.platform.columns import (
    MEANINGS,
    PROPENSITY,
    UNIT,
    day_table,
    make_schema,
)
from realloc.world.platform.draws import Draws, Floats
from realloc.world.platform.exploration import arm_probabilities
from realloc.world.platform.items import GRID, Items, draw_items, item_names, parse_names
from realloc.world.platform.parameters import MarketplaceParameters
from realloc.world.platform.response import MarketState
from realloc.world.platform.simulation import MarketRules, simulate
from realloc.world.platform.writing import Progress, Written, write_partitions

BLOCK = 1 << 17  # items simulated at once when writing: the process stays near 350 MB
FORMAT = 1
SEEDS = 2**32


@dataclass(frozen=True, eq=False)
class SimulatedArms:
    """The exploration arms of log rows."""

    moves: Floats  # (M, K) changes of shares; row 0 holds
    probabilities: Floats  # (n, M), NaN on routine rows
    drawn: Rows  # (n,) arm of the logged move, −1 on routine rows


@dataclass(frozen=True, eq=False)
class Marketplace:
    """A marketplace with `channels` ≥ 2 (ads, coupon, …), fixed by its seed and parameters.

    Items of different sample seeds are different items of the same market.

    >>> market = Marketplace(seed=1)
    >>> logs = market.sample(items=5, days=3)
    >>> len(logs), sorted(market.response(market.state(logs), logs.shares))
    (15, ['gmv', 'income', 'orders'])
    """

    seed: int = 1
    channels: int = 2
    parameters: MarketplaceParameters = field(default_factory=MarketplaceParameters)

    def __post_init__(self) -> None:
        _check_whole("seed", self.seed, 0, SEEDS - 1)
        _check_whole("channels", self.channels, 2, 64)

    @cached_property
    def rules(self) -> MarketRules:
        """The catalogue and parameters that everything else is drawn from."""
        catalogue = draw_catalogue(self.seed, self.channels, self.parameters.catalogue)
        return MarketRules(catalogue, self.parameters)

    @cached_property
    def schema(self) -> Schema:
        """The schema of the logs."""
        return make_schema(self.rules.catalogue.channels)

    def sample(self, items: int, days: int = 60, seed: int = 0) -> Logs:
        """The logs of items 0 … items − 1 of a sample seed, by day and item, in memory."""
        _check_size(items, days, seed)
        tables = [table for _, table in self._days(0, items, days, seed)]
        table = pa.concat_tables(tables).combine_chunks()
        return Logs(schema=self.schema, table=table, features=self.schema.features or ())

    def write(
        self,
        folder: str | Path,
        items: int,
        days: int = 60,
        seed: int = 0,
        on_progress: Progress | None = None,
        block: int = BLOCK,
    ) -> Written:
        """The same rows as partitioned Parquet, with `block` items in memory at once."""
        _check_size(items, days, seed)
        _check_whole("block", block, 1, None)
        size = {"items": items, "days": days, "sample_seed": seed, "rows": items * days}
        card = self.card() | size
        blocks = (
            self._days(first, min(block, items - first), days, seed)
            for first in range(0, items, block)
        )
        return write_partitions(Path(folder), blocks, card, on_progress)

    def state(self, logs: Logs) -> MarketState:
        """What the truth needs to know of every log row, from its id, date and budget."""
        self._check_own(logs)
        items = self._items_of(parse_names(logs.units))
        first = np.datetime64(self.parameters.first_day)
        day = (logs.times.astype("datetime64[D]") - first).astype(np.int64)
        return self.rules.state(items.take(logs.unit_codes), day, np.asarray(logs.budget))

    def response(self, state: MarketState, shares: Floats) -> dict[str, Floats]:
        """Expected orders, gmv and income at `shares` (n, K), each (n,)."""
        return truth.response(state, shares, self.parameters.response)

    def gradient(self, state: MarketState, shares: Floats) -> dict[str, Floats]:
        """Their exact gradients in the shares, each (n, K)."""
        return truth.gradient(state, shares, self.parameters.response)

    def gain(self, state: MarketState, start: Floats, end: Floats) -> dict[str, Floats]:
        """True effect of going from `start` to `end`, per outcome (n,)."""
        before = self.response(state, start)
        after = self.response(state, end)
        return {name: after[name] - before[name] for name in after}

    def arms(self, logs: Logs) -> SimulatedArms:
        """The exploration arms of every log row, from its columns and the menu alone."""
        self._check_own(logs)
        names = self.rules.catalogue.channels
        menu = self.rules.menu
        before = _thousandths(logs, [f"share_{name}_prev" for name in names])
        opened = np.stack([logs.table[f"open_{name}"].to_numpy() for name in names], axis=1)
        explored = ~np.isnan(logs.table[PROPENSITY].to_numpy())
        probabilities = np.where(
            explored[:, None], arm_probabilities(menu, before, opened), np.nan
        )
        moves = menu.moves / GRID
        changes = (_thousandths(logs, names) - before) / GRID
        drawn = np.where(explored, find_arms(changes, moves), -1)
        return SimulatedArms(moves, probabilities, drawn)

    def card(self) -> dict[str, Any]:
        """Everything that rebuilds this world and explains its columns and menu, as JSON values."""
        menu = self.rules.menu
        names = self.rules.catalogue.channels
        moves = [
            {
                "from": names[menu.source[arm]],
                "to": names[menu.target[arm]],
                "step": int(menu.step[arm]) / GRID,
                "weight": float(menu.weight[arm]),
            }
            for arm in range(len(menu.step))
        ]
        rule = (
            "hold, or a feasible move (both channels open, source holds the step) with "
            "probability ∝ weight"
        )
        return {
            "world": "platform",
            "format": FORMAT,
            "seed": self.seed,
            "channels": self.channels,
            "parameters": self.parameters.to_dict(),
            "digest": self.parameters.digest,
            "columns": MEANINGS,
            "exploration_menu": {"rule": rule, "hold": menu.hold, "moves": moves},
        }

    @classmethod
    def from_card(cls, card: Mapping[str, Any]) -> "Marketplace":
        """Rebuild a world from its card, bit for bit."""
        if card.get("world") != "platform" or card.get("format") != FORMAT:
            got = f"world {card.get('world')!r} in format {card.get('format')!r}"
            raise ConfigError(
                f"Expected the card of world 'platform' in format {FORMAT}, got {got}."
            )
        missing = [
            key for key in ("seed", "channels", "parameters", "digest") if key not in card
        ]
        if missing:
            raise ConfigError(
                f"Expected `{missing[0]}` in the card of the marketplace, but not found there."
            )
        parameters = MarketplaceParameters.from_dict(card["parameters"])
        if parameters.digest != card["digest"]:
            raise ConfigError(
                f"Expected parameters with the digest {card['digest']!r} in the card, got "
                f"{parameters.digest!r}: they were changed, or this version has other defaults."
            )
        return cls(seed=card["seed"], channels=card["channels"], parameters=parameters)

    def _days(
        self, first: int, count: int, days: int, seed: int
    ) -> Iterator[tuple[str, pa.Table]]:
        """The days of a block of items: the partition's name and the table."""
        draws = Draws((self.seed, seed), first, count)
        items = self._draw_items(draws)
        names = item_names(seed, first, count)
        for day in simulate(self.rules, items, draws, days):
            yield (
                f"date={self.rules.date_of(day.day)}",
                day_table(self.rules, names, items, day),
            )

    def _items_of(self, names: Integers) -> Items:
        """The items with these sample seeds and numbers (n, 2), drawn again."""
        if len(names) == 0:
            return self._draw_items(Draws((self.seed, 0), 0, 0))
        parts: list[Items] = []
        order: list[Rows] = []
        for seed in np.unique(names[:, 0]).tolist():
            rows = np.flatnonzero(names[:, 0] == seed)
            number = names[rows, 1]
            first = int(number.min())
            draws = Draws((self.seed, seed), first, int(number.max()) - first + 1)
            parts.append(self._draw_items(draws).take(number - first))
            order.append(rows)
        return Items.join(parts).take(np.argsort(np.concatenate(order)))

    def _draw_items(self, draws: Draws) -> Items:
        return draw_items(self.rules.catalogue, draws, self.parameters.items)

    def _check_own(self, logs: Logs) -> None:
        if logs.schema.channels != self.schema.channels or logs.schema.unit != UNIT:
            raise LogError(
                f"Expected logs of this marketplace with the channels "
                f"{list(self.schema.channels)}, got {list(logs.schema.channels)}."
            )


def _thousandths(logs: Logs, names: list[str] | tuple[str, ...]) -> NDArray[np.int32]:
    """Share columns as whole thousandths, (n, K)."""
    shares = np.stack([logs.table[name].to_numpy() for name in names], axis=1)
    return np.rint(shares * GRID).astype(np.int32)


def _check_size(items: int, days: int, seed: int) -> None:
    _check_whole("items", items, 1, None)
    _check_whole("days", days, 1, None)
    _check_whole("seed", seed, 0, SEEDS - 1)


def _check_whole(name: str, value: Any, low: int, high: int | None) -> None:
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or value < low or (high is not None and value > high):
        span = f"from {low} to {high}" if high is not None else f">= {low}"
        raise ConfigError(f"Expected {name} to be a whole number {span}, got {value!r}.")
