"""From prices to a whole choice: an integer program over the units that prices leave undecided.

At the best prices all but a few units have an option that is better than all others by far. These
units take it; the integer program (HiGHS) chooses for the rest, in what room is left.
"""

import numpy as np

from realloc.base.simplex import Floats, Integers
from realloc.decide.portfolio.knapsack import Knapsack

# Uses become whole multiples of 1 / STEPS up to 1: the solver's tolerance of 1e-6 is less than one.
STEPS = 1e5
# Presolve would make HiGHS print a line to stdout now and then, and saves no time here.
OPTIONS = {"mip_rel_gap": 1e-6, "presolve": False}


def solve_core(problem: Knapsack, prices: Floats, size: int, nodes: int) -> Integers | None:
    """How many units of each group take each option, (G, J); None if no choice was found.

    `size` groups are decided by the integer program: those whose best option leads by least.
    """
    score = problem.score(prices)
    best = score.argmax(axis=1)
    counts = np.zeros(score.shape, dtype=np.int64)
    counts[np.arange(len(best)), best] = problem.count
    ranked = np.sort(score, axis=1)
    lead = ranked[:, -1] - ranked[:, -2] if score.shape[1] > 1 else np.zeros(len(best))
    core = np.sort(np.argsort(lead, kind="stable")[:size])
    counts[core] = 0
    room = problem.room - np.einsum("gj,gjr->r", counts, problem.excess)
    chosen = _solve_exactly(problem, core, room, nodes)
    if chosen is None:
        return None
    counts[core] = chosen
    used = np.einsum("gj,gjr->r", counts, problem.excess)
    return counts if (used <= problem.room).all() else None


def _solve_exactly(
    problem: Knapsack, core: Integers, room: Integers, nodes: int
) -> Integers | None:
    """Branch and bound; a limit of nodes rather than of time keeps it reproducible."""
    from scipy.optimize import Bounds, milp
    from scipy.sparse import csr_array

    group, option = np.nonzero(np.isfinite(problem.gain[core]))
    use = problem.excess[core[group], option].T  # (R, m)
    unit = np.maximum(use.max(axis=1, initial=0) / STEPS, 1.0)  # (R,) minor units per step
    one_each = csr_array((np.ones(len(group)), (group, np.arange(len(group)))))
    count = problem.count[core]
    result = milp(
        -problem.gain[core[group], option] / problem.gain_scale,
        integrality=np.ones(len(group)),
        bounds=Bounds(0, np.inf),
        constraints=[
            (np.ceil(use / unit[:, None]) / STEPS, -np.inf, np.floor(room / unit) / STEPS),
            (one_each, count, count),
        ],
        options=OPTIONS | {"node_limit": nodes},
    )
    if result.x is None:
        return None
    chosen = np.zeros((len(core), problem.gain.shape[1]), dtype=np.int64)
    chosen[group, option] = np.rint(result.x)
    return chosen
