"""Oracle policy: greedy search on the true response in the true support."""

from realloc.base.simplex import Floats, Rows
from realloc.decide.search.greedy import (
    GainFunction,
    SearchConfig,
    SupportFunction,
    Trace,
    search_greedy,
)
from realloc.logs import Logs
from realloc.world.regimes import WorldParameters
from realloc.world.response import TrueSurface
from realloc.world.state import State
from realloc.world.support import TrueRegion
from realloc.world.world import World


def search_config(parameters: WorldParameters) -> SearchConfig:
    """Candidate steps and movement budget of the world: what learned policies are given, too."""
    return SearchConfig(
        steps=parameters.steps,
        max_steps=parameters.max_steps,
        max_length=parameters.max_length,
    )


def true_gain(surface: TrueSurface) -> GainFunction:
    """Gains by the true response."""

    def gain(rows: Rows, shares: Floats, candidates: Floats) -> Floats:
        part = surface.take(rows)
        return part.value(candidates) - part.value(shares)[:, None]

    return gain


def true_support(region: TrueRegion, intervals: int) -> SupportFunction:
    """The path rule by the true region."""
    return lambda rows, start, ends: region.take(rows).path_inside(start, ends, intervals)


def search_local(
    world: World, state: Logs | State, start: Floats, config: SearchConfig | None = None
) -> Trace:
    """Oracle Local: greedy on the true response in the true support, from factual shares (n, K)."""
    gain = true_gain(world.surface(state))
    allowed = true_support(world.region(state), world.parameters.path_intervals)
    return search_greedy(start, gain, allowed, config or search_config(world.parameters))
