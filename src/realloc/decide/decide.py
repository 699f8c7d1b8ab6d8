"""Stage III for a batch of rows: search, certify, and say why.

Every rule a search obeys is one of three: support (does the log hold evidence), limits (does the business allow it) and
guardrails (does another outcome stay safe). For a row that keeps its shares the reason is the rule that stood in the way of
the best conservative gain, or that there was none.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from realloc.base.simplex import Floats, edges, total_variation
from realloc.decide.config import DecisionConfig
from realloc.decide.conservative import (
    Evidence,
    Mask,
    Rows,
    Stake,
    conservative_gain,
    guarded,
    weigh_gain,
    weigh_sigma,
    weigh_slopes,
)
from realloc.decide.constraints.limits import Limits
from realloc.decide.search.ascent import ASIDE, candidates, choose_edges, search_ascent, sizes
from realloc.decide.search.compiled import Compiled, Looked, compile_case
from realloc.decide.search.greedy import SLACK, SearchConfig, SupportFunction, search_greedy
from realloc.decide.search.lazy_argmax import first_allowed

UNMOVED = 1e-12  # shares that differ by less did not move
TRIED = 100_000  # logged mixes times rows that are held at a time

Names = NDArray[np.str_]


@dataclass(frozen=True, eq=False)
class Case:
    """n rows to decide on."""

    start: Floats  # (n, K) current shares
    evidence: Evidence
    limits: Limits
    stakes: tuple[Stake, ...]  # outcomes; those with a weight make the objective
    radius: float  # standard deviations between a gain and its lower bound
    evident: bool = True  # whether held-out units speak for the model at all; else nothing is moved
    mixes: Floats | None = (
        None  # (m, K) logged ones that repeat: ends to try beside those of the search
    )


@dataclass(frozen=True, eq=False)
class Verdict:
    """Answers for n rows."""

    shares: Floats
    gain: Floats
    sigma: Floats
    reason: Names
    binding: Names  # which constraint, guardrail or part of the support stood in the way
    best_end: Floats  # (n, K) where the most promising first step leads, allowed or not
    best_gain: Floats
    best_sigma: Floats

    @property
    def moved(self) -> Mask:
        """Rows whose shares change."""
        return np.isin(self.reason, ("moved", "required"))


def decide(case: Case, config: DecisionConfig) -> Verdict:
    """The best end in reach of every row."""
    base, problem = case.limits.repair()
    rough = roughly(case, base, config)
    compiled = compile_case(case, rough, base, config)
    shares = search(case, rough, base, config, compiled)
    shares = np.where(case.limits.useful(shares)[:, None], shares, base)
    looked = look_around(case, rough, base, config, compiled)
    found = explain_rest(case, base, shares, problem, looked, config)
    return _fall_back(case, base, found, config) if config.fallback else found


def search(
    case: Case, rough: Case, base: Floats, config: DecisionConfig, compiled: Compiled | None = None
) -> Floats:
    """Ends (n, K) that keep every rule. Places are compared in the rough case; an end is taken if the case itself says so."""
    if not case.evident:
        return case.limits.settle(base)
    settings = on_grid(config.searching(), case.limits)

    def conservative(rows: Rows, start: Floats, ends: Floats) -> Floats:
        """From the row's base in the ascent; from the last step in the paper's greedy trace."""
        return worth(rough, rows, start, ends, config)[0]

    allowed = allowed_by(case)
    if config.search == "greedy" or case.limits.moves.grid is not None:
        shares = search_greedy(base, conservative, allowed, settings).shares
    elif compiled is not None:
        shares = compiled.ascend(settings, sizes(settings), ASIDE)
    else:
        found = search_ascent(
            base, conservative, allowed, settings, partial(steepness, case), ends_allowed_by(case)
        )
        shares = found.shares
    if rough is not case:
        true = worth(case, np.arange(len(base)), base, shares[:, None], config)[0]
        shares = np.where(true > settings.threshold, shares, base)
    shares = shares if case.mixes is None else try_mixes(case, base, shares, case.mixes, config)
    return case.limits.settle(shares)


def roughly(case: Case, base: Floats, config: DecisionConfig) -> Case:
    """The case with cheaper gains to compare places near to `base` (n, K) by; itself where there are none."""
    stakes = tuple(stake.roughly(base, config.max_length) for stake in case.stakes)
    return case if stakes == case.stakes else replace(case, stakes=stakes)


def try_mixes(
    case: Case, base: Floats, shares: Floats, mixes: Floats, config: DecisionConfig
) -> Floats:
    """The ends `shares` (n, K), or where it is worth more an allowed logged mix: what is known of it no search can see."""
    found, allowed, settings = shares.copy(), allowed_by(case), config.searching()
    size = max(1, TRIED // len(mixes))
    for first in range(0, len(base), size):
        rows = np.arange(first, min(first + size, len(base)))
        start, ends = base[rows], np.repeat(mixes[None], len(rows), axis=0)
        length = np.linalg.norm(ends - start[:, None], axis=-1)
        possible = allowed(rows, start, ends) & (length <= settings.max_length + SLACK)
        score = np.where(possible, worth(case, rows, start, ends, config)[0], -np.inf)
        best = score.argmax(axis=1)
        held = worth(case, rows, start, shares[rows][:, None], config)[0][:, 0]
        held = np.where(total_variation(shares[rows], start) > UNMOVED, held, settings.threshold)
        better = score[np.arange(len(rows)), best] > held
        found[rows[better]] = mixes[best[better]]
    return found


def allowed_by(case: Case) -> SupportFunction:
    """All three rules as one."""

    def allowed(rows: Rows, start: Floats, ends: Floats) -> Mask:
        possible = case.limits.allows(rows, start, ends)
        some = possible.any(axis=1)
        possible[some] &= case.evidence.allowed(rows[some], start[some], ends[some])
        some = possible.any(axis=1)
        possible[some] &= guarded(
            case.stakes, case.radius, rows[some], case.start[rows[some]], ends[some]
        )
        return possible

    return allowed


def ends_allowed_by(case: Case) -> SupportFunction:
    """What the rules say about ends alone: little work, and mostly enough to forbid them."""
    return lambda rows, start, ends: (
        case.limits.allows(rows, start, ends) & case.evidence.inside(rows, ends)
    )


def steepness(case: Case, rows: Rows, held: Floats) -> tuple[Floats, Floats]:
    """The objective's field at shares (a, K): −inf for channels that may not get more, inf for those that may not give."""
    K, field = held.shape[1], weigh_slopes(case.stakes, rows, held)
    low, high = case.limits.bounds.low[rows, :K], case.limits.bounds.high[rows, :K]
    return np.where(high > held, field, -np.inf), np.where(low < held, field, np.inf)


