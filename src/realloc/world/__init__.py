"""The synthetic world: the paper's environment with a known truth. No learner may import it."""

from realloc.world.regimes import REGIMES, Regime, WorldParameters, parameters_hash
from realloc.world.state import State
from realloc.world.world import World

__all__ = ["REGIMES", "Regime", "State", "World", "WorldParameters", "parameters_hash"]
