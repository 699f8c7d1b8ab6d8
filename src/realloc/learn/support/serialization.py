"""A support as plain values and arrays, so that it can be saved without pickle."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from realloc.base.validation import from_table
from realloc.learn.features.memory import join_text, split_text
from realloc.learn.support.basis import Basis
from realloc.learn.support.calibration import Ladder
from realloc.learn.support.config import SupportConfig
from realloc.learn.support.density import Density
from realloc.learn.support.location import Location
from realloc.learn.support.logged import Logged
from realloc.learn.support.support import Support

if TYPE_CHECKING:
    from realloc.learn.support.correction import Correction

Arrays = dict[str, NDArray[Any]]
# (how much it counts, weights by name, inputs, outputs) → the network on top of the density
Build = Callable[[float, Arrays, int, int], "Correction"]

PLAIN = ("x", "shares", "window", "rank")  # of Logged


def to_parts(support: Support) -> tuple[dict[str, Any], Arrays]:
    """Values for JSON, and arrays."""
    density, logged = support.density, support.logged
    location = {
        spec.name: getattr(density.location, spec.name)
        for spec in fields(Location)
        if spec.name != "tail"
    }
    arrays: Arrays = {f"logged.{name}": getattr(logged, name) for name in PLAIN}
    arrays["logged.time"] = logged.time.astype(np.int64)
    arrays["logged.unit_text"], arrays["logged.unit_ends"] = join_text(
        pa.array(logged.unit.tolist(), pa.string())
    )
    arrays |= {f"location.{name}": values for name, values in location.items()}
    arrays |= {
        f"density.{name}": getattr(density, name)
        for name in ("origin", "whiten", "centres", "log_scales")
    }
    still = ~np.isfinite(density.basis.spread)
    arrays["basis.continuous"] = density.basis.continuous.astype(np.uint8)
    arrays["basis.mean"] = density.basis.mean
    arrays["basis.spread"] = np.where(
        still, 0.0, density.basis.spread
    )  # 0 stands for a term that never varied
    arrays["ladder"] = support.ladder.values
    table = {
        "kind": density.kind,
        "tail": density.location.tail,
        "config": asdict(support.config),
        "correction": None if density.correction is None else density.correction.weight,
    }
    if density.correction is not None:
        state = density.correction.network.state_dict()
        arrays |= {f"correction.{name}": values.numpy() for name, values in state.items()}
    return table, arrays


def from_parts(
    table: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], build: Build | None = None
) -> Support:
    """The support that `to_parts` gave; `build` makes its network, where not with torch."""
    _check_values(table, arrays)
    units = split_text(arrays["logged.unit_text"], arrays["logged.unit_ends"])
    logged = Logged(
        unit=np.asarray(units.to_pylist(), dtype=np.str_),
        time=arrays["logged.time"].astype("datetime64[us]"),
        **{name: arrays[f"logged.{name}"] for name in PLAIN},
    )
    spread = arrays["basis.spread"]
    basis = Basis(
        arrays["basis.continuous"] > 0, arrays["basis.mean"], np.where(spread > 0, spread, np.inf)
    )
    names = [spec.name for spec in fields(Location) if spec.name != "tail"]
    location = Location(
        **{name: arrays[f"location.{name}"] for name in names}, tail=float(table["tail"])
    )
    density = Density(
        kind=str(table["kind"]),
        basis=basis,
        location=location,
        correction=_correction(table, arrays, basis, location, build or _with_torch),
        **{
            name: arrays[f"density.{name}"]
            for name in ("origin", "whiten", "centres", "log_scales")
        },
    )
    ladder = Ladder(arrays["ladder"])
    config = from_table(SupportConfig, table["config"], "the saved support")
    support = Support(logged, density, ladder, config)
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        support.at(logged.x[:1])  # what does not fit is found here, not at the first decision
    return support


def _check_values(table: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """What shapes do not say; numbers are finite."""
    shares, ladder, terms = arrays["logged.shares"], arrays["ladder"], len(arrays["basis.mean"])
    coordinates = {"log_ratio": shares.shape[1] - 1, "sphere": shares.shape[1]}[table["kind"]]
    wrong = {
        "there are no remembered actions": len(shares) == 0,
        "remembered shares are not on the simplex": np.any(shares < 0)
        or np.any(np.abs(shares.sum(axis=1) - 1) > 1e-9),
        "held-out radii do not rise from 0": np.any(np.diff(ladder, prepend=0.0) < 0),
        "the coordinates are of another kind": len(arrays["density.origin"]) != coordinates,
        "the terms are others": terms
        != len(arrays["basis.continuous"]) + 2 * int(arrays["basis.continuous"].sum())
        or len(arrays["location.centre"]) != terms + 1,
        "the degrees of freedom are not above 0": not float(table["tail"]) > 0,
        "the correction does not count": table["correction"] is not None
        and not 0 < float(table["correction"]) <= 1,
    }
    for what, found in wrong.items():
        if found:
            raise ValueError(f"{what} in the support")


def _correction(
    table: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    basis: Basis,
    location: Location,
    build: Build,
) -> "Correction | None":
    if table["correction"] is None:
        return None
    prefix = "correction."
    weights = {
        name.removeprefix(prefix): values
        for name, values in arrays.items()
        if name.startswith(prefix)
    }
    return build(
        float(table["correction"]), weights, len(basis.continuous), location.centre.shape[1]
    )


def _with_torch(weight: float, weights: Arrays, inputs: int, dimensions: int) -> "Correction":
    import torch

    from realloc.learn.networks.stack import Stack
    from realloc.learn.support.correction import Correction, shape

    network = Stack(len(weights["head"]), shape(inputs, dimensions), 0)
    network.load_state_dict({name: torch.from_numpy(values) for name, values in weights.items()})
    network.requires_grad_(False)
    return Correction(network, weight)
