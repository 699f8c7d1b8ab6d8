"""Logged actions of the paper's world, and of policies made up for a test, with supports fitted
once per process.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np

from realloc import Config, World
from realloc.learn.features.encode import fit_encoder
from realloc.learn.support.config import SupportConfig
from realloc.learn.support.logged import Logged, remember_logged
from realloc.learn.support.support import Support, fit_support
from realloc.world.logging_policy import Law
from tests.geometry import from_log_ratio

QUIET = SupportConfig()


@dataclass(frozen=True)
class Drawn:
    """A support learned from one draw of a world, and another draw with its true law."""

    support: Support
    x: np.ndarray
    shares: np.ndarray
    law: Law

    def __len__(self):
        return len(self.x)

    @property
    def rows(self):
        return np.arange(len(self))


@cache
def drawn(regime: str, config: SupportConfig = QUIET, units: int = 700) -> Drawn:
    """Five periods of as many units to learn from as to judge by."""
    world = World(regime, seed=1)
    logs, fresh = (world.sample(units=units, periods=5, seed=seed) for seed in (0, 1))
    encoder = fit_encoder(logs, Config().features)
    logged = remember_logged(None, logs, encoder.encode(logs).values, 0, 50_000, 0)
    support = fit_support(logged, config, 0)
    return Drawn(
        support,
        encoder.encode(fresh).values,
        np.array(fresh.shares),
        world.policy.law(world.state(fresh)),
    )


def logged_of(x, shares, per_unit: int = 4) -> Logged:
    """Made-up actions: units of a few days each."""
    n = len(shares)
    number = np.arange(n)
    return Logged(
        x=np.asarray(x, dtype=np.float32),
        shares=np.asarray(shares, dtype=np.float64),
        unit=np.array([f"u{i // per_unit}" for i in number]),
        time=np.datetime64("2025-01-01", "us")
        + (number % per_unit).astype("timedelta64[D]"),
        window=np.zeros(n, dtype=np.int64),
        rank=np.random.default_rng(0).random(n),
    )


def bent(n: int, seed: int, noise: float = 0.3):
    """A policy that no additive model follows: the centre is a product of two features. States,
    shares, true centre.
    """
    random = np.random.default_rng(seed)
    x = random.normal(size=(n, 4)).astype(np.float32)
    centre = np.stack([x[:, 0] * x[:, 1], np.sign(x[:, 0]) * x[:, 2]], axis=1).astype(
        np.float64
    )
    return x, from_log_ratio(centre + noise * random.standard_normal((n, 2))), centre


@cache
def bent_support() -> Support:
    x, shares, _ = bent(3000, seed=0)
    return fit_support(logged_of(x, shares), SupportConfig(), 0)


def with_zeros(n: int = 600, seed: int = 0):
    """Four channels, of which the last and the first but one are never used together, and the
    last never alone.
    """
    random = np.random.default_rng(seed)
    x = random.normal(size=(n, 3)).astype(np.float32)
    amounts = random.gamma(4.0, size=(n, 4)) * np.exp(
        0.3 * x[:, :1] * np.array([1, -1, 0, 0])
    )
    third = random.random(n) < 0.5
    amounts[third, 3], amounts[~third, 2] = 0.0, 0.0
    amounts[random.random(n) < 0.2, 1] = 0.0
    return x, amounts / amounts.sum(axis=1, keepdims=True)


@cache
def zero_support(coordinates: str = "sphere") -> Support:
    config = SupportConfig(coordinates=coordinates)
    return fit_support(logged_of(*with_zeros()), config, 0)


def binomial_room(level: float, n: int, calibrated: int) -> float:
    """Four standard errors of a coverage seen on n fresh rows after calibration on others,
    twice for rows of one unit.
    """
    return 4 * np.sqrt(level * (1 - level) * (1 / n + 1 / calibrated))
