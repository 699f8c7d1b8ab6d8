"""Decisions in C (`c/`), if it was compiled when the package was installed: those of numpy, up to
rounding, in a fraction of the time.

It covers what a fitted model asks for: zeros and sets of channels, several outcomes with weights
and guardrails, grids, λ_s, repeated mixes, either search, up to 64 channels. `compile_search` says
why it does not apply where it does not; `ascent.py`, `greedy.py` and `first_steps.py` are the same
searches in numpy.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from realloc.base.numerics.clib import Library, Table, Tables
from realloc.base.simplex import Floats
from realloc.decide.config import DecisionConfig
from realloc.decide.conservative import OutcomeTerm
from realloc.decide.gain_std import GainStd
from realloc.decide.problem import UNMOVED, Problem, search_settings
from realloc.decide.search.ascent import ASIDE, LEAST_RISE, sizes
from realloc.decide.search.first_steps import FirstSteps
from realloc.decide.search.gain_arrays import BeyondSurface
from realloc.decide.search.layouts import (
    array,
    limits_table,
    outcome_table,
    pairs_array,
    shares_array,
    support_table,
)
from realloc.decide.search.library import MOST_CHANNELS, MOST_INTERVALS, search_library
from realloc.decide.search.polynomials import Polynomials
from realloc.decide.search.support_region import HasRegion, SupportRegion

FLAGS = (
    "some_gain",
    "some_good",
    "some_free",
    "possible",
    "supported",
    "safe",
    "start_supported",
    "exists",
)


@dataclass(frozen=True, eq=False)
class Explained:
    """Ĝ and σ̂ of the shares that were chosen, and of the best first step (n,) each."""

    gain: Floats
    sigma: Floats
    first: FirstSteps
    best_gain: Floats
    best_sigma: Floats


@dataclass(frozen=True, eq=False)
class CompiledSearch:
    """A problem that the C code covers, ready to be searched."""

    library: Library
    problem: Problem
    base: Floats
    near: list[Polynomials | None]  # of every outcome
    region: SupportRegion
    config: DecisionConfig

    def search(self) -> Floats:
        """The ends that numpy's search takes, repeated mixes included: (n, K)."""
        shares = np.empty_like(self.base)
        self.library.call("realloc_search", self._table, shares)
        return shares

    def explain(self, shares: Floats) -> Explained:
        """What the chosen shares (n, K) gain, and the first steps of `try_first_steps`."""
        ends = np.empty_like(self.base)
        flags = np.zeros(len(self.base), np.uint8)
        numbers = np.empty((len(self.base), 4))
        self.library.call(
            "realloc_explain", self._table, array(shares), numbers, ends, flags
        )
        told = {name: (flags & (1 << bit)).astype(bool) for bit, name in enumerate(FLAGS)}
        gain, sigma, best_gain, best_sigma = numbers.T
        first = FirstSteps(end=ends, **told)
        return Explained(gain, sigma, first, best_gain, best_sigma)

    @cached_property
    def _table(self) -> Table:
        """`Problem` of c/problem.h."""
        problem = self.problem
        config = self.config
        settings = search_settings(problem, config)
        K = self.base.shape[1]
        pairs = pairs_array(K)
        is_greedy = config.search == "greedy" or problem.limits.moves.grid is not None
        ladder = array(settings.steps) if is_greedy else sizes(settings)
        first_ladder = array(settings.steps)
        mixes = shares_array(problem.repeated_mixes, K)
        terms = zip(problem.outcomes, self.near, strict=True)
        outcomes = Tables([outcome_table(term, near) for term, near in terms])
        return Table(
            channels=K,
            rows=len(self.base),
            outcomes=len(problem.outcomes),
            edges=len(pairs),
            most_edges=settings.most_edges,
            steps=len(ladder),
            first_sizes=len(first_ladder),
            parts=len(ASIDE),
            turns=settings.max_turns,
            greedy_steps=settings.max_steps,
            is_greedy=int(is_greedy),
            mixes=len(mixes),
            beta=float(config.beta),
            lambda_support=float(config.lambda_support),
            epsilon=float(config.epsilon),
            max_length=float(settings.max_length),
            threshold=float(settings.threshold),
            radius=float(problem.radius),
            least_rise=LEAST_RISE,
            unmoved=UNMOVED,
            pairs=pairs,
            ladder=array(ladder),
            first_ladder=first_ladder,
            nearer=array(ASIDE),
            mix=mixes,
            base=array(self.base),
            start=array(problem.start),
            outcome=outcomes,
            support=support_table(self.region),
            limits=limits_table(problem.limits),
        )


def compile_search(
    problem: Problem, local: Problem, base: Floats, config: DecisionConfig
) -> CompiledSearch | str:
    """Prepare the C search for `problem`, or say in a few words why it does not apply."""
    library = search_library()
    if library is None:
        return "the C search is not installed"
    region = problem.support.region() if isinstance(problem.support, HasRegion) else None
    if region is None:
        return "no support region in numbers"
    terms = problem.outcomes
    near = [_polynomials(term, base) for term in local.outcomes]
    obstacles = {
        f"more than {MOST_CHANNELS} channels": base.shape[1] > MOST_CHANNELS,
        "paths of many points": region.intervals > MOST_INTERVALS,
        "ω by the memory": config.lambda_support > 0 and region.moves is None,
        "no posterior covariance": not all(map(_has_covariance, terms)),
        "gains of another model": any(term.network is None for term in terms),
        "no local polynomial": any(
            found is None and term.weight for found, term in zip(near, terms, strict=True)
        ),
        "no outcome with a weight": not any(term.weight for term in terms),
    }
    for reason, applies in obstacles.items():
        if applies:
            return reason
    return CompiledSearch(library, problem, base, near, region, config)


def _has_covariance(term: OutcomeTerm) -> bool:
    sigma = term.sigma
    return isinstance(sigma.surface if isinstance(sigma, BeyondSurface) else sigma, GainStd)


def _polynomials(term: OutcomeTerm, base: Floats) -> Polynomials | None:
    gain = term.gain
    surface = gain.surface if isinstance(gain, BeyondSurface) else gain
    if not isinstance(surface, Polynomials) or surface.start is not base:
        return None
    return surface
