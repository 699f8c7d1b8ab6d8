"""The structs of c/problem.h, field by field in their order."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from realloc.base.numerics.clib import Field, Table
from realloc.base.simplex import Floats, edges
from realloc.decide.conservative import OutcomeTerm
from realloc.decide.constraints.constraints import SLACK
from realloc.decide.constraints.limits import ON_GRID, Limits
from realloc.decide.gain_std import GainStd
from realloc.decide.search.gain_arrays import BeyondSurface, MixArrays, NetworkArrays
from realloc.decide.search.polynomials import Polynomials
from realloc.decide.search.support_region import KINDS, LoggedMoves, SupportRegion

NO_POINTS = np.zeros((0, 1))


def outcome_table(term: OutcomeTerm, near: Polynomials | None) -> Table:
    """`Outcome`: the term, and its polynomials where its gains count in the objective."""
    network = term.network
    sigma = term.sigma
    surface = sigma.surface if isinstance(sigma, BeyondSurface) else sigma
    if not isinstance(network, NetworkArrays) or not isinstance(surface, GainStd):
        raise TypeError("expected an outcome that numbers say")
    tolerance = np.nan if term.tolerance is None else float(term.tolerance)
    fields: dict[str, Field] = {
        "weight": float(term.weight),
        "tolerance": tolerance,
        "common_error": float(term.common_error),
        "unit": float(network.unit),
        "units": network.directions.shape[1],
        "directions": array(network.directions, np.float32),
        "centre": array(network.centre, np.float32),
        "inverse": array(network.inverse, np.float32),
        "linear": array(network.linear, np.float32),
        "shifts": array(network.shifts, np.float32),
        "heights": array(network.heights, np.float32),
    }
    fields |= _nearby(near)
    fields["covariance"] = array(surface.covariance)
    fields |= _mixes(sigma.mix_arrays if isinstance(sigma, BeyondSurface) else None)
    return Table(**fields)


def _nearby(near: Polynomials | None) -> dict[str, Field]:
    if near is None:
        names = ("degree", "terms", "axes", "coefficients", "slopes", "bends")
        return dict.fromkeys((*names, "steep_units", "steep"), 0)
    return {
        "degree": near.degree,
        "terms": near.coefficients.shape[1],
        "axes": array(near.axes),
        "coefficients": array(near.coefficients, np.float32),
        "slopes": array(near.slopes),
        "bends": array(near.bends, np.float32),
        "steep_units": len(near.steep.numbers),
        "steep": array(near.steep.numbers, np.int64),
    }


def _mixes(mixes: MixArrays | None) -> dict[str, Field]:
    if mixes is None:
        names = ("mixes_count", "mixes_shares", "mixes_worth", "mixes_rho")
        none: dict[str, Field] = dict.fromkeys(names, 0)
        return none | {"lasting": 0.0, "same": 0.0}
    return {
        "mixes_count": len(mixes.shares),
        "mixes_shares": array(mixes.shares),
        "mixes_worth": array(mixes.worth),
        "mixes_rho": array(mixes.rho),
        "lasting": float(mixes.lasting),
        "same": float(mixes.same),
    }


def support_table(region: SupportRegion) -> Table:
    """`Support`."""
    centre = None if region.log_centre is None else array(region.log_centre.T)
    return Table(
        kind=KINDS.index(region.kind),
        coordinates=len(region.shift),
        intervals=region.intervals,
        patterns=len(region.patterns),
        limit=float(region.limit),
        margin=float(region.margin),
        smallest_share=float(region.smallest_share),
        least_log=float(region.least_log),
        axes=array(region.axes),
        shift=array(region.shift),
        by_count=array(region.by_count),
        known=array(region.patterns, np.uint64),
        codes=array(region.codes, np.uint64),
        pairs=array(region.pairs, np.uint8),
        centre=array(region.centre),
        scale=array(region.scale),
        centre_variance=array(region.centre_variance),
        scale_variance=array(region.scale_variance),
        log_centre=centre,
        **_moves(region.moves),
        least_omega=float(region.least_omega),
    )


def _moves(moves: LoggedMoves | None) -> dict[str, Field]:
    if moves is None:
        names = ("count", "dimensions", "leaf", "points", "order", "split", "border")
        none: dict[str, Field] = dict.fromkeys((*names, "axes_of_moves"), 0)
        return none | {"unit": 1.0, "anchor": 0.0, "neighbours": 0, "ranks": 0, "ranked": 0}
    return {
        **moves.index.fields,
        "axes_of_moves": array(moves.axes),
        "unit": float(moves.unit),
        "anchor": float(moves.anchor),
        "neighbours": moves.neighbours,
        "ranks": array(moves.ranks),
        "ranked": len(moves.ranks),
    }


def limits_table(limits: Limits) -> Table:
    """`Limits`."""
    nodes = limits.bounded
    K = limits.start.shape[1]
    members = [limits.bounds.rules.tree.inside(node) for node in nodes]
    inside = [[k in own for k in range(K)] for own in members]
    return Table(
        nodes=limits.bounds.low.shape[1],
        bounded=len(nodes),
        slack=SLACK,
        grid=float(limits.moves.grid or 0.0),
        on_grid=ON_GRID,
        bounded_nodes=array(nodes, np.int64),
        members=array(inside, np.uint8),
        low=array(limits.bounds.low),
        high=array(limits.bounds.high),
        kept=array(limits.kept, np.uint8),
        largest=array(limits.moves.largest),
        anchor=array(limits.repaired.anchor),
    )


def pairs_array(channels: int) -> NDArray[np.int64]:
    """All transfers, as `Problem` wants them."""
    return array(edges(channels), np.int64)


def array(values: Any, kind: Any = np.float64) -> NDArray[Any]:
    """In one piece and of the type that the C code reads."""
    return np.ascontiguousarray(values, dtype=kind)


def shares_array(mixes: Floats | None, channels: int) -> Floats:
    """Mixes to try (m, K); none where there are none."""
    return np.zeros((0, channels)) if mixes is None else array(mixes)
