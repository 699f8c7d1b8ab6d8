"""Score recommendations and learned fields with the truth."""

import numpy as np

from realloc.base.errors import LogError
from realloc.base.simplex import Floats, total_variation
from realloc.evaluate import oracle as metrics
from realloc.evaluate.result import EstimateTable
from realloc.logs import Logs
from realloc.world.oracle import search_local
from realloc.world.world import World

UNMOVED = 1e-12  # moved shares below it are float error


def score_shares(
    world: World, logs: Logs, shares: Floats, window: int | None = None
) -> EstimateTable:
    """All decision metrics of recommended `shares` (n, K) for `logs` of `world` (in `window`)."""
    start = np.array(logs.shares)
    state = world.state(logs, window)
    if shares.shape != start.shape:
        raise LogError(
            f"Expected shares of shape {start.shape}, one row per row of the logs, "
            f"got {shares.shape}."
        )
    surface = world.surface(state)
    units = logs.unit_codes
    moved = total_variation(start, shares) > UNMOVED
    gain = np.where(moved, surface.value(shares) - surface.value(start), 0.0)
    supported = ~moved | world.supported(state, start, shares)
    best = surface.value(search_local(world, state, start).shares) - surface.value(start)
    region = world.region(state)
    strangeness = region.nonconformity(start, shares, world.parameters.path_intervals)
    return EstimateTable(
        (
            metrics.raw_uplift(gain, units),
            metrics.deployable_uplift(gain, supported, units),
            metrics.oos_rate(supported, units),
            metrics.oos_gain(gain, supported, units),
            metrics.safe_local_recovery(gain, supported, best, units),
            metrics.harm_rate(gain, moved, units),
            metrics.mean_movement(start, shares, units),
            metrics.path_nonconformity(strangeness),
        )
    )


def score_field(
    world: World, logs: Logs, field: Floats, window: int | None = None
) -> EstimateTable:
    """All ranking metrics of a learned `field` (n, K) at the logged shares."""
    truth = world.gradient(world.state(logs, window), np.array(logs.shares))
    if field.shape != truth.shape:
        raise LogError(
            f"Expected a field of shape {truth.shape}, one row per row of the logs, "
            f"got {field.shape}."
        )
    learned = metrics.edge_scores(field)
    oracle = metrics.edge_scores(truth)
    units = logs.unit_codes
    return EstimateTable(
        (
            metrics.pairwise_corr(learned, oracle),
            metrics.top_edge_acc(learned, oracle, units),
            metrics.top_edge_regret(learned, oracle, units),
            metrics.edge_ndcg(learned, oracle, units),
        )
    )
