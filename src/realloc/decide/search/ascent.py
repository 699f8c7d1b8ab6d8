"""Search for the best end rather than for the next best step: projected pattern ascent over the reachable set.

The reachable set of a row is every place whose straight way from the row's shares is allowed and no longer than L_max. The
search holds an end, tries transfers of every size in every direction from it, pulls what is too far back onto the ball of
radius L_max around the start, and takes the best allowed candidate until none is better. Where channels are many, only the
transfers along which the field rises most are tried.
"""

from collections.abc import Callable

import numpy as np

from realloc.base.simplex import Floats, Integers, edges
from realloc.decide.search.greedy import Rows, SearchConfig, SupportFunction, Trace
from realloc.decide.search.lazy_argmax import Rule, best_allowed

# (rows of the batch, starts (a, K), ends (a, C, K)) → worth of ending there instead of staying (a, C)
Objective = Callable[[Rows, Floats, Floats], Floats]
# (rows of the batch, held shares (a, K)) → the objective's slope per channel (a, K), as one that gets more (−inf: it may not)
# and as one that gives (inf: it may not)
Slopes = Callable[[Rows, Floats], tuple[Floats, Floats]]

LEAST_RISE = 1e-9  # improvements below it, as a part of the best worth so far, are float error
FINER = (0.5, 0.25)  # of the smallest step, so that an end can come close to a border
ASIDE = (
    1.0,
    0.95,
)  # parts of the way to a candidate: along a curved border the next place is often a little back


def search_ascent(
    start: Floats,
    objective: Objective,
    allowed: SupportFunction,
    config: SearchConfig,
    slopes: Slopes | None = None,
    possible: SupportFunction | None = None,
) -> Trace:
    """The best end found for every row of `start` (n, K); points of the trace are the ends held on the way there.

    `possible` is a cheaper rule that forbids nothing that `allowed` allows.
    """
    n = len(start)
    ladder = sizes(config)
    points = np.repeat(start[:, None, :], config.max_turns + 1, axis=1)
    held, taken = np.zeros(n), np.zeros(n, np.int64)
    active = np.arange(n)
    steep = (
        slopes if len(edges(start.shape[1])) > config.most_edges else None
    )  # else all transfers are tried anyway
    for turn in range(config.max_turns):
        held_at = points[active, turn]
        pairs = choose_edges(
            held_at, None if steep is None else steep(active, held_at), config.most_edges
        )
        ends = candidates(start[active], held_at, pairs, ladder, config.max_length)
        worth = objective(active, start[active], ends)
        least = held[active] + LEAST_RISE * (1 + np.abs(held[active]))
        worth = np.where(worth > least[:, None], worth, -np.inf)

        def about(rule: SupportFunction, active: Rows = active, ends: Floats = ends) -> Rule:
            return lambda rows, columns: rule(
                active[rows], start[active[rows]], ends[rows[:, None], columns]
            )

        best = best_allowed(worth, about(allowed), None if possible is None else about(possible))
        top = worth[np.arange(len(active)), best]
        going = best >= 0
        active, best, top, ends = active[going], best[going], top[going], ends[going]
        if not len(active):
            break
        points[active, turn + 1 :] = ends[np.arange(len(active)), best][:, None]
        held[active], taken[active] = top, taken[active] + 1
    gone = held > config.threshold
    points[~gone] = start[~gone, None]
    end = points[:, -1]
    return Trace(
        points,
        np.where(gone, taken, 0),
        np.linalg.norm(end - start, axis=1),
        np.where(gone, held, 0.0),
    )


def sizes(config: SearchConfig) -> Floats:
    """Of transfers, the largest first."""
    smallest = min(config.steps)
    return np.array(sorted({*config.steps, *(part * smallest for part in FINER)}, reverse=True))


def choose_edges(held: Floats, slopes: tuple[Floats, Floats] | None, most: int) -> Integers:
    """Transfers k → l to try from `held` (a, K): all of them, or the `most` steepest of each row: (a, E, 2)."""
    everything = edges(held.shape[1])
    if slopes is None or len(everything) <= most:
        return np.broadcast_to(everything, (len(held), *everything.shape))
    getting, giving = slopes
    rise = getting[:, everything[:, 1]] - giving[:, everything[:, 0]]
    rise = np.where(held[:, everything[:, 0]] > 0, rise, -np.inf)
    return everything[np.argpartition(-rise, most, axis=1)[:, :most]]


def candidates(
    start: Floats, held: Floats, pairs: Integers, ladder: Floats, max_length: float
) -> Floats:
    """Ends one transfer away from `held` (a, K), on the simplex and in the ball around `start`: (a, C, K)."""
    a, K = held.shape
    step = np.minimum(
        ladder[:, None], np.take_along_axis(held, pairs[..., 0], axis=1)[:, None]
    )  # (a, S, E)
    changes = (pairs[..., 1] == np.arange(K)[:, None, None]) * 1.0 - (
        pairs[..., 0] == np.arange(K)[:, None, None]
    )
    ends = step * changes[:, :, None]  # (K, a, S, E): channels first is along memory
    ends += held.T[..., None, None]
    home = start.T[..., None]
    off = np.maximum(ends, 0.0, out=ends).reshape(K, a, len(ladder) * pairs.shape[1])
    off -= home
    length = np.sqrt(np.square(off).sum(axis=0))
    pulled = np.minimum(max_length / np.maximum(length, 1e-300), 1.0)
    found = np.concatenate([off * (part * pulled) for part in ASIDE], axis=2)
    found += home
    return np.moveaxis(found, 0, -1)
