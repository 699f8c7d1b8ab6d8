"""A decision problem: rows, what they would gain, and the rules a decision has to keep.

There are three rules: support (do the logs hold evidence), limits (does the business allow it) and
guardrails (does another outcome stay safe).
"""

from dataclasses import dataclass, replace

import numpy as np

from realloc.base.simplex import Floats
from realloc.decide.config import DecisionConfig
from realloc.decide.conservative import (
    Mask,
    OutcomeTerm,
    Rows,
    SupportAt,
    conservative_gain,
    guarded,
    weigh_gains,
    weigh_slopes,
)
from realloc.decide.constraints.limits import Limits
from realloc.decide.robustness import offsets, robustness_of
from realloc.decide.search.greedy import SearchConfig, SupportFunction

UNMOVED = 1e-12  # shares that differ by less did not move


@dataclass(frozen=True, eq=False)
class Problem:
    """n rows to decide on."""

    start: Floats  # (n, K) current shares
    support: SupportAt
    limits: Limits
    outcomes: tuple[OutcomeTerm, ...]  # those with a weight make the objective
    radius: float  # standard deviations between a gain and its lower bound
    significant: bool = (
        True  # False: held-out units do not speak for the model; nothing moves
    )
    repeated_mixes: Floats | None = None  # (m, K) logged mixes to try besides the search
    worth: Floats | None = (
        None  # (n,) money per unit of the objective, where gains count in money
    )

    @property
    def common_error(self) -> float:
        """How far all gains of the objective may be off together, in parts of them."""
        return max(
            (term.common_error for term in self.outcomes if term.weight), default=0.0
        )

    def robustness(self, shares: Floats, gain: Floats) -> Floats:
        """How strong a hidden cause must be to undo the gains (n,) of moves to `shares` (n, K)."""
        rows = np.arange(len(shares))
        return robustness_of(gain, offsets(self.outcomes, rows, self.start, shares))

    def money(self, gain: Floats, cost: float, moved: Mask) -> Floats:
        """Gains (n, …) of the objective in money, less the cost of those that are `moved`."""
        worth = np.ones(len(gain)) if self.worth is None else self.worth
        return worth.reshape(-1, *(1 for _ in gain.shape[1:])) * gain - cost * moved


def approximate_locally(problem: Problem, base: Floats, config: DecisionConfig) -> Problem:
    """Return `problem` with cheap local approximations of its gains around `base` (n, K).

    Returns `problem` itself if none apply.
    """
    outcomes = list(problem.outcomes)
    for place, term in enumerate(outcomes):
        if not term.weight or term.local_gain is None:
            continue  # what is only watched is valued by the network itself
        gain = term.local_gain(base, config.max_length)
        if gain is not None:
            outcomes[place] = replace(term, gain=gain)
            problem = replace(problem, outcomes=tuple(outcomes))
    return problem


def score_ends(
    problem: Problem, rows: Rows, start: Floats, ends: Floats, config: DecisionConfig
) -> Floats:
    """Conservative gain of ends (a, m, K) from starts (a, K): (a, m)."""
    gain, sigma = weigh_gains(problem.outcomes, rows, start, ends)
    omega = problem.support.omega(rows, ends) if config.lambda_support else None
    return conservative_gain(gain, sigma, omega, config)


def gain_and_sigma(
    problem: Problem, rows: Rows, start: Floats, end: Floats
) -> tuple[Floats, Floats]:
    """Ĝ and σ̂ of one end (a, K) per row, the common error included, (a,) each."""
    gain = np.zeros(len(rows))
    sigma = np.zeros(len(rows))
    for term in problem.outcomes:
        if term.weight:
            own, error = term.gain_and_error(rows, start, end[:, None])
            gain += term.weight * own[:, 0]
            sigma += abs(term.weight) * error[:, 0]
    return gain, sigma


def allowed_by(problem: Problem) -> SupportFunction:
    """All three rules as one; each is asked only about rows in which something is left."""

    def allowed(rows: Rows, start: Floats, ends: Floats) -> Mask:
        possible = problem.limits.allows(rows, start, ends)
        some = possible.any(axis=1)
        possible[some] &= problem.support.allowed(rows[some], start[some], ends[some])
        some = possible.any(axis=1)
        home = problem.start[rows[some]]
        possible[some] &= guarded(
            problem.outcomes, problem.radius, rows[some], home, ends[some]
        )
        return possible

    return allowed


def steepness(problem: Problem, rows: Rows, shares: Floats) -> tuple[Floats, Floats]:
    """The objective's field at shares (a, K), as channels get more and as they give.

    It is −inf for channels that may not get more, and inf for those that may not give.
    """
    K = shares.shape[1]
    field = weigh_slopes(problem.outcomes, rows, shares)
    low = problem.limits.bounds.low[rows, :K]
    high = problem.limits.bounds.high[rows, :K]
    return np.where(high > shares, field, -np.inf), np.where(low < shares, field, np.inf)


def search_settings(problem: Problem, config: DecisionConfig) -> SearchConfig:
    """The search's settings; with a grid, steps are whole multiples of it."""
    settings = config.searching()
    grid = problem.limits.moves.grid
    if grid is None:
        return settings
    most = max(1, int(np.floor(settings.max_length / np.sqrt(2) / grid + 1e-9)))
    return replace(settings, steps=tuple(grid * (part + 1) for part in range(most)))
