"""The paper's synthetic world: logs to learn from, and the truth to score with."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import date
from functools import cached_property
from typing import Any

import numpy as np

from realloc.base.errors import ConfigError
from realloc.base.simplex import Floats, Mask
from realloc.base.validation import from_table
from realloc.logs import Logs
from realloc.world.draws import stream
from realloc.world.logging_policy import LoggingPolicy, draw_weights
from realloc.world.regimes import (
    REGIMES,
    Regime,
    WorldParameters,
    find_regime,
    parameters_hash,
)
from realloc.world.response import (
    ResponseWeights,
    TrueSurface,
    calibrate_scales,
    draw_response,
    open_surface,
)
from realloc.world.sample import SampleRequest, draw_logs, parse_day
from realloc.world.state import (
    State,
    draw_budget,
    draw_items,
    read_state,
    state_of_features,
)
from realloc.world.support import TrueRegion, open_region

CARD_FORMAT = 1
FIRST_DAY = date(2025, 1, 1)


class World:
    """A world of one seed; only the logging policy depends on the regime as well.

    >>> world = World(regime="hard", seed=1)
    >>> world.sample(units=3, periods=2, seed=0)
    Logs(6 rows, 3 units, 3 channels, 18 features)
    """

    def __init__(
        self,
        regime: str | Regime = "hard",
        seed: int = 1,
        channels: int = 3,
        parameters: WorldParameters | None = None,
    ) -> None:
        if channels < 2:
            raise ConfigError(
                f"Expected at least 2 channels to move budget between, got {channels}."
            )
        self.regime = find_regime(regime)
        self.seed = seed
        self.channels = channels
        self.parameters = parameters or WorldParameters()
        weights = draw_weights(seed, channels, self.parameters)
        self.policy = LoggingPolicy(self.regime, weights, self.parameters)

    def __repr__(self) -> str:
        return f"World(regime={self.regime.name!r}, seed={self.seed}, channels={self.channels})"

    def sample(
        self,
        units: int,
        periods: int = 10,
        seed: int = 0,
        first_day: date | str = FIRST_DAY,
        window: int | None = None,
    ) -> Logs:
        """Logs of new items over consecutive days, other items for each `seed`.

        A `window` rotates the logging policy.
        """
        day = parse_day(first_day)
        request = SampleRequest(
            units=units, periods=periods, seed=seed, first_day=day, window=window
        )
        return draw_logs(self.seed, self.policy, self.response_weights, request)

    def state(self, logs: Logs | State, window: int | None = None) -> State:
        """The state of logs drawn from this world; say the window they were drawn in, if any."""
        return (
            logs if isinstance(logs, State) else read_state(logs, self.parameters, window)
        )

    def surface(self, state: Logs | State) -> TrueSurface:
        """The response as a function of the shares, for many allocations of the same contexts."""
        return open_surface(self.state(state), self.response_weights, self.parameters)

    def response(self, state: Logs | State, shares: Floats) -> Floats:
        """μ*(H, B, p) at shares (n, K) → (n,), or (n, m, K) → (n, m)."""
        return self.surface(state).value(shares)

    def gradient(self, state: Logs | State, shares: Floats) -> Floats:
        """∇_p μ* projected onto the tangent space, of the shape of `shares`."""
        return self.surface(state).gradient(shares)

    def log_density(self, state: Logs | State, shares: Floats) -> Floats:
        """Log density of the logging mixture in log-ratio coordinates."""
        return self.policy.law(self.state(state)).log_density(shares)

    def region(self, state: Logs | State) -> TrueRegion:
        """The true support region of each context."""
        return open_region(
            self.policy.law(self.state(state)), self.parameters.support_level
        )

    def supported(self, state: Logs | State, start: Floats, end: Floats) -> Mask:
        """Whether the straight path from `start` to `end`, both (n, K), stays in true support."""
        region = self.region(state)
        return region.path_inside(start, end[:, None, :], self.parameters.path_intervals)[
            :, 0
        ]

    @cached_property
    def response_weights(self) -> ResponseWeights:
        """The response's coefficients, scaled on a calibration sample; none knows the regime."""
        weights = draw_response(self.seed, self.policy.weights, self.parameters)
        state, shares = calibration_sample(self.seed, self.policy, self.parameters)
        return calibrate_scales(open_surface(state, weights, self.parameters), shares)

    def card(self) -> dict[str, Any]:
        """Everything that rebuilds this world, as JSON values."""
        return {
            "world": "paper",
            "format": CARD_FORMAT,
            "regime": asdict(self.regime),
            "seed": self.seed,
            "channels": self.channels,
            "parameters": self.parameters.to_dict(),
            "parameters_hash": parameters_hash(self.parameters),
        }

    @classmethod
    def from_card(cls, card: Mapping[str, Any]) -> "World":
        """The world a card describes, bit for bit."""
        if card.get("world") != "paper" or card.get("format") != CARD_FORMAT:
            got = f"{card.get('world')!r} {card.get('format')!r}"
            raise ConfigError(
                f"Expected the card of a 'paper' world, format {CARD_FORMAT}, got {got}."
            )
        regime = from_table(Regime, card["regime"], "the card's regime")
        parameters = WorldParameters.from_dict(card["parameters"])
        if parameters_hash(parameters) != card["parameters_hash"]:
            raise ConfigError(
                "Expected the card's parameters to match its own hash, but they were changed."
            )
        return cls(
            regime=regime,
            seed=card["seed"],
            channels=card["channels"],
            parameters=parameters,
        )


def calibration_sample(
    seed: int, policy: LoggingPolicy, parameters: WorldParameters
) -> tuple[State, Floats]:
    """Contexts of their own with logged actions of the four paper regimes in turn.

    They are the same in every regime.
    """
    n = parameters.calibration_rows
    key = (seed, "calibration")
    normal_shocks = stream(*key, "shock").standard_normal((3 * parameters.block_size, n))
    shocks = parameters.shock_scale * normal_shocks
    H = (draw_items(key, n, parameters) + shocks).astype(np.float32)
    budget = draw_budget(stream(*key, "budget"), H, policy.weights.a_B, parameters)
    state = state_of_features(H, budget)
    normals = stream(*key, "allocation").standard_normal((policy.channels - 1, n))
    uniforms = stream(*key).random(n)
    shares = np.empty((n, policy.channels), order="F")
    for turn, regime in enumerate(REGIMES.values()):
        law = LoggingPolicy(regime, policy.weights, parameters).law(state)
        rows = slice(turn, None, len(REGIMES))
        shares[rows] = law.sample(normals, uniforms)[rows]
    return state, shares