def on_grid(settings: SearchConfig, limits: Limits) -> SearchConfig:
    """Steps that are whole multiples of the grid, where there is one."""
    grid = limits.moves.grid
    if grid is None:
        return settings
    most = max(1, int(np.floor(settings.max_length / np.sqrt(2) / grid + 1e-9)))
    return replace(settings, steps=tuple(grid * (part + 1) for part in range(most)))


def worth(
    case: Case, rows: Rows, start: Floats, ends: Floats, config: DecisionConfig
) -> tuple[Floats, Floats, Floats]:
    """Conservative gain, gain and σ̂ of ends (a, m, K)."""
    gain, sigma = (part(case.stakes, rows, start, ends) for part in (weigh_gain, weigh_sigma))
    omega = case.evidence.omega(rows, ends) if config.lambda_support else None
    return conservative_gain(gain, sigma, omega, config), gain, sigma


def explain_rest(
    case: Case,
    base: Floats,
    shares: Floats,
    problem: Names,
    looked: "Around",
    config: DecisionConfig,
) -> Verdict:
    """Gains of what was found, and for rows that stay the rule that stood in the way."""
    rows = np.arange(len(base))
    moved = total_variation(shares, case.start) > UNMOVED
    _, gain, sigma = (part[:, 0] for part in worth(case, rows, case.start, shares[:, None], config))
    reason = np.where(
        moved, np.where((shares == base).all(axis=1), "required", "moved"), looked.reason
    )
    reason = np.where(problem != "", "infeasible", reason)
    short = ~moved & (looked.reason == "uncertain") & (case.limits.smallest > 0) & looked.open
    reason = np.where(short, "constrained", reason)
    binding = np.where(
        problem != "",
        problem,
        np.where(moved, "", np.where(short, "smallest move", looked.binding)),
    )
    if not case.evident:
        kept = ~moved & (problem == "")
        reason, binding = np.where(kept, "uncertain", reason), np.where(kept, "evidence", binding)
    return Verdict(
        shares=shares,
        gain=np.where(moved, gain, 0.0),
        sigma=np.where(moved, sigma, 0.0),
        reason=reason,
        binding=binding,
        best_end=looked.end,
        best_gain=looked.gain,
        best_sigma=looked.sigma,
    )


@dataclass(frozen=True, eq=False)
class Around:
    """What first steps from every row promise, and what forbids the best one."""

    reason: Names
    binding: Names
    end: Floats  # (n, K)
    gain: Floats
    sigma: Floats
    open: Mask  # some first step is allowed and worth it


