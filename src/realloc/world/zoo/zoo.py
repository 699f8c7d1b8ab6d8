"""A world of the zoo: logs to learn from, the truth about them, and the oracle's decisions."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from realloc.base.errors import ConfigError
from realloc.base.simplex import Floats, Mask, Rows
from realloc.base.validation import nearest
from realloc.decide.search.greedy import SearchConfig, search_greedy
from realloc.logs import Logs, Schema
from realloc.world.draws import stream
from realloc.world.regimes import WorldParameters
from realloc.world.sample import channel_names
from realloc.world.world import World
from realloc.world.zoo.cards import CARDS, Card
from realloc.world.zoo.policy import draw_shares, open_law
from realloc.world.zoo.response import open_surface
from realloc.world.zoo.state import FEATURES, ZooState, draw_state

CARD_FORMAT = 1
CALIBRATION_UNITS = 4000
CALIBRATION_DRAWS = 8
DEGREES = 3  # of freedom of heavy tails
EARLIER = 364  # days: dates of all worlds lie in the past, weekdays stay


class TrueResponse(Protocol):
    """The true response of rows."""

    def take(self, rows: Rows) -> "TrueResponse":
        """Of some of the rows, in that order."""
        ...

    def value(self, shares: Floats) -> Floats:
        """At shares (n, K) → (n,), or (n, m, K) → (n, m)."""
        ...


class Region(Protocol):
    """The true support of rows."""

    def take(self, rows: Rows) -> "Region":
        """Of some of the rows, in that order."""
        ...

    def path_inside(self, start: Floats, ends: Floats) -> Mask:
        """Whether all of start (n, K) → ends (n, m, K) is inside: (n, m)."""
        ...


@dataclass(frozen=True, eq=False)
class ZooSample:
    """Logs and the truth about their rows."""

    logs: Logs
    surface: TrueResponse
    region: Region

    def gain(self, shares: Floats) -> Floats:
        """The true gain of moving to shares (n, K)."""
        return self.surface.value(shares) - self.surface.value(self.logs.shares)

    def supported(self, shares: Floats) -> Mask:
        """Whether the way to shares (n, K) stays in the true region."""
        return self.region.path_inside(self.logs.shares, shares[:, None])[:, 0]

    def best(self, config: SearchConfig) -> Floats:
        """The oracle's mixes: greedy on the true response inside the true region."""

        def gain(rows: Rows, shares: Floats, candidates: Floats) -> Floats:
            part = self.surface.take(rows)
            return part.value(candidates) - part.value(shares)[:, None]

        return search_greedy(
            np.array(self.logs.shares),
            gain,
            lambda rows, start, ends: self.region.take(rows).path_inside(start, ends),
            config,
        ).shares


