"""What other shares would bring to one row: gain, bound, support, and the rules they break."""

from dataclasses import dataclass

import numpy as np

from realloc.base.numbers import percent, signed
from realloc.base.simplex import Floats, total_variation
from realloc.decide.problem import UNMOVED, gain_and_sigma
from realloc.decide.search.greedy import SupportFunction
from realloc.logs import Logs
from realloc.model.realloc import ReAlloc
from realloc.model.recommend import Batch, open_batches

PLACES = 81  # of a channel's share that its supported range is found on
HERE = np.zeros(1, dtype=np.intp)


@dataclass(frozen=True, eq=False)
class WhatIf:
    """What shares would bring."""

    shares: Floats  # (K,)
    moved: float  # part of the budget
    gain: float
    lower: float
    support: float
    supported: bool
    allowed: bool  # by the constraints

    @property
    def tone(self) -> str:
        """Good, wait or bad."""
        if not self.supported or not self.allowed:
            return "bad"
        return "good" if self.lower > 0 else "wait"

    @property
    def headline(self) -> str:
        """The gain and its bound in one line."""
        if self.moved <= UNMOVED:
            return "These are today's shares."
        return f"Expected gain {signed(self.gain)}, at least {signed(self.lower)}"

    @property
    def detail(self) -> str:
        """What moves, and what speaks against it."""
        parts = [f"{percent(self.moved)} of the budget moves; support {self.support:.2f}."]
        if not self.supported:
            parts.append(
                "The logs hold no evidence along this way, so the gain is a guess."
            )
        if not self.allowed:
            parts.append("A constraint forbids these shares.")
        return " ".join(parts)


@dataclass(frozen=True, eq=False)
class AskedRow:
    """One row that a model has read, to be asked about any shares."""

    batch: Batch
    channels: tuple[str, ...]

    @classmethod
    def read(cls, model: ReAlloc, row: Logs) -> "AskedRow":
        """Let a model read a row."""
        opened = open_batches(model.fitted, row, model.config, model.config.constraints)
        return cls(next(opened), row.schema.channels)

    @property
    def now(self) -> Floats:
        """Its current shares (K,)."""
        return self.batch.problem.start[0]

    def ask(self, shares: Floats) -> WhatIf:
        """What these shares (K,) would bring."""
        problem = self.batch.problem
        start = problem.start[:1]
        end = shares[None]
        gain, sigma = gain_and_sigma(problem, HERE, start, end)
        allowed: SupportFunction = problem.limits.allows
        return WhatIf(
            shares=shares,
            moved=float(total_variation(start[0], shares)),
            gain=float(gain[0]),
            lower=float(gain[0] - problem.radius * sigma[0]),
            support=float(self.batch.support.score(HERE, start, end)[0]),
            supported=bool(problem.support.allowed(HERE, start, end[:, None])[0, 0]),
            allowed=bool(allowed(HERE, start, end[:, None])[0, 0]),
        )

    def ranges(self) -> list[tuple[float, float]]:
        """Of each channel the supported shares around its own; the others stay in proportion."""
        start = self.now
        places = np.linspace(0, 1, PLACES)
        found: list[tuple[float, float]] = []
        for k in range(len(start)):
            mixes = np.array([spread_rest(start, {k: float(share)}) for share in places])
            inside = self.batch.problem.support.inside(
                HERE, mixes[None], self.batch.problem.start[:1]
            )[0]
            found.append(_around(places, inside, float(start[k])))
        return found


def spread_rest(shares: Floats, fixed: dict[int, float]) -> Floats:
    """Shares (K,) with some channels set; the others hold what is left, in proportion.

    >>> spread_rest(np.array([0.5, 0.3, 0.2]), {0: 0.0}).tolist()
    [0.0, 0.6, 0.4]
    """
    mix = np.array(shares, dtype=np.float64)
    others = [k for k in range(len(mix)) if k not in fixed]
    for k, share in fixed.items():
        mix[k] = share
    left = max(0.0, 1 - sum(fixed.values()))
    held = mix[others].sum()
    mix[others] = mix[others] * left / held if held > 0 else left / max(len(others), 1)
    return mix


def as_constraints(channels: tuple[str, ...], shares: Floats) -> str:
    """Floors and caps that hold shares within half a point, as TOML."""
    lines = ["[constraints]"]
    for kind, sign in (("floors", -1), ("caps", 1)):
        bounds = [
            f"{_key(name)} = {float(np.clip(share + sign * 0.005, 0, 1)):.4f}"
            for name, share in zip(channels, shares, strict=True)
        ]
        lines.append(f"{kind} = {{ {', '.join(bounds)} }}")
    return "\n".join(lines)


def _key(name: str) -> str:
    """A name as a TOML key."""
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _around(places: Floats, inside: np.ndarray, here: float) -> tuple[float, float]:
    """The run of supported places that holds the current share; itself where there is none."""
    nearest = int(np.abs(places - here).argmin())
    if not inside[nearest]:
        return here, here
    low = high = nearest
    while low > 0 and inside[low - 1]:
        low -= 1
    while high < len(places) - 1 and inside[high + 1]:
        high += 1
    return float(places[low]), float(places[high])
