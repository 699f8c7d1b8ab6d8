"""Small logs, states and shares of a world, for the tests of this folder."""

import numpy as np

from realloc.base.simplex import Floats
from realloc.logs import Logs
from realloc.world import State, World

ALL_REGIMES = ("benign", "medium", "hard", "extreme")


def draw(
    world: World, units: int = 60, periods: int = 3, seed: int = 5
) -> tuple[Logs, State, Floats]:
    logs = world.sample(units=units, periods=periods, seed=seed)
    return logs, world.state(logs), np.array(logs.shares)
