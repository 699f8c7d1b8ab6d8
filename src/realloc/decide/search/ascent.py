"""Search for the best end rather than the next best step: projected pattern ascent.

A row can reach every end whose straight way from its shares is allowed and no longer than L_max.
The search holds an end, tries transfers of every size in every direction from it, pulls those that
are too far back onto the ball of radius L_max around the start, and takes the best allowed one
until none is better. With many channels only the transfers along which the field rises most are
tried.
"""

from collections.abc import Callable

import numpy as np

from realloc.base.simplex import Floats, Integers, edges
from realloc.decide.search.greedy import Rows, SearchConfig, SupportFunction, Trace
from realloc.decide.search.lazy_argmax import Rule, best_allowed

# (rows of the batch, starts (a, K), ends (a, C, K)) → score of ending there, against staying (a, C)
Objective = Callable[[Rows, Floats, Floats], Floats]
# (rows of the batch, held shares (a, K)) → the objective's slope (a, K) of channels that get more
# (−inf: may not) and of channels that give (inf: may not)
Slopes = Callable[[Rows, Floats], tuple[Floats, Floats]]

# improvements below it, as a part of the best score so far, are float error
LEAST_RISE = 1e-9
FINER = (0.5, 0.25)  # of the smallest step, so that an end can come close to a border
# Parts of the way to a candidate: along a curved border the next end is often a little back.
ASIDE = (1.0, 0.95)


def search_ascent(
    start: Floats,
    objective: Objective,
    allowed: SupportFunction,
    config: SearchConfig,
    slopes: Slopes | None = None,
    possible: SupportFunction | None = None,
) -> Trace:
    """The best end found for every row of `start` (n, K); the trace has the ends held on the way.

    `possible` is a cheaper rule that forbids nothing that `allowed` allows.
    """
    n = len(start)
    ladder = sizes(config)
    points = np.repeat(start[:, None, :], config.max_turns + 1, axis=1)
    held = np.zeros(n)
    taken = np.zeros(n, np.int64)
    active = np.arange(n)
    all_tried = len(edges(start.shape[1])) <= config.most_edges
    for turn in range(config.max_turns):
        held_at = points[active, turn]
        steep = None if slopes is None or all_tried else slopes(active, held_at)
        pairs = choose_edges(held_at, steep, config.most_edges)
        ends = candidates(start[active], held_at, pairs, ladder, config.max_length)
        score = objective(active, start[active], ends)
        least = held[active] + LEAST_RISE * (1 + np.abs(held[active]))
        score = np.where(score > least[:, None], score, -np.inf)

        def about(
            rule: SupportFunction, active: Rows = active, ends: Floats = ends
        ) -> Rule:
            return lambda rows, columns: rule(
                active[rows], start[active[rows]], ends[rows[:, None], columns]
            )

        best = best_allowed(
            score, about(allowed), None if possible is None else about(possible)
        )
        going = np.flatnonzero(best >= 0)
        if not len(going):
            break
        active = active[going]
        points[active, turn + 1 :] = ends[going, best[going]][:, None]
        held[active] = score[going, best[going]]
        taken[active] += 1
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
    return np.array(
        sorted({*config.steps, *(part * smallest for part in FINER)}, reverse=True)
    )


def choose_edges(held: Floats, slopes: tuple[Floats, Floats] | None, most: int) -> Integers:
    """Transfers k → l to try from `held` (a, K): all, or each row's `most` steepest: (a, E, 2)."""
    everything = edges(held.shape[1])
    if slopes is None or len(everything) <= most:
        return np.broadcast_to(everything, (len(held), *everything.shape))
    getting, giving = slopes
    rise = getting[:, everything[:, 1]] - giving[:, everything[:, 0]]
    rise = np.where(held[:, everything[:, 0]] > 0, rise, -np.inf)
    # of equals the first, and in their order: no answer hangs on how a sort is done
    steepest = np.argsort(-rise, axis=1, kind="stable")[:, :most]
    return everything[np.sort(steepest, axis=1)]


def candidates(
    start: Floats, held: Floats, pairs: Integers, ladder: Floats, max_length: float
) -> Floats:
    """Ends one transfer away from `held` (a, K), within the ball around `start`: (a, C, K)."""
    a, K = held.shape
    source_holds = np.take_along_axis(held, pairs[..., 0], axis=1)
    step = np.minimum(ladder[:, None], source_holds[:, None])  # (a, S, E)
    channel = np.arange(K)[:, None, None]
    changes = (pairs[..., 1] == channel) * 1.0 - (pairs[..., 0] == channel)
    ends = step * changes[:, :, None]  # (K, a, S, E): channels first is along memory
    ends += held.T[..., None, None]
    home = start.T[..., None]
    off = np.maximum(ends, 0.0, out=ends).reshape(K, a, len(ladder) * pairs.shape[1])
    off -= home
    length = np.sqrt(np.square(off).sum(axis=0))
    pulled = np.minimum(max_length / np.maximum(length, 1e-300), 1.0)
    reached = np.concatenate([off * (part * pulled) for part in ASIDE], axis=2)
    reached += home
    return np.moveaxis(reached, 0, -1)