def look_around(
    case: Case, rough: Case, base: Floats, config: DecisionConfig, compiled: Compiled | None = None
) -> Around:
    """Try every first step and ask each rule about it; which promises most is the rough case's word, how much the case's."""
    n, settings = len(base), on_grid(config.searching(), case.limits)
    found = (
        first_steps(case, rough, base, config)
        if compiled is None
        else compiled.look(settings, ASIDE)
    )
    names, guard = (np.full(n, "", dtype=object) for _ in range(2))
    few = np.flatnonzero(~found.possible)
    names[few] = case.limits.binding(few, base[few], found.end[few][:, None])[:, 0]
    few = np.flatnonzero(~found.safe)
    guard[few] = name_guardrail(case, few, found.end[few][:, None])
    checks: list[tuple[Any, Any, Any]] = [
        (~found.gains, "no_gain", ""),
        (~found.good, "uncertain", "beta" if config.beta else "threshold"),
        (found.free, "uncertain", ""),
        (~found.possible, "constrained", names),
        (~found.supported, "unsupported", np.where(found.starts, "end", "start")),
        (~found.safe, "guardrail", guard),
    ]
    reason = np.select(
        [when for when, _, _ in checks], [np.full(n, what) for _, what, _ in checks], "unsupported"
    )
    binding = np.select(
        [when for when, _, _ in checks], [np.broadcast_to(name, n) for _, _, name in checks], ""
    )
    _, gain, sigma = (
        part[:, 0] for part in worth(case, np.arange(n), base, found.end[:, None], config)
    )
    return Around(
        reason=reason,
        binding=binding.astype(str),
        end=found.end,
        gain=np.where(found.shown, gain, 0.0),
        sigma=np.where(found.shown, sigma, 0.0),
        open=found.free,
    )


def first_steps(case: Case, rough: Case, base: Floats, config: DecisionConfig) -> Looked:
    """Every first step from `base` (n, K), and what the rules say; `compiled.c` does the same."""
    rows, settings = np.arange(len(base)), on_grid(config.searching(), case.limits)
    few = len(edges(base.shape[1])) <= settings.most_edges
    field = None if few else weigh_slopes(case.stakes, rows, base)
    # What a rule forbids is tried, too, so that the rule can be named.
    pairs = choose_edges(base, None if field is None else (field, field), settings.most_edges)
    ends = candidates(base, base, pairs, np.array(settings.steps), settings.max_length)
    score, gain, _ = worth(rough, rows, base, ends, config)
    still = total_variation(ends, base[:, None]) <= UNMOVED  # the source was empty
    score, gain = np.where(still, -np.inf, score), np.where(still, -np.inf, gain)
    possible = case.limits.allows(rows, base, ends)
    safe = guarded(case.stakes, case.radius, rows, case.start, ends)
    good = score > config.threshold
    supported = ask_support(case, base, ends, np.where(good & possible & safe, score, -np.inf))
    free = good & supported & possible & safe
    # The best step that nothing forbids; else the best that one rule alone forbids, so that this rule is named; else the best.
    alone = good & (supported.astype(int) + possible + safe == 2)
    best = score.argmax(axis=1)
    for kind in (alone, free):
        best = np.where(kind.any(axis=1), np.where(kind, score, -np.inf).argmax(axis=1), best)
    at = (rows, best)
    return Looked(
        end=ends[at],
        gains=np.asarray((gain > 0).any(axis=1)),
        good=np.asarray(good.any(axis=1)),
        free=np.asarray(free.any(axis=1)),
        possible=possible[at],
        supported=supported[at],
        starts=supported_start(case, base),
        shown=np.isfinite(gain[at]),
        safe=safe[at],
    )


def ask_support(case: Case, base: Floats, ends: Floats, score: Floats) -> Mask:
    """Which first steps (n, C) are supported: all of them, or where one is that nothing else forbids, the best of these."""

    def inside(rows: Rows, columns: Rows) -> Mask:
        return case.evidence.allowed(rows, base[rows], ends[rows[:, None], columns])

    best = first_allowed(score, inside)
    supported = np.zeros(ends.shape[:2], dtype=bool)
    free = np.flatnonzero(best >= 0)
    supported[free, best[free]] = True
    rest = np.flatnonzero(best < 0)
    supported[rest] = case.evidence.allowed(rest, base[rest], ends[rest])
    return supported


def name_guardrail(case: Case, rows: Rows, ends: Floats) -> Names:
    """The first guardrail that forbids ends (n, 1, K)."""
    found = np.full(len(rows), "", dtype=object)
    for stake in case.stakes:
        unsafe = ~guarded((stake,), case.radius, rows, case.start[rows], ends)[:, 0]
        found[unsafe & (found == "")] = f"guardrail {stake.name}"
    return found.astype(str)


def supported_start(case: Case, base: Floats) -> Mask:
    """Whether the rows' own shares are supported."""
    return case.evidence.allowed(np.arange(len(base)), base, base[:, None])[:, 0]


def _fall_back(case: Case, base: Floats, verdict: Verdict, config: DecisionConfig) -> Verdict:
    """The paper's conditional improvement: keep the row unless its lower bound is at least 0."""
    back = (verdict.reason == "moved") & (verdict.gain - case.radius * verdict.sigma < 0)
    required = total_variation(base, case.start) > UNMOVED
    _, gain, sigma = (
        part[:, 0] for part in worth(case, np.arange(len(base)), case.start, base[:, None], config)
    )
    return replace(
        verdict,
        shares=np.where(back[:, None], base, verdict.shares),
        gain=np.where(back, np.where(required, gain, 0.0), verdict.gain),
        sigma=np.where(back, np.where(required, sigma, 0.0), verdict.sigma),
        reason=np.where(back, np.where(required, "required", "uncertain"), verdict.reason),
        binding=np.where(back, "lower bound", verdict.binding),
    )
