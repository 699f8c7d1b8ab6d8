"""The first steps from every row's shares: the best one, and which rules stand in its way."""

from dataclasses import dataclass

import numpy as np

from realloc.base.simplex import Floats, edges, total_variation
from realloc.decide.config import DecisionConfig
from realloc.decide.conservative import (
    Mask,
    Rows,
    conservative_gain,
    guarded,
    weigh_gains,
    weigh_slopes,
)
from realloc.decide.problem import UNMOVED, Problem, search_settings
from realloc.decide.search.ascent import candidates, choose_edges
from realloc.decide.search.lazy_argmax import best_allowed


@dataclass(frozen=True, eq=False)
class FirstSteps:
    """For n rows: where the best first step ends, and what holds for it and for all first steps."""

    end: Floats  # (n, K)
    some_gain: Mask  # some step has a gain above 0
    some_good: Mask  # some step has a conservative gain above the threshold
    some_free: Mask  # some such step is allowed by every rule
    possible: Mask  # the limits allow the best one
    supported: Mask  # the support allows the best one
    safe: Mask  # the guardrails allow the best one
    start_supported: Mask
    exists: Mask  # there is a best one


def try_first_steps(
    problem: Problem, local: Problem, base: Floats, config: DecisionConfig
) -> FirstSteps:
    """Try every first step from `base` (n, K); `realloc_first_steps` of compiled.c does the same.

    The best step is the best that nothing forbids; else the best that one rule alone forbids, so
    that this rule can be named; else the best of all.
    """
    rows = np.arange(len(base))
    settings = search_settings(problem, config)
    few = len(edges(base.shape[1])) <= settings.most_edges
    field = None if few else weigh_slopes(problem.outcomes, rows, base)
    # Steps that a rule forbids are tried, too, so that the rule can be named.
    pairs = choose_edges(
        base, None if field is None else (field, field), settings.most_edges
    )
    ends = candidates(base, base, pairs, np.array(settings.steps), settings.max_length)
    gain, sigma = weigh_gains(local.outcomes, rows, base, ends)
    omega = problem.support.omega(rows, ends) if config.lambda_support else None
    empty_source = total_variation(ends, base[:, None]) <= UNMOVED
    gain = np.where(empty_source, -np.inf, gain)
    score = conservative_gain(gain, sigma, omega, config)
    possible = problem.limits.allows(rows, base, ends)
    safe = guarded(problem.outcomes, problem.radius, rows, problem.start, ends)
    good = score > config.threshold
    unblocked = np.where(good & possible & safe, score, -np.inf)
    supported = _supported_steps(problem, base, ends, unblocked)
    free = good & supported & possible & safe
    blocked_once = good & (supported.astype(int) + possible + safe == 2)
    best = score.argmax(axis=1)
    for kind in (blocked_once, free):
        best = np.where(
            kind.any(axis=1), np.where(kind, score, -np.inf).argmax(axis=1), best
        )
    return FirstSteps(
        end=ends[rows, best],
        some_gain=np.asarray((gain > 0).any(axis=1)),
        some_good=np.asarray(good.any(axis=1)),
        some_free=np.asarray(free.any(axis=1)),
        possible=possible[rows, best],
        supported=supported[rows, best],
        safe=safe[rows, best],
        start_supported=problem.support.allowed(rows, base, base[:, None])[:, 0],
        exists=np.isfinite(gain[rows, best]),
    )


def _supported_steps(
    problem: Problem, base: Floats, ends: Floats, unblocked: Floats
) -> Mask:
    """Which first steps (n, C) are supported.

    If a supported step is blocked by nothing else, only the best such step is marked: the support
    is dear to ask, and no other step matters then.
    """

    def allowed(rows: Rows, columns: Rows) -> Mask:
        return problem.support.allowed(rows, base[rows], ends[rows[:, None], columns])

    best = best_allowed(unblocked, allowed)
    supported = np.zeros(ends.shape[:2], dtype=bool)
    free = np.flatnonzero(best >= 0)
    supported[free, best[free]] = True
    rest = np.flatnonzero(best < 0)
    supported[rest] = problem.support.allowed(rest, base[rest], ends[rest])
    return supported
