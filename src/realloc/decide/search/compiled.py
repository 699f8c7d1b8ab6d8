"""The search in C (`compiled.c`), if it was compiled when the package was installed: the same ends
as numpy's in a fifth of the time.

It covers the usual case: gains as polynomials, σ̂ from covariances, a support region in log-ratios,
any bounds on channels and groups. `compile_search` says why it does not apply where it does not.
"""

from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from realloc.base.numerics.clib import Field, Library, Table, open_library
from realloc.base.simplex import Floats, edges
from realloc.decide.config import DecisionConfig
from realloc.decide.constraints.constraints import SLACK
from realloc.decide.gain_std import GainStd
from realloc.decide.problem import UNMOVED, Problem, search_settings
from realloc.decide.search.ascent import ASIDE, LEAST_RISE, sizes
from realloc.decide.search.first_steps import FirstSteps
from realloc.decide.search.polynomials import Polynomials

SOURCE = Path(__file__).with_name("compiled.c")
MOST_CHANNELS = 5  # what compiled.c has room for
MOST_INTERVALS = 16


@dataclass(frozen=True, eq=False)
class SupportRegion:
    """The supported region of n states as numbers.

    A place p is inside if ‖axesᵀ log p − shift − centre‖ / scale, plus the safety margin, is within
    the limit, and its set of active channels was logged.
    """

    axes: Floats  # (K, C)
    shift: Floats  # (C,)
    centre: Floats  # (n, C)
    scale: Floats  # (n,) each
    centre_variance: Floats
    scale_variance: Floats
    limit: float
    margin: float
    # sets of active channels that were logged, as sums of `codes`
    patterns: NDArray[np.uint64]
    codes: NDArray[np.uint64]  # (K,)
    smallest_share: float  # whose logarithm is taken
    intervals: int  # of a way to an end, whose points between are asked about


@runtime_checkable
class HasRegion(Protocol):
    """Support that may be known as numbers."""

    def region(self) -> SupportRegion | None:
        """Return None where only functions can tell."""
        ...


@dataclass(frozen=True, eq=False)
class CompiledSearch:
    """A problem that the C code covers, ready to be searched."""

    library: Library
    problem: Problem
    base: Floats
    weights: list[float]  # of the outcomes in the objective, with their gains and σ̂
    gains: list[Polynomials]
    sigmas: list[GainStd]
    region: SupportRegion
    config: DecisionConfig

    def ascend(self) -> Floats:
        """The ends of `search_ascent`, (n, K)."""
        shares = np.empty_like(self.base)
        steps = sizes(search_settings(self.problem, self.config))
        self.library.call("realloc_ascend", self._table(steps), shares)
        return shares

    def first_steps(self) -> FirstSteps:
        """The result of `try_first_steps`."""
        ends = np.empty_like(self.base)
        flags = np.zeros(len(self.base), np.uint8)
        steps = np.array(search_settings(self.problem, self.config).steps)
        self.library.call("realloc_first_steps", self._table(steps), ends, flags)
        bits = [(flags & (1 << bit)).astype(bool) for bit in range(7)]
        return FirstSteps(
            end=ends,
            some_gain=bits[0],
            some_good=bits[1],
            some_free=bits[2],
            possible=bits[3],
            supported=bits[4],
            safe=np.ones(len(flags), bool),
            start_supported=bits[5],
            exists=bits[6],
        )

    def _table(self, steps: Floats) -> Table:
        """`Problem` of compiled.c with these sizes of steps."""
        return Table(**self._fields | {"steps": len(steps), "ladder": _array(steps)})

    @cached_property
    def _fields(self) -> dict[str, Field]:
        """The fields of `Problem` of compiled.c, in its order."""
        settings = search_settings(self.problem, self.config)
        region = self.region
        limits = self.problem.limits
        gain = self.gains[0]
        K = self.base.shape[1]
        nodes = limits.bounded
        tree = limits.bounds.rules.tree
        members = [tree.inside(node) for node in nodes]
        return {
            "channels": K,
            "directions": gain.axes.shape[1],
            "degree": gain.degree,
            "terms": gain.coefficients.shape[1],
            "outcomes": len(self.weights),
            "dimensions": len(region.shift),
            "patterns": len(region.patterns),
            "nodes": limits.bounds.low.shape[1],
            "bounded": len(nodes),
            "edges": len(edges(K)),
            "steps": 0,
            "turns": settings.max_turns,
            "intervals": region.intervals,
            "beta": float(self.config.beta),
            "max_length": float(settings.max_length),
            "threshold": float(settings.threshold),
            "limit": float(region.limit),
            "margin": float(region.margin),
            "least_rise": LEAST_RISE,
            "slack": SLACK,
            "unmoved": UNMOVED,
            "smallest_share": float(region.smallest_share),
            "ladder": None,
            "nearer": _array(ASIDE),
            "parts": len(ASIDE),
            "pairs": _array(edges(K), np.int64),
            "weight": _array(self.weights),
            "axes": _array(gain.axes, np.float32),
            "border_axes": _array(region.axes),
            "shift": _array(region.shift),
            "known": _array(region.patterns, np.uint64),
            "codes": _array(region.codes, np.uint64),
            "bounded_nodes": _array(nodes, np.int64),
            "members": np.array(
                [[k in inside for k in range(K)] for inside in members], np.uint8
            ),
            "base": _array(self.base),
            "start": _array(limits.start),
            "coefficients": _array([gain.coefficients for gain in self.gains], np.float32),
            "covariance": _array([sigma.covariance for sigma in self.sigmas]),
            "centre": _array(region.centre),
            "scale": _array(region.scale),
            "centre_variance": _array(region.centre_variance),
            "scale_variance": _array(region.scale_variance),
            "low": _array(limits.bounds.low),
            "high": _array(limits.bounds.high),
            "kept": _array(limits.kept, np.uint8),
            "largest": _array(limits.moves.largest),
            "rows": len(self.base),
        }


def compile_search(
    problem: Problem, local: Problem, base: Floats, config: DecisionConfig
) -> CompiledSearch | str:
    """Prepare the C search for `problem`, or say in a few words why it does not apply."""
    library = search_library()
    if library is None:
        return "the C search is not installed"
    region = problem.support.region() if isinstance(problem.support, HasRegion) else None
    if region is None:
        return "no support region in log-ratios"
    terms = [term for term in local.outcomes if term.weight]
    gains = [term.gain for term in terms if isinstance(term.gain, Polynomials)]
    sigmas = [term.sigma for term in terms if isinstance(term.sigma, GainStd)]
    obstacles = {
        "greedy search": config.search == "greedy",
        "grid": problem.limits.moves.grid is not None,
        "repeated mixes": problem.repeated_mixes is not None,
        "lambda_support above 0": config.lambda_support > 0,
        "more than five channels": base.shape[1] > MOST_CHANNELS,
        "paths of many points": region.intervals > MOST_INTERVALS,
        "guardrail": any(term.tolerance is not None for term in local.outcomes),
        "no posterior covariance": len(sigmas) < len(terms),
        "no local polynomial": len(gains) < len(terms)
        or any(not np.array_equal(gain.start, base) for gain in gains),
        "no outcome with a weight": not terms,
    }
    for reason, applies in obstacles.items():
        if applies:
            return reason
    weights = [term.weight for term in terms]
    return CompiledSearch(library, problem, base, weights, gains, sigmas, region, config)


@cache
def search_library() -> Library | None:
    """What was compiled when the package was installed."""
    return open_library(SOURCE)


def _array(values: Any, kind: Any = np.float64) -> NDArray[Any]:
    return np.ascontiguousarray(values, dtype=kind)
