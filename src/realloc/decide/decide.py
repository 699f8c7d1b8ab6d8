"""Stage III for a batch of rows: search, certify, and say why.

For a row that keeps its shares, the reason is the rule that stood in the way of the best
conservative gain, or that there was none.
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from realloc.base.simplex import Floats, total_variation
from realloc.decide.config import DecisionConfig
from realloc.decide.conservative import Mask, Rows, guarded
from realloc.decide.problem import (
    UNMOVED,
    Problem,
    allowed_by,
    approximate_locally,
    gain_and_sigma,
    score_ends,
    search_settings,
    steepness,
)
from realloc.decide.search.ascent import search_ascent
from realloc.decide.search.compiled import CompiledSearch, Explained, compile_search
from realloc.decide.search.first_steps import FirstSteps, try_first_steps
from realloc.decide.search.greedy import SLACK, search_greedy
from realloc.decide.types import (
    HIDDEN_CAUSE,
    LEADS_OUTSIDE,
    LOWER_BOUND,
    PENALTY,
    SMALL_MOVE,
    STARTS_OUTSIDE,
    THRESHOLD,
    TOO_LITTLE,
    WEAK,
    is_moved,
)

MIXES_AT_ONCE = 100_000  # repeated mixes times rows that are held at a time

Names = NDArray[np.str_]

# What a row's best first step may lack, in the order in which it is asked.
OBSTACLES = np.array(
    [
        "",
        "no_gain",
        "uncertain",
        "uncertain",
        "constrained",
        "unsupported",
        "guardrail",
        "unsupported",
    ]
)
GOOD = 2
POSSIBLE = 4
SUPPORTED = 5
SAFE = 6


@dataclass(frozen=True, eq=False)
class Decided:
    """The decisions on n rows."""

    shares: Floats
    gain: Floats
    sigma: Floats
    reason: Names
    binding: Names  # which constraint, guardrail or part of the support stood in the way
    best_end: Floats  # (n, K) where the most promising first step leads, allowed or not
    best_gain: Floats
    best_sigma: Floats
    search_path: str = "compiled"  # or "numpy: " and why the compiled search did not apply

    @property
    def moved(self) -> Mask:
        """Rows whose shares change."""
        return is_moved(self.reason)


def decide(problem: Problem, config: DecisionConfig) -> Decided:
    """Find the best end in reach of every row."""
    asked = config
    if problem.worth is not None:  # the threshold is in money, and asked at the end
        config = replace(config, threshold=0.0)
    base, conflict = problem.limits.repair()
    local = approximate_locally(problem, base, config)
    compiled = compile_search(problem, local, base, config)
    shares = search(problem, local, base, config, compiled)
    shares = np.where(problem.limits.useful(shares)[:, None], shares, base)
    if isinstance(compiled, CompiledSearch):
        explained = compiled.explain(shares)
        search_path = "compiled"
    else:
        explained = explain(problem, local, base, shares, config)
        search_path = f"numpy: {compiled}"
    decided = name_reasons(problem, base, shares, conflict, explained, config)
    decided = replace(decided, search_path=search_path)
    if problem.worth is not None:
        decided = _ask_worth(problem, base, decided, asked)
    if config.fallback:
        decided = _fall_back(problem, base, decided)
    return (
        _ask_robustness(problem, base, decided, config)
        if config.min_robustness
        else decided
    )


def search(
    problem: Problem,
    local: Problem,
    base: Floats,
    config: DecisionConfig,
    compiled: CompiledSearch | str,
) -> Floats:
    """Ends (n, K) that keep every rule.

    Ends are compared by the local approximation; one is taken only if `problem` itself agrees.
    """
    if not problem.significant:
        return problem.limits.settle(base)
    if isinstance(compiled, CompiledSearch):
        return problem.limits.settle(compiled.search())
    settings = search_settings(problem, config)
    allowed = allowed_by(problem)

    def objective(rows: Rows, start: Floats, ends: Floats) -> Floats:
        """From the row's base in the ascent; from the last step in the paper's greedy trace."""
        return score_ends(local, rows, start, ends, config)

    def end_allowed(rows: Rows, start: Floats, ends: Floats) -> Mask:
        """What limits and support say about ends alone: cheap, and mostly enough to forbid them."""
        possible = problem.limits.allows(rows, start, ends)
        return possible & problem.support.inside(rows, ends, start)

    if config.search == "greedy" or problem.limits.moves.grid is not None:
        shares = search_greedy(base, objective, allowed, settings).shares
    else:
        slopes = partial(steepness, problem)
        shares = search_ascent(
            base, objective, allowed, settings, slopes, end_allowed
        ).shares
    if local is not problem:
        score = score_ends(problem, np.arange(len(base)), base, shares[:, None], config)
        shares = np.where(score > settings.threshold, shares, base)
    if problem.repeated_mixes is not None:
        shares = try_mixes(problem, base, shares, problem.repeated_mixes, config)
    return problem.limits.settle(shares)


def try_mixes(
    problem: Problem, base: Floats, shares: Floats, mixes: Floats, config: DecisionConfig
) -> Floats:
    """Replace ends (n, K) by an allowed repeated mix where that is worth more.

    What repeats tell about a mix holds for that very mix, so no search around it can find it.
    """
    best_shares = shares.copy()
    allowed = allowed_by(problem)
    size = max(1, MIXES_AT_ONCE // len(mixes))
    for first in range(0, len(base), size):
        rows = np.arange(first, min(first + size, len(base)))
        start = base[rows]
        ends = np.repeat(mixes[None], len(rows), axis=0)
        length = np.linalg.norm(ends - start[:, None], axis=-1)
        possible = allowed(rows, start, ends) & (length <= config.max_length + SLACK)
        score = np.where(possible, score_ends(problem, rows, start, ends, config), -np.inf)
        best = score.argmax(axis=1)
        held = score_ends(problem, rows, start, shares[rows][:, None], config)[:, 0]
        moved = total_variation(shares[rows], start) > UNMOVED
        better = score[np.arange(len(rows)), best] > np.where(moved, held, config.threshold)
        best_shares[rows[better]] = mixes[best[better]]
    return best_shares


def explain(
    problem: Problem,
    local: Problem,
    base: Floats,
    shares: Floats,
    config: DecisionConfig,
) -> Explained:
    """Gains of the shares that were chosen and of the best first step."""
    rows = np.arange(len(base))
    first = try_first_steps(problem, local, base, config)
    gain, sigma = gain_and_sigma(problem, rows, problem.start, shares)
    best_gain, best_sigma = gain_and_sigma(problem, rows, base, first.end)
    return Explained(gain, sigma, first, best_gain, best_sigma)


def name_reasons(
    problem: Problem,
    base: Floats,
    shares: Floats,
    conflict: Names,
    explained: Explained,
    config: DecisionConfig,
) -> Decided:
    """For rows that stay, the rule that stood in the way."""
    first = explained.first
    moved = total_variation(shares, problem.start) > UNMOVED
    obstacle, binding = name_obstacle(problem, first, ~moved, config)
    at_base = (shares == base).all(axis=1)
    reason = np.where(moved, np.where(at_base, "required", "moved"), obstacle)
    too_small = ~moved & first.some_free & (problem.limits.smallest > 0)
    if too_small.any():
        too_small &= obstacle == "uncertain"
        reason = np.where(too_small, "constrained", reason)
        binding = np.where(too_small, SMALL_MOVE, binding)
    if not problem.significant:
        reason = np.where(moved, reason, "uncertain")
        binding = np.where(moved, binding, WEAK)
    return Decided(
        shares=shares,
        gain=np.where(moved, explained.gain, 0.0),
        sigma=np.where(moved, explained.sigma, 0.0),
        reason=np.where(conflict != "", "infeasible", reason),
        binding=np.where(conflict != "", conflict, binding),
        best_end=first.end,
        best_gain=np.where(first.exists, explained.best_gain, 0.0),
        best_sigma=np.where(first.exists, explained.best_sigma, 0.0),
    )


def name_obstacle(
    problem: Problem, first: FirstSteps, stays: Mask, config: DecisionConfig
) -> tuple[Names, Names]:
    """The reason why rows keep their shares, and what exactly is binding, (n,) each.

    Where a row does not stay, nothing is binding.
    """
    checks = (
        ~stays,
        ~first.some_gain,
        ~first.some_good,
        first.some_free,
        ~first.possible,
        ~first.supported,
        ~first.safe,
        np.ones(len(stays), dtype=bool),
    )
    obstacle = np.argmax(checks, axis=0)
    binding = np.full(len(stays), "", dtype=object)
    binding[obstacle == GOOD] = PENALTY if config.beta else THRESHOLD
    rows = np.flatnonzero(obstacle == POSSIBLE)
    if len(rows):
        binding[rows] = problem.limits.binding(rows, first.end[rows][:, None])[:, 0]
    rows = np.flatnonzero(obstacle == SUPPORTED)
    binding[rows] = np.where(first.start_supported[rows], LEADS_OUTSIDE, STARTS_OUTSIDE)
    rows = np.flatnonzero(obstacle == SAFE)
    for term in problem.outcomes if len(rows) else ():
        ends = first.end[rows][:, None]
        safe = guarded((term,), problem.radius, rows, problem.start[rows], ends)[:, 0]
        binding[rows[~safe & (binding[rows] == "")]] = f"guardrail {term.name}"
    return OBSTACLES[obstacle], binding.astype(str)


def _fall_back(problem: Problem, base: Floats, decided: Decided) -> Decided:
    """The paper's conditional improvement: keep the row unless its lower bound is at least 0."""
    back = (decided.reason == "moved") & (decided.gain - problem.radius * decided.sigma < 0)
    return _take_back(problem, base, decided, back, LOWER_BOUND)


