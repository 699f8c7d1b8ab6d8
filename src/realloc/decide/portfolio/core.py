"""From prices to a whole choice: an integer program over the units that prices leave undecided.

At good prices all but a few units have an option that is better than all others by far, and take
it. The integer program (HiGHS) chooses for the rest, in what room is left.
"""

import numpy as np

from realloc.base.simplex import Floats, Integers
from realloc.decide.portfolio.knapsack import Knapsack

LARGEST_COEFFICIENT = 0.01
# Presolve saves no time here, and makes HiGHS print a line to stdout now and then.
OPTIONS = {"mip_rel_gap": 1e-6, "presolve": False}
TRIES = 5


def solve_core(problem: Knapsack, prices: Floats, size: int, nodes: int) -> Integers | None:
    """How many units of each group take each option, (G, J); None if no choice was found.

    The integer program decides on `size` groups: those whose best option leads by least. It keeps
    limits only within the solver's tolerance; what it exceeds them by is taken off its room.
    """
    score = problem.score(prices)
    best = score.argmax(axis=1)
    counts = np.zeros(score.shape, dtype=np.int64)
    counts[np.arange(len(best)), best] = problem.count
    ranked = np.sort(score, axis=1)
    lead = ranked[:, -1] - ranked[:, -2] if score.shape[1] > 1 else np.zeros(len(best))
    core = np.sort(np.argsort(lead, kind="stable")[:size])
    counts[core] = 0
    room = problem.room - problem.used(counts)
    for _ in range(TRIES):
        chosen = _solve_exactly(problem, core, room, nodes)
        if chosen is None:
            return None
        counts[core] = chosen
        excess = problem.used(counts) - problem.room
        if (excess <= 0).all():
            return counts
        room = room - np.maximum(excess, 0)
    return None


def _solve_exactly(
    problem: Knapsack, core: Integers, room: Integers, nodes: int
) -> Integers | None:
    """Branch and bound; a limit of nodes rather than of time keeps it reproducible."""
    from scipy.optimize import Bounds, milp
    from scipy.sparse import csr_array

    group, option = np.nonzero(np.isfinite(problem.gain[core]))
    use = problem.excess[core[group], option].T  # (R, m)
    scale = LARGEST_COEFFICIENT / np.maximum(use.max(axis=1, initial=0), 1.0)
    membership = csr_array((np.ones(len(group)), (group, np.arange(len(group)))))
    count = problem.count[core]
    result = milp(
        -problem.gain[core[group], option] / problem.gain_scale,
        integrality=np.ones(len(group)),
        bounds=Bounds(0, np.inf),
        constraints=[
            (use * scale[:, None], -np.inf, room * scale),
            (membership, count, count),
        ],
        options=OPTIONS | {"node_limit": nodes},
    )
    if result.x is None:
        return None
    chosen = np.zeros((len(core), problem.gain.shape[1]), dtype=np.int64)
    chosen[group, option] = np.rint(result.x)
    return chosen
