"""From a saved model to what serving needs, and from that to a state: plain values and arrays, checked one by one."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from realloc.base.errors import ConfigError
from realloc.base.validation import from_table
from realloc.learn.features.encode import Encoder
from realloc.learn.support.calibration import Ladder
from realloc.learn.support.direction import Direction, index
from realloc.learn.support.serialization import from_parts as read_support
from realloc.learn.support.support import Support
from realloc.learn.teacher.repeated_mixes import Places
from realloc.logs import Logs, Schema
from realloc.model.config import Config, parse_config
from realloc.serve.doubt import PARTS, read_doubt
from realloc.serve.network import read_network
from realloc.serve.potential import Potential, Units
from realloc.serve.state import Evidence, Served, ServedState
from realloc.serve.support import build_correction, tiled

Table = dict[str, Any]
Arrays = dict[str, NDArray[Any]]

WHERE = "the serving artifact"
OF_OUTCOME = ("student.", "scaling.", "doubt_scaling.", "places.")
KERNEL = tuple(
    f"kernel.{name}.{part}"
    for name in ("length", "linear", "amplitude", "constant")
    for part in PARTS
)
AXES = {  # dtype and axes: d features, K channels, m inducing rows, r directions, G mixes, N remembered actions, D dimensions
    "scaling.centre": ("float32", "K"),
    "scaling.inverse": ("float32", "K"),
    "doubt_scaling.centre": ("float32", "K"),
    "doubt_scaling.inverse": ("float32", "K"),
    "doubt.x": ("float32", "md"),
    "doubt.z": ("float32", "mK"),
    "doubt.factor": ("float32", "mr"),
    "kernel.reach": ("float32", ""),
    **{name: ("float32", "d" if ".l" in name else "") for name in KERNEL},
    "places.shares": ("float64", "GK"),
    "places.residual": ("float64", "G"),
    "places.count": ("int64", "G"),
    "support.logged.x": ("float32", "Nd"),
    "support.logged.shares": ("float64", "NK"),
    "support.logged.time": ("int64", "N"),
    "support.logged.window": ("int64", "N"),
    "support.logged.rank": ("float64", "N"),
    "support.logged.unit_ends": ("int64", "N"),
    "support.ladder": ("float64", "N"),
    "direction.points": ("float64", "ND"),
    "direction.ladder": ("float64", "N"),
}


def from_model(
    meta: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]]
) -> tuple[Table, Arrays]:
    """The parts of a saved model that serving needs; the rest (replay, nuisances) is left out."""
    kept: Arrays = {
        name: v for name, v in tensors.items() if name.startswith(("encoder.", "support."))
    }
    outcomes: list[Table] = []
    for number, told in enumerate(meta["outcomes"]):
        prefix = f"outcome{number}."
        own = _under(prefix, tensors)
        arrays: Arrays = {name: v for name, v in own.items() if name.startswith(OF_OUTCOME)}
        if told["doubt"] is not None:
            arrays |= {
                name: own[name]
                for name in (*KERNEL, "kernel.reach", "doubt.x", "doubt.z", "doubt.factor")
            }
        kept |= {prefix + name: v for name, v in arrays.items()}
        names = ("name", "outcome_scale", "doubt", "places")
        outcomes.append(
            {name: told.get(name) for name in names} | {"evidence": told["weighing"]["evidence"]}
        )
    names = ("config", "schema", "encoder", "rounds", "support")
    return {name: meta[name] for name in names} | {"outcomes": outcomes}, kept


def with_direction(meta: Table, tensors: Arrays, direction: Direction) -> tuple[Table, Arrays]:
    """With the index of logged moves, so that whoever reads it need not measure all distances again."""
    table = {"unit": direction.unit, "near": direction.near, "k": direction.k}
    arrays = {
        "points": direction.tree.data,
        "axes": direction.axes,
        "ladder": direction.ladder.values,
    }
    return meta | {"direction": table}, tensors | {
        f"direction.{name}": np.array(v) for name, v in arrays.items()
    }


def build(
    meta: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]]
) -> tuple[ServedState, Config, Schema]:
    """The state that the parts describe; whatever does not fit raises."""
    config, schema = parse_config(meta["config"], WHERE), from_table(Schema, meta["schema"], WHERE)
    _check_served(config)
    encoder = Encoder.from_parts(meta["encoder"], _under("encoder.", tensors))
    if set(encoder.features) != set(schema.features or ()):
        raise ValueError("the encoder and the schema name other features")
    sizes = {"K": len(schema.channels), "d": _width(encoder, schema)}
    _check_arrays({name: v for name, v in tensors.items() if name in AXES}, sizes)
    _check_finite(tensors)
    names = [str(table["name"]) for table in meta["outcomes"]]
    if names != [schema.outcome, *schema.guardrails] or int(meta["rounds"]) < 1:
        raise ValueError(
            f"the outcomes are {names}, the schema names others, or there was no round"
        )
    outcomes = {
        name: _served(table, _under(f"outcome{number}.", tensors), config, dict(sizes))
        for number, (name, table) in enumerate(zip(names, meta["outcomes"], strict=True))
    }
    support = read_support(meta["support"], _under("support.", tensors), build_correction)  # pyright: ignore[reportArgumentType]
    support = replace(support, density=tiled(support.density))
    if "direction" in meta:
        support.__dict__["direction"] = _direction(
            meta["direction"], _under("direction.", tensors), support
        )
    _check_all_known(meta, tensors, len(names))
    return ServedState(encoder, outcomes, support, int(meta["rounds"])), config, schema


def _served(
    meta: Mapping[str, Any], tensors: Arrays, config: Config, sizes: dict[str, int]
) -> Served:
    _check_arrays({name: v for name, v in tensors.items() if name in AXES}, sizes)
    K, W, M = sizes["K"], config.student.trunk, config.teacher.members
    network = read_network(_under("student.context.", tensors), sizes["d"], K + 2 * W)
    directions, offsets = tensors["student.directions"], tensors["student.offsets"]
    if directions.shape != (M, K, W) or offsets.shape != (M, 1, W) or len(network.head) != M:
        raise ValueError(
            f"the student has directions of shape {directions.shape}, the config asks for {(M, K, W)}"
        )
    student = Potential(
        network, directions, offsets, _units("scaling.", tensors, meta["outcome_scale"])
    )
    doubt, table = None, meta["doubt"]
    if table is not None:
        doubt = read_doubt(
            tensors, _units("doubt_scaling.", tensors, table["scale"]), _misfit(table)
        )
    places, table = None, meta["places"]
    if table is not None:
        lasting, noise = _number(table["lasting"], np.nextafter(0, 1)), _number(table["noise"], 0.0)
        if tensors["places.count"].min() < 1:
            raise ValueError("the counts of places are not above 0")
        shares, residual, count = (
            tensors[f"places.{name}"] for name in ("shares", "residual", "count")
        )
        places = Places(shares, residual, count, lasting, noise)
    return Served(student, doubt, places, Evidence(_number(meta["evidence"], -np.inf)))


def _misfit(table: Mapping[str, Any]) -> float | None:
    return None if table["misfit"] is None else _number(table["misfit"], 0.0)


def _units(prefix: str, tensors: Arrays, outcome: Any) -> Units:
    scale = _number(outcome, np.nextafter(0, 1))
    return Units(tensors[f"{prefix}centre"], tensors[f"{prefix}inverse"], scale)


def _direction(table: Mapping[str, Any], arrays: Arrays, support: Support) -> Direction:
    points, axes, ladder = arrays["points"], arrays["axes"], arrays["ladder"]
    dimensions = 2 * support.density.whiten.shape[1]
    k = int(table["k"])
    if (
        axes.shape != (dimensions, points.shape[1])
        or not 1 <= k < max(len(points), 2)
        or np.any(np.diff(ladder) < 0)
    ):
        raise ValueError("the index of logged moves does not fit to the support")
    return Direction(
        index(points),
        axes,
        _number(table["unit"], np.nextafter(0, 1)),
        Ladder(ladder),
        _number(table["near"], 0.0),
        k,
    )


def _check_served(config: Config) -> None:
    """What numpy cannot serve."""
    if config.student.form != "branch":
        raise ConfigError(
            f'Expected `form = "branch"` in [student] to serve a model, got {config.student.form!r}.'
        )
    if config.decision.uncertainty == "dropout":
        raise ConfigError(
            'Expected `uncertainty` of "posterior" or "members" in [decision] to serve a model, got "dropout".'
        )


def _check_arrays(tensors: Arrays, sizes: dict[str, int]) -> None:
    """All arrays have their type and agree about their axes; what stands in `sizes` is given."""
    for name, found in tensors.items():
        dtype, axes = AXES[name]
        if found.dtype.name != dtype or found.ndim != len(axes):
            raise ValueError(f"{name} is of {found.dtype} and shape {found.shape}")
        if any(
            sizes.setdefault(axis, size) != size
            for axis, size in zip(axes, found.shape, strict=True)
        ):
            raise ValueError(
                f"{name} has shape {found.shape}, others make ({', '.join(axes)}) of {sizes}"
            )


def _check_finite(tensors: Mapping[str, NDArray[Any]]) -> None:
    for name, values in tensors.items():
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            raise ValueError(f"{name} holds numbers that are not finite")


def _check_all_known(
    meta: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]], outcomes: int
) -> None:
    """No array belongs to nothing."""
    own = (*OF_OUTCOME, "kernel.", "doubt.")
    known = ("encoder.", "support.", *(("direction.",) if "direction" in meta else ()))
    known += tuple(f"outcome{number}.{part}" for number in range(outcomes) for part in own)
    strange = [name for name in tensors if not name.startswith(known)]
    if strange:
        raise ValueError(f"{strange[0]} belongs to nothing")


def _number(value: Any, least: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value < np.inf:
        raise ValueError(f"expected a number of at least {least}, got {value!r}")
    return float(value)


def _width(encoder: Encoder, schema: Schema) -> int:
    """How many columns the encoder makes: it encodes a log without rows."""
    numbers = [*schema.channels, *([schema.budget] if schema.budget else []), *encoder.numbers]
    columns: dict[str, pa.Array] = {name: pa.array([], pa.float64()) for name in numbers}
    columns |= dict.fromkeys(
        (schema.unit, *encoder.categories), pa.array([], pa.string()).dictionary_encode()
    )
    columns[schema.time] = pa.array([], pa.date32())
    return encoder.encode(Logs(schema, pa.table(columns), encoder.features)).values.shape[1]


def _under(prefix: str, tensors: Mapping[str, NDArray[Any]]) -> Arrays:
    return {
        name.removeprefix(prefix): values
        for name, values in tensors.items()
        if name.startswith(prefix)
    }