def _ask_worth(
    problem: Problem, base: Floats, decided: Decided, config: DecisionConfig
) -> Decided:
    """Keep rows whose conservative gain is worth less than a move costs."""
    rows = np.arange(len(base))
    score = score_ends(problem, rows, problem.start, decided.shares[:, None], config)[:, 0]
    moved = decided.reason == "moved"
    little = moved & (problem.money(score, config.move_cost, moved) <= config.threshold)
    return _take_back(problem, base, decided, little, TOO_LITTLE, "no_gain")


def _ask_robustness(
    problem: Problem, base: Floats, decided: Decided, config: DecisionConfig
) -> Decided:
    """Keep rows whose gain a weak hidden cause could undo."""
    robustness = problem.robustness(decided.shares, decided.gain)
    weak = (decided.reason == "moved") & ~(robustness >= config.min_robustness)
    return _take_back(problem, base, decided, weak, HIDDEN_CAUSE)


def _take_back(
    problem: Problem,
    base: Floats,
    decided: Decided,
    back: Mask,
    binding: str,
    reason: str = "uncertain",
) -> Decided:
    """The decisions with some moves (n,) given up, except for what a constraint demands."""
    required = total_variation(base, problem.start) > UNMOVED
    gain, sigma = gain_and_sigma(problem, np.arange(len(base)), problem.start, base)
    return replace(
        decided,
        shares=np.where(back[:, None], base, decided.shares),
        gain=np.where(back, np.where(required, gain, 0.0), decided.gain),
        sigma=np.where(back, np.where(required, sigma, 0.0), decided.sigma),
        reason=np.where(back, np.where(required, "required", reason), decided.reason),
        binding=np.where(back, binding, decided.binding),
    )
