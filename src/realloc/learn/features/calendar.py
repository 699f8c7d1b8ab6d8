"""The calendar: smooth cycles of the week and the year, used where the training log spans them."""

import numpy as np
from numpy.typing import NDArray

from realloc.learn.features.number import Block

DAYS = {"week": 7.0, "year": 365.2425}
FEWEST_CYCLES = 2  # a cycle seen once cannot be told from a trend


def fit(times: NDArray[np.datetime64]) -> tuple[str, ...]:
    """The cycles that the log spans at least twice, on more than one phase."""
    days = np.unique(times.astype("datetime64[D]").astype(np.int64))
    span = int(days[-1] - days[0]) + 1
    cycles: list[str] = []
    for name, length in DAYS.items():
        phases = np.unique(days % int(length))
        if span >= FEWEST_CYCLES * length and len(phases) > 1:
            cycles.append(name)
    return tuple(cycles)


def encode(times: NDArray[np.datetime64], cycle: str) -> Block:
    """Sine and cosine of the day's phase, (n, 2), of unit variance over a whole cycle."""
    days = times.astype("datetime64[D]").astype(np.float64)
    angle = 2 * np.pi * days / DAYS[cycle]
    values = np.sqrt(2.0) * np.stack([np.sin(angle), np.cos(angle)], axis=1)
    return Block(
        values.astype(np.float32), (f"sine of the {cycle}", f"cosine of the {cycle}")
    )