class ZooWorld:
    """A world by its name, drawn by a seed.

    >>> world = ZooWorld("thresholds", seed=1)
    >>> world.sample(units=3, periods=2, seed=0)
    Logs(6 rows, 3 units, 3 channels, 9 features)
    """

    def __init__(self, name: str, seed: int = 1) -> None:
        if name not in CARDS:
            raise ConfigError(
                f"Expected a world of the zoo, got {name!r}.{nearest(name, tuple(CARDS))} "
                f"There are: {', '.join(CARDS)}."
            )
        self.parameters: Card = CARDS[name]
        self.seed = seed

    def __repr__(self) -> str:
        return f"ZooWorld({self.parameters.name!r}, seed={self.seed})"

    def sample(
        self, units: int | None = None, periods: int | None = None, seed: int = 0
    ) -> Logs:
        """Logs of new units; other ones for each `seed`."""
        return self.draw(units, periods, seed).logs

    def draw(
        self, units: int | None = None, periods: int | None = None, seed: int = 0
    ) -> ZooSample:
        """Logs with the truth about them; the card says how many where nothing is said."""
        card = self.parameters
        units = card.units if units is None else units
        periods = card.periods if periods is None else periods
        if units < 1 or periods < 1:
            raise ConfigError(
                f"Expected at least 1 unit and 1 period, got {units} and {periods}."
            )
        if card.regime:
            return self._draw_paper(units, periods, seed)
        state = draw_state(card, self.seed, seed, units, periods)
        law = open_law(card, self.seed, state)
        shares = draw_shares(law, self.seed, seed, periods)
        before = np.roll(shares, 1, axis=0)
        before[::periods] = shares[::periods]
        surface = open_surface(card, self.seed, state, before, self.scale)
        mean = surface.value(shares)
        noise = stream(card.name, self.seed, seed, "noise")
        outcome = _draw_outcome(card, state, mean, noise)
        return ZooSample(_to_logs(card, state, shares, outcome, seed), surface, law)

    def _draw_paper(self, units: int, periods: int, seed: int) -> ZooSample:
        card = self.parameters
        noise = replace(WorldParameters(), noise=card.noise_scale)
        world = World(card.regime, self.seed, card.channels, noise)
        logs = world.sample(units, periods, seed)
        return ZooSample(logs, world.surface(logs), world.region(logs))

    @cached_property
    def scale(self) -> float:
        """Standard deviation of the effect along the mixes that one state may be logged with."""
        card = self.parameters
        state = draw_state(card, self.seed, -1, CALIBRATION_UNITS, 1)
        law = open_law(card, self.seed, state)
        surface = open_surface(card, self.seed, state, np.zeros_like(law.logits))
        draws = []
        for turn in range(CALIBRATION_DRAWS):
            normals = stream(card.name, self.seed, "scale", turn).standard_normal(
                law.logits.shape
            )
            mixes = law.sample(normals, np.zeros(len(state), dtype=bool))
            draws.append(surface.effect(mixes))
        within = np.var(draws, axis=0, ddof=1)[state.reacts].mean()
        return float(np.sqrt(within)) or 1.0

    def card(self) -> dict[str, Any]:
        """Everything that rebuilds this world, as JSON values."""
        return {
            "world": "zoo",
            "format": CARD_FORMAT,
            "seed": self.seed,
            **self.parameters.to_dict(),
        }

    @classmethod
    def from_card(cls, card: Mapping[str, Any]) -> "ZooWorld":
        """The world a card describes."""
        world = cls(card["name"], card["seed"])
        expected = world.card()
        changed = [name for name in expected if card.get(name) != expected[name]]
        if changed:
            raise ConfigError(
                f"Expected the card of {card['name']!r} as the zoo has it, got another "
                f"{changed[0]!r}: {card.get(changed[0])!r}."
            )
        return world


def _draw_outcome(
    card: Card, state: ZooState, mean: Floats, random: np.random.Generator
) -> Floats:
    if card.noise == "counts":
        # Negative binomial: variance = mean + (scale · size)², as orders of days that differ.
        extra = np.square(card.noise_scale * state.size)
        number = np.square(mean) / extra
        return random.poisson(random.gamma(number, mean / number)).astype(np.float64)
    tilt = np.exp(card.noise_tilt * state.features[:, 1])
    if card.noise == "student":
        draws = random.standard_t(DEGREES, len(mean)) / np.sqrt(DEGREES / (DEGREES - 2))
    else:
        draws = random.standard_normal(len(mean))
    return mean + card.noise_scale * state.size * tilt * draws


def _to_logs(
    card: Card, state: ZooState, shares: Floats, outcome: Floats, sample: int
) -> Logs:
    schema = Schema(
        unit="unit",
        time="date",
        outcome="sales",
        channels=channel_names(card.channels),
        budget="budget",
        features=FEATURES,
    )
    # Units of another sample are other units: a model must not think that it knows their channels.
    names = pa.array([f"unit-{sample}-{i:05d}" for i in range(int(state.unit[-1]) + 1)])
    codes = pa.array(state.unit.astype(np.int32))
    table = {
        "unit": pa.DictionaryArray.from_arrays(codes, names),
        "date": pa.array((state.day - EARLIER).astype(np.int32)).view(pa.date32()),
        "budget": pa.array(100 * state.size),
        **dict(zip(schema.channels, map(pa.array, shares.T.copy()), strict=True)),
        "sales": pa.array(outcome),
        **dict(zip(FEATURES, map(pa.array, state.features.T.copy()), strict=True)),
    }
    return Logs(schema=schema, table=pa.table(table), features=FEATURES)
