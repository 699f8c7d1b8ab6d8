"""The search in C (`compiled.c`), where it was compiled when the package was installed: the same bits in a fifth of the time.

It knows the usual case: gains as polynomials, σ̂ from covariances, a border in log-ratios, any bounds on channels and groups.
The rest (guardrails, logged mixes, grids, zeros, ω in the objective) is numpy's, and so is everything without a compiler.
"""

from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from realloc.base.numerics.clib import Library, Table, open_library
from realloc.base.simplex import Floats, edges
from realloc.decide.config import DecisionConfig
from realloc.decide.deviation import FEW, Deviations
from realloc.decide.search.greedy import SearchConfig
from realloc.decide.search.polynomials import Polynomials

if TYPE_CHECKING:
    from realloc.decide.decide import Case

SOURCE = Path(__file__).with_name("compiled.c")
MOST_CHANNELS = 5  # `MOST` of compiled.c


@dataclass(frozen=True, eq=False)
class Region:
    """The border of n states as numbers: ‖axesᵀ log p − shift − centre‖ / scale, plus the margin, is within the limit inside."""

    axes: Floats  # (K, C)
    shift: Floats  # (C,)
    centre: Floats  # (n, C)
    scale: Floats  # (n,) each
    centre_variance: Floats
    scale_variance: Floats
    limit: float
    margin: float
    patterns: NDArray[np.uint64]  # sets of active channels that were logged, as sums of `codes`
    codes: NDArray[np.uint64]  # (K,)


@runtime_checkable
class HasRegion(Protocol):
    """Evidence that may be known as numbers."""

    def region(self) -> Region | None:
        """None where only functions can tell."""
        ...


@dataclass(frozen=True, eq=False)
class Looked:
    """Of n rows: where the best first step ends, and what is true of it and of all first steps."""

    end: Floats  # (n, K)
    gains: NDArray[np.bool_]  # some step gains at all
    good: NDArray[np.bool_]  # some step gains enough
    free: NDArray[np.bool_]  # and is allowed
    possible: NDArray[np.bool_]  # the best one, by the limits
    supported: NDArray[np.bool_]  # the best one, by the log
    starts: NDArray[np.bool_]  # the row's own shares are supported
    shown: NDArray[np.bool_]  # there is a best one
    safe: NDArray[np.bool_]  # the best one, by the guardrails


@dataclass(frozen=True, eq=False)
class Compiled:
    """A case that the C code knows, ready to be searched."""

    library: Library
    case: "Case"
    base: Floats
    weights: list[float]  # of the outcomes in the objective, with their gains and doubts
    gains: list[Polynomials]
    doubts: list[Deviations]
    region: Region
    config: DecisionConfig

    def ascend(self, settings: SearchConfig, ladder: Floats, nearer: tuple[float, ...]) -> Floats:
        """The ends of `search_ascent`, (n, K)."""
        shares = np.empty_like(self.base)
        self.library.call("realloc_ascend", self._problem(settings, ladder, nearer), shares)
        return shares

    def look(self, settings: SearchConfig, nearer: tuple[float, ...]) -> Looked:
        """The first steps of `look_around`."""
        ends, flags = np.empty_like(self.base), np.zeros(len(self.base), np.uint8)
        self.library.call(
            "realloc_look", self._problem(settings, np.array(settings.steps), nearer), ends, flags
        )
        gains, good, free, possible, supported, starts, shown = (
            (flags & (1 << bit)).astype(bool) for bit in range(7)
        )
        return Looked(
            ends,
            gains,
            good,
            free,
            possible,
            supported,
            starts,
            shown,
            safe=np.ones(len(flags), bool),
        )

    def _problem(self, settings: SearchConfig, ladder: Floats, nearer: tuple[float, ...]) -> Table:
        """`Problem` of compiled.c, in its order."""
        region, limits, gain, K = self.region, self.case.limits, self.gains[0], self.base.shape[1]
        nodes = limits.bounded
        members = [
            (node,) if node < K else limits.bounds.rules.tree.members[node - K] for node in nodes
        ]
        floats, numbers = (
            partial(np.ascontiguousarray, dtype=kind) for kind in (np.float64, np.int64)
        )
        return Table(
            channels=K,
            directions=gain.axes.shape[1],
            degree=gain.degree,
            terms=gain.coefficients.shape[1],
            stakes=len(self.weights),
            dimensions=len(region.shift),
            patterns=len(region.patterns),
            nodes=limits.bounds.low.shape[1],
            bounded=len(nodes),
            edges=len(edges(K)),
            steps=len(ladder),
            turns=settings.max_turns,
            beta=float(self.config.beta),
            max_length=float(settings.max_length),
            threshold=float(settings.threshold),
            limit=float(region.limit),
            margin=float(region.margin),
            ladder=floats(ladder),
            nearer=floats(nearer),
            parts=len(nearer),
            pairs=numbers(edges(K)),
            weight=floats(self.weights),
            axes=np.ascontiguousarray(gain.axes, dtype=np.float32),
            border_axes=floats(region.axes),
            shift=floats(region.shift),
            known=np.ascontiguousarray(region.patterns, dtype=np.uint64),
            codes=np.ascontiguousarray(region.codes, dtype=np.uint64),
            bounded_nodes=numbers(nodes),
            members=np.array([[k in own for k in range(K)] for own in members], dtype=np.uint8),
            base=floats(self.base),
            start=floats(limits.start),
            coefficients=_stacked([one.coefficients for one in self.gains], np.float32),
            covariance=_stacked([one.covariance for one in self.doubts], np.float64),
            centre=floats(region.centre),
            scale=floats(region.scale),
            centre_variance=floats(region.centre_variance),
            scale_variance=floats(region.scale_variance),
            low=floats(limits.bounds.low),
            high=floats(limits.bounds.high),
            kept=np.ascontiguousarray(limits.kept, dtype=np.uint8),
            largest=floats(limits.moves.largest),
            rows=len(self.base),
        )


def compile_case(
    case: "Case", rough: "Case", base: Floats, config: DecisionConfig
) -> Compiled | None:
    """The case for the C code; None where that does not know it, or is not there."""
    library = search_library()
    if (
        library is None
        or case.mixes is not None
        or case.limits.moves.grid is not None
        or config.lambda_support
    ):
        return None
    if any(stake.tolerance is not None for stake in rough.stakes):
        return None
    weights, gains, doubts = list[float](), list[Polynomials](), list[Deviations]()
    for stake in rough.stakes:
        if not stake.weight:
            continue
        if not (isinstance(stake.gain, Polynomials) and isinstance(stake.sigma, Deviations)):
            return None
        if not np.array_equal(stake.gain.start, base):
            return None
        weights.append(stake.weight)
        gains.append(stake.gain)
        doubts.append(stake.sigma)
    region = case.evidence.region() if isinstance(case.evidence, HasRegion) else None
    if region is None or not weights or base.shape[1] > min(MOST_CHANNELS, FEW):
        return None
    return Compiled(library, case, base, weights, gains, doubts, region, config)


@cache
def search_library() -> Library | None:
    """What was compiled when the package was installed."""
    return open_library(SOURCE)


def _stacked(parts: list[NDArray[Any]], kind: Any) -> NDArray[Any]:
    return np.ascontiguousarray(parts[0] if len(parts) == 1 else np.stack(parts), dtype=kind)
