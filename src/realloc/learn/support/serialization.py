"""A support as plain values and arrays, so that it can be saved without pickle."""

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from realloc.base.validation import from_table
from realloc.decide.search.point_index import PointIndex
from realloc.learn.features.memory import join_text, split_text
from realloc.learn.support.basis import Basis
from realloc.learn.support.config import SupportConfig
from realloc.learn.support.conformal import ConformalRanks
from realloc.learn.support.density import Density
from realloc.learn.support.direction import Direction
from realloc.learn.support.location import Location
from realloc.learn.support.logged import Logged
from realloc.learn.support.support import Support

Arrays = dict[str, NDArray[Any]]

LOGGED = ("x", "shares", "window", "rank")
LOCATION = tuple(spec.name for spec in fields(Location) if spec.name != "tail")
DENSITY = ("origin", "whiten", "centres", "log_scales", "by_count")


def to_parts(support: Support) -> tuple[dict[str, Any], Arrays]:
    """Values for JSON, and arrays."""
    density = support.density
    logged = support.logged
    direction = support.direction
    arrays: Arrays = {f"logged.{name}": getattr(logged, name) for name in LOGGED}
    arrays["logged.time"] = logged.time.astype(np.int64)
    text, ends = join_text(pa.array(logged.unit.tolist(), pa.string()))
    arrays["logged.unit_text"] = text
    arrays["logged.unit_ends"] = ends
    arrays |= {f"location.{name}": getattr(density.location, name) for name in LOCATION}
    arrays |= {f"density.{name}": getattr(density, name) for name in DENSITY}
    spread = density.basis.spread
    arrays["basis.continuous"] = density.basis.continuous.astype(np.uint8)
    arrays["basis.mean"] = density.basis.mean
    # 0 stands for a term that never varied
    arrays["basis.spread"] = np.where(np.isfinite(spread), spread, 0.0)
    arrays["basis.curves"] = density.basis.curves
    arrays["ranks"] = support.ranks.values
    arrays["direction.points"] = np.array(direction.index.points)
    arrays["direction.axes"] = direction.axes
    arrays["direction.ranks"] = direction.ranks.values
    table = {
        "kind": density.kind,
        "tail": density.location.tail,
        "config": asdict(support.config),
        "direction": {"unit": direction.unit, "near": direction.near, "k": direction.k},
    }
    return table, arrays


def from_parts(table: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Support:
    """The support that `to_parts` gave; a ValueError says what does not fit."""
    _check_values(table, arrays)
    units = split_text(arrays["logged.unit_text"], arrays["logged.unit_ends"])
    logged = Logged(
        unit=np.asarray(units.to_pylist(), dtype=np.str_),
        time=arrays["logged.time"].astype("datetime64[us]"),
        **{name: arrays[f"logged.{name}"] for name in LOGGED},
    )
    spread = arrays["basis.spread"]
    density = Density(
        kind=str(table["kind"]),
        basis=Basis(
            arrays["basis.continuous"] > 0,
            arrays["basis.mean"],
            np.where(spread > 0, spread, np.inf),
            arrays["basis.curves"],
        ),
        location=Location(
            **{name: arrays[f"location.{name}"] for name in LOCATION},
            tail=float(table["tail"]),
        ),
        **{name: arrays[f"density.{name}"] for name in DENSITY},
    )
    config = from_table(SupportConfig, table["config"], "the saved support")
    support = Support(logged, density, ConformalRanks(arrays["ranks"]), config)
    support.__dict__["direction"] = _read_direction(table["direction"], arrays, density)
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        support.at(
            logged.x[:1]
        )  # what does not fit is found here, not at the first decision
    return support


def _read_direction(
    table: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], density: Density
) -> Direction:
    """The index of logged moves, so that whoever opens it need not measure all distances again."""
    points = arrays["direction.points"]
    axes = arrays["direction.axes"]
    ranks = arrays["direction.ranks"]
    unit = float(table["unit"])
    near = float(table["near"])
    k = int(table["k"])
    fits = (
        len(points) == len(arrays["logged.x"])
        and axes.shape == (2 * density.whiten.shape[1], points.shape[1])
        and 1 <= k < max(len(points), 2)
        and not np.any(np.diff(ranks) < 0)
        and 0 < unit < np.inf
        and 0 <= near < np.inf
    )
    if not fits:
        raise ValueError("the index of logged moves does not fit the support")
    return Direction(PointIndex(points), axes, unit, ConformalRanks(ranks), near, k)


def _check_values(table: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """What shapes do not say; numbers are finite."""
    shares = arrays["logged.shares"]
    terms = len(arrays["basis.mean"])
    continuous = arrays["basis.continuous"]
    curves = arrays["basis.curves"]
    single = len(continuous) + 2 * int(continuous.sum())
    ratios = shares.shape[1] - 1
    dimensions = {"log_ratio": ratios, "partial": ratios, "sphere": ratios + 1}
    sums = np.abs(shares.sum(axis=1) - 1)
    wrong = {
        "there are no remembered actions": len(shares) == 0,
        "remembered shares are not on the simplex": np.any(shares < 0)
        or np.any(sums > 1e-9),
        "held-out radii do not rise from 0": np.any(
            np.diff(arrays["ranks"], prepend=0.0) < 0
        ),
        "the coordinates are of another kind": len(arrays["density.origin"])
        != dimensions[table["kind"]],
        "the terms are others": terms != single + curves.shape[1]
        or len(arrays["location.centre"]) != terms + 1,
        "the degrees of freedom are not above 0": not float(table["tail"]) > 0,
        "factors of radii are not above 0": np.any(arrays["density.by_count"] <= 0),
    }
    for what, is_wrong in wrong.items():
        if is_wrong:
            raise ValueError(f"{what} in the support")
