"""The search in C (`compiled.c`), where it was compiled when the package was installed: the same bits in a fifth of the time.

It knows the usual case: gains as polynomials, σ̂ from covariances, a border in log-ratios, any bounds on channels and groups.
The rest (guardrails, logged mixes, grids, zeros, ω in the objective) is numpy's, and so is everything without a compiler.
"""

import ctypes
import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from realloc.decision.config import DecisionConfig
from realloc.decision.deviation import FEW, Deviations
from realloc.decision.polynomials import Polynomials
from realloc.decision.search import SearchConfig
from realloc.simplex import Floats, edges

if TYPE_CHECKING:
    from realloc.decision.decide import Case

SOURCE, FILE = (Path(__file__).with_name(name) for name in ("compiled.c", "libcompiled.so"))
MOST_CHANNELS = 5  # whose polynomials the C code knows


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

    case: "Case"
    base: Floats
    weights: list[float]  # of the outcomes in the objective, with their gains and doubts
    gains: list[Polynomials]
    doubts: list[Deviations]
    region: Region
    config: DecisionConfig

    def ascend(self, settings: SearchConfig, ladder: Floats, nearer: tuple[float, ...]) -> Floats:
        """The ends of `search_ascent`, (n, K)."""
        problem, shares = self._problem(settings, ladder, nearer), np.empty_like(self.base)
        _checked(problem.library.realloc_ascend(problem.reference, _at(shares)))
        return shares

    def look(self, settings: SearchConfig, nearer: tuple[float, ...]) -> Looked:
        """The first steps of `look_around`."""
        problem = self._problem(settings, np.array(settings.steps), nearer)
        ends, flags = np.empty_like(self.base), np.zeros(len(self.base), np.uint8)
        _checked(problem.library.realloc_look(problem.reference, _at(ends), _at(flags)))
        gains, good, free, possible, supported, starts, shown = ((flags & (1 << bit)).astype(bool) for bit in range(7))
        return Looked(ends, gains, good, free, possible, supported, starts, shown, safe=np.ones(len(flags), bool))

    def _problem(self, settings: SearchConfig, ladder: Floats, nearer: tuple[float, ...]) -> "_Problem":
        region, limits = self.region, self.case.limits
        tree, K = limits.bounds.rules.tree, self.base.shape[1]
        nodes = limits.bounded
        members = [(node,) if node < K else tree.members[node - K] for node in nodes]
        gain = self.gains[0]
        return _Problem(
            {
                "channels": K,
                "directions": gain.axes.shape[1],
                "degree": gain.degree,
                "terms": gain.coefficients.shape[1],
                "stakes": len(self.weights),
                "dimensions": len(region.shift),
                "patterns": len(region.patterns),
                "nodes": limits.bounds.low.shape[1],
                "bounded": len(nodes),
                "edges": len(edges(K)),
                "steps": len(ladder),
                "turns": settings.max_turns,
                "beta": self.config.beta,
                "max_length": settings.max_length,
                "threshold": settings.threshold,
                "limit": region.limit,
                "margin": region.margin,
                "parts": len(nearer),
                "rows": len(self.base),
            },
            {
                "ladder": (ladder, np.float64),
                "nearer": (np.array(nearer), np.float64),
                "pairs": (edges(K), np.int64),
                "weight": (np.array(self.weights), np.float64),
                "axes": (gain.axes, np.float32),
                "border_axes": (region.axes, np.float64),
                "shift": (region.shift, np.float64),
                "known": (region.patterns, np.uint64),
                "codes": (region.codes, np.uint64),
                "bounded_nodes": (np.array(nodes, np.int64), np.int64),
                "members": (np.array([[k in own for k in range(K)] for own in members]), np.uint8),
                "base": (self.base, np.float64),
                "start": (limits.start, np.float64),
                "coefficients": (_stacked([one.coefficients for one in self.gains]), np.float32),
                "covariance": (_stacked([one.covariance for one in self.doubts]), np.float64),
                "centre": (region.centre, np.float64),
                "scale": (region.scale, np.float64),
                "centre_variance": (region.centre_variance, np.float64),
                "scale_variance": (region.scale_variance, np.float64),
                "low": (limits.bounds.low, np.float64),
                "high": (limits.bounds.high, np.float64),
                "kept": (limits.kept, np.uint8),
                "largest": (limits.moves.largest, np.float64),
            },
        )


def compile_case(case: "Case", rough: "Case", base: Floats, config: DecisionConfig) -> Compiled | None:
    """The case for the C code; None where that does not know it, or is not there."""
    if open_library() is None or case.mixes is not None or case.limits.moves.grid is not None or config.lambda_support:
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
    return Compiled(case, base, weights, gains, doubts, region, config)


@cache
def open_library() -> ctypes.CDLL | None:
    """What was compiled when the package was installed; None where there was no compiler, or where it is of other source."""
    try:
        library = ctypes.CDLL(str(FILE))
        library.realloc_source.restype = ctypes.c_char_p
        if library.realloc_source() != hashlib.sha256(SOURCE.read_bytes()).hexdigest().encode():
            return None
    except (OSError, AttributeError):
        return None
    for name, count in (("realloc_ascend", 1), ("realloc_look", 2)):
        function = getattr(library, name)
        function.argtypes, function.restype = [ctypes.c_void_p] * (1 + count), ctypes.c_int
    return library


NUMBERS = {"beta", "max_length", "threshold", "limit", "margin"}
FIELDS = (
    *"channels directions degree terms stakes dimensions patterns nodes bounded edges steps turns".split(),
    *"beta max_length threshold limit margin".split(),
    *"ladder nearer parts pairs weight axes border_axes shift known codes bounded_nodes members".split(),
    *"base start coefficients covariance centre scale centre_variance scale_variance low high kept largest rows".split(),
)  # as in `Problem` of compiled.c


class _Problem:
    """`Problem` of compiled.c, with the arrays it points at."""

    def __init__(self, values: dict[str, Any], arrays: dict[str, tuple[NDArray[Any], Any]]) -> None:
        library = open_library()
        if library is None:
            raise RuntimeError(f"{FILE} cannot be opened")
        self.library = library
        self._arrays = {name: np.ascontiguousarray(array, dtype=kind) for name, (array, kind) in arrays.items()}
        given = {name: _at(array).value for name, array in self._arrays.items()} | values
        self._struct = _Struct(*(given[name] for name in FIELDS))
        self.reference = ctypes.byref(self._struct)


class _Struct(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_double if name in NUMBERS else ctypes.c_int64)
        for name in FIELDS  # an address is a whole number of 64 bits
    ]


def _at(array: NDArray[Any]) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def _stacked(parts: list[NDArray[Any]]) -> NDArray[Any]:
    return parts[0] if len(parts) == 1 else np.stack(parts)


def _checked(code: int) -> None:
    if code:
        raise MemoryError("no memory for a search")
