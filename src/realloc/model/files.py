"""A model as a folder: arrays in safetensors, everything else in JSON.

One format for all who open it.

`without_memory` writes a smaller copy that answers alike and cannot learn further.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from os import PathLike
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from realloc.base.artifact import (
    Artifact,
    pack_artifact,
    read_artifact,
    unpack_artifact,
    write_artifact,
)
from realloc.base.errors import ArtifactError, ReallocError
from realloc.base.validation import from_table
from realloc.learn.features.encode import Encoder
from realloc.learn.hidden_cause import HiddenCauses
from realloc.learn.level import OutcomeLevel
from realloc.learn.memory.labels import Labels
from realloc.learn.nuisances.diagnostics import Diagnostics
from realloc.learn.scaling import Scaling
from realloc.learn.student.potential import CONTEXT, Potential
from realloc.learn.support import serialization
from realloc.learn.teacher.committee import CommitteeWeights
from realloc.learn.teacher.covariance import GainCovariance
from realloc.learn.teacher.repeated_mixes import RepeatedMixes
from realloc.learn.tested import GainCorrection
from realloc.logs import Logs, Schema
from realloc.model.config import Config, parse_config
from realloc.model.state import Learned, RoundState

Arrays = dict[str, NDArray[Any]]

KIND = "model"
PICKLED = "the pickled model"
WHERE = "the saved model"
# What a damaged or foreign file can raise while its parts are put together.
MISFITS = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RuntimeError,
    TypeError,
    ValueError,
)
LABELS = tuple(spec.name for spec in fields(Labels))
COVARIANCE = ("x", "z", "factor")
MIXES = ("shares", "residual", "count")
POTENTIAL = ("directions", "offsets")
# Dtype and axes of arrays: n rows, d features, q places, K channels, M members; m inducing rows,
# r directions; G mixes; N remembered actions, C coordinates, D and B dimensions of the index,
# p terms and a constant P, S members, T bytes.
OUTCOME_AXES = {
    "memory.x": ("float32", "nd"),
    "memory.shares": ("float32", "nqK"),
    "memory.source": ("int16", "nq"),
    "memory.target": ("int16", "nq"),
    "memory.step": ("float32", "nq"),
    "memory.pair": ("float32", "Mnq"),
    "memory.field": ("float32", "MnqK"),
    "memory.window": ("int64", "n"),
    "memory.rank": ("float64", "n"),
    "scaling.centre": ("float32", "K"),
    "scaling.inverse": ("float32", "K"),
}
LEVEL_AXES = {"level.weights": ("float64", "d")}
COVARIANCE_AXES = {
    "covariance.x": ("float32", "md"),
    "covariance.z": ("float32", "mK"),
    "covariance.factor": ("float32", "mr"),
    "covariance_scaling.centre": ("float32", "K"),
    "covariance_scaling.inverse": ("float32", "K"),
    "kernel.reach": ("float32", ""),
    "kernel.noise": ("float32", ""),
    **{
        f"kernel.{name}.{part}": ("float32", axes)
        for part in ("baseline", "slope", "curve")
        for name, axes in (
            ("length", "d"),
            ("linear", "d"),
            ("amplitude", ""),
            ("constant", ""),
        )
    },
}
MIXES_AXES = {
    "mixes.shares": ("float64", "GK"),
    "mixes.residual": ("float64", "G"),
    "mixes.count": ("int64", "G"),
}
SUPPORT_AXES = {
    "support.logged.x": ("float32", "Nd"),
    "support.logged.shares": ("float64", "NK"),
    "support.logged.time": ("int64", "N"),
    "support.logged.window": ("int64", "N"),
    "support.logged.rank": ("float64", "N"),
    "support.logged.unit_text": ("uint8", "T"),
    "support.logged.unit_ends": ("int64", "N"),
    "support.location.centre": ("float64", "PC"),
    "support.location.log_scale": ("float64", "P"),
    "support.location.centre_precision": ("float64", "P"),
    "support.location.scale_precision": ("float64", "P"),
    "support.density.origin": ("float64", "C"),
    "support.density.whiten": ("float64", "CC"),
    "support.density.centres": ("float64", "SPC"),
    "support.density.log_scales": ("float64", "SP"),
    "support.density.by_count": ("float64", "K"),
    "support.basis.continuous": ("uint8", "d"),
    "support.basis.mean": ("float64", "p"),
    "support.basis.spread": ("float64", "p"),
    "support.basis.curves": ("float64", "eh"),
    "support.ranks": ("float64", "N"),
    "support.direction.points": ("float64", "ND"),
    "support.direction.axes": ("float64", "BD"),
    "support.direction.ranks": ("float64", "N"),
}


@dataclass(frozen=True)
class SavedModel:
    """What a folder holds: everything learned, the config and the schema."""

    state: RoundState
    config: Config
    schema: Schema

    def without_memory(self) -> "SavedModel":
        """A smaller copy that answers alike and cannot learn further."""
        return SavedModel(self.state.without_memory(), self.config, self.schema)


def write_model(
    path: str | PathLike[str], model: SavedModel, origin: Mapping[str, Any] | None = None
) -> None:
    """Write a model; `origin` says of which version it is a copy."""
    arrays, table = _to_parts(model)
    if origin:
        table["origin"] = dict(origin)
    write_artifact(path, KIND, arrays, table)


def pack_model(path: str | PathLike[str], model: SavedModel) -> dict[str, bytes]:
    """The files that `write_model` would write to `path`, by name."""
    return pack_artifact(path, KIND, *_to_parts(model))


def read_model(path: str | PathLike[str]) -> SavedModel:
    """Read what `write_model` wrote."""
    return rebuild_model(read_artifact(path, KIND), path)


def unpack_model(files: Mapping[str, bytes]) -> SavedModel:
    """Read what `pack_model` made, with every check of a saved folder."""
    return rebuild_model(unpack_artifact(PICKLED, KIND, files), PICKLED)


def rebuild_model(artifact: Artifact, path: str | PathLike[str]) -> SavedModel:
    """A model from an artifact that was read from `path`."""
    try:
        return _from_parts(artifact.meta, artifact.tensors)
    except (*MISFITS, ReallocError) as problem:
        # Digests hold, so these bytes were written like this: by another program, or by hand.
        raise ArtifactError(
            f"Expected a model of this version of realloc at {str(path)!r}, but its parts do not "
            f"fit together ({type(problem).__name__}: {problem}). Fit it again."
        ) from problem


def _to_parts(model: SavedModel) -> tuple[Arrays, dict[str, Any]]:
    table, arrays = _state_parts(model.state)
    broken = _not_finite(arrays)
    if broken:
        raise ArtifactError(
            f"Expected finite numbers to save, but {broken!r} holds others. Nothing was written."
        )
    return arrays, plain(
        {"config": asdict(model.config), "schema": asdict(model.schema), **table}
    )


def _state_parts(state: RoundState) -> tuple[dict[str, Any], Arrays]:
    encoder, encoder_arrays = state.encoder.to_parts()
    support, support_arrays = serialization.to_parts(state.support)
    arrays: Arrays = {f"encoder.{name}": values for name, values in encoder_arrays.items()}
    arrays |= {f"support.{name}": values for name, values in support_arrays.items()}
    outcomes: list[dict[str, Any]] = []
    for number, (name, learned) in enumerate(state.outcomes.items()):
        table, own = _learned_parts(learned)
        outcomes.append({"name": name, **table})
        arrays |= {f"outcome{number}.{part}": values for part, values in own.items()}
    table = {
        "encoder": encoder,
        "rounds": state.rounds,
        "support": support,
        "outcomes": outcomes,
    }
    return table, arrays


def _learned_parts(learned: Learned) -> tuple[dict[str, Any], Arrays]:
    student = learned.student
    if not isinstance(student, Potential):
        raise ArtifactError(
            "Expected a student to save, got a model that decides without one."
        )
    arrays: Arrays = {f"memory.{name}": getattr(learned.memory, name) for name in LABELS}
    arrays |= {f"student.{name}": values for name, values in student.weights.items()}
    arrays |= _scaling_arrays("scaling", student.scaling)
    table: dict[str, Any] = {
        "outcome_scale": student.scaling.outcome,
        "nuisances": asdict(learned.nuisances),
        "committee": asdict(learned.committee),
        "covariance": None,
        "mixes": None,
        "level": None,
        "tested": None if learned.tested is None else asdict(learned.tested),
        "hidden": None if learned.hidden is None else asdict(learned.hidden),
    }
    covariance = learned.covariance
    if covariance is not None:
        arrays |= {f"covariance.{name}": getattr(covariance, name) for name in COVARIANCE}
        arrays |= {f"kernel.{name}": values for name, values in covariance.kernel.items()}
        arrays |= _scaling_arrays("covariance_scaling", covariance.scaling)
        table["covariance"] = {
            "scale": covariance.scaling.outcome,
            "misfit": covariance.misfit,
            "share": covariance.share,
            "directions": covariance.factor.shape[1],
        }
    level = learned.level
    if level is not None:
        arrays["level.weights"] = level.weights
        table["level"] = {"offset": level.offset, "low": level.low, "high": level.high}
    mixes = learned.mixes
    if mixes is not None:
        arrays |= {f"mixes.{name}": getattr(mixes, name) for name in MIXES}
        table["mixes"] = {"lasting": mixes.lasting, "noise": mixes.noise}
    return table, arrays


def _scaling_arrays(prefix: str, scaling: Scaling) -> Arrays:
    return {f"{prefix}.centre": scaling.centre, f"{prefix}.inverse": scaling.inverse}


def _from_parts(meta: dict[str, Any], arrays: Arrays) -> SavedModel:
    broken = _not_finite(arrays)
    if broken:
        raise ValueError(f"{broken} holds numbers that are not finite")
    config = parse_config(meta["config"], WHERE)
    schema = from_table(Schema, meta["schema"], WHERE)
    encoder = Encoder.from_parts(meta["encoder"], _under("encoder.", arrays))
    if set(encoder.features) != set(schema.features or ()):
        raise ValueError("the encoder and the schema name other features")
    if int(meta["rounds"]) < 1:
        raise ValueError("rounds are not above 0")
    names = [str(table["name"]) for table in meta["outcomes"]]
    if names != [schema.outcome, *schema.guardrails]:
        raise ValueError(f"the outcomes are {names}, the schema names others")
    sizes = {"K": len(schema.channels), "d": _width(encoder, schema)}
    _check_arrays(arrays, SUPPORT_AXES, sizes | {"e": sizes["d"] + 1})
    sizes |= {"M": config.teacher.members, "q": config.moves.places}
    outcomes = {
        name: _read_learned(table, _under(f"outcome{number}.", arrays), config, dict(sizes))
        for number, (name, table) in enumerate(zip(names, meta["outcomes"], strict=True))
    }
    support = serialization.from_parts(meta["support"], _under("support.", arrays))
    state = RoundState(encoder, outcomes, support, int(meta["rounds"]))
    _check_whole(arrays, _state_parts(state)[1])
    return SavedModel(state, config, schema)


def _check_whole(saved: Arrays, read: Arrays) -> None:
    """Every array was read, and as it is: none is left over, cast or cut on the way."""
    for name in sorted(saved.keys() | read.keys()):
        if name not in read:
            raise ValueError(f"{name} belongs to nothing")
        if saved[name].dtype != read[name].dtype or not np.array_equal(
            saved[name], read[name]
        ):
            shape = saved[name].shape
            raise ValueError(
                f"{name} is of {saved[name].dtype} and shape {shape}, or of other values"
            )


def _read_learned(
    meta: dict[str, Any], arrays: Arrays, config: Config, sizes: dict[str, int]
) -> Learned:
    _check_arrays(arrays, OUTCOME_AXES, sizes)
    for name in ("memory.source", "memory.target"):
        if np.any((arrays[name] < 0) | (arrays[name] >= sizes["K"])):
            raise ValueError(f"{name} names a channel that there is not")
    scaling = _read_scaling("scaling", arrays, meta["outcome_scale"])
    level = _read_level(meta["level"], arrays, sizes)
    student = _read_student(_under("student.", arrays), scaling, config, sizes)
    covariance = _read_covariance(meta["covariance"], arrays, sizes)
    return Learned(
        memory=Labels(**{name: arrays[f"memory.{name}"] for name in LABELS}),
        student=replace(student, level=level),
        nuisances=Diagnostics.from_json(meta["nuisances"]),
        committee=from_table(CommitteeWeights, meta["committee"], WHERE),
        covariance=None if covariance is None else replace(covariance, level=level),
        mixes=_read_mixes(meta["mixes"], arrays, sizes),
        level=level,
        tested=None if meta["tested"] is None else GainCorrection.from_json(meta["tested"]),
        hidden=None if meta["hidden"] is None else HiddenCauses.from_json(meta["hidden"]),
    )


def _read_level(
    table: dict[str, Any] | None, arrays: Arrays, sizes: dict[str, int]
) -> OutcomeLevel | None:
    if table is None:
        return None
    _check_arrays(arrays, LEVEL_AXES, sizes)
    return OutcomeLevel(
        weights=arrays["level.weights"],
        offset=float(table["offset"]),
        low=float(table["low"]),
        high=_at_least(float(table["low"]), table["high"]),
    )


def _read_student(
    weights: Arrays, scaling: Scaling, config: Config, sizes: dict[str, int]
) -> Potential:
    student = Potential(weights, scaling)
    shape = (sizes["M"], sizes["K"], config.student.trunk)
    if student.directions.shape != shape or student.directions.dtype != np.float32:
        raise ValueError(
            f"the student's directions are {student.directions.shape}, not {shape}"
        )
    strangers = [name for name in weights if not name.startswith((*POTENTIAL, CONTEXT))]
    if strangers:
        raise ValueError(f"{strangers[0]} belongs to no part of the student")
    first = student.context.layers[0].weight.shape
    if first != (sizes["M"], sizes["d"], config.student.width):
        raise ValueError(f"the student's first layer is {first}, the config says otherwise")
    return student


def _read_covariance(
    table: dict[str, Any] | None, arrays: Arrays, sizes: dict[str, int]
) -> GainCovariance | None:
    if table is None:
        return None
    _check_arrays(arrays, COVARIANCE_AXES, sizes | {"r": int(table["directions"])})
    return GainCovariance(
        kernel=_under("kernel.", arrays),
        scaling=_read_scaling("covariance_scaling", arrays, table["scale"]),
        misfit=None if table["misfit"] is None else _at_least(0.0, table["misfit"]),
        share=_at_least(0.0, table["share"]),
        x=arrays["covariance.x"],
        z=arrays["covariance.z"],
        factor=arrays["covariance.factor"],
    )


def _read_mixes(
    table: dict[str, Any] | None, arrays: Arrays, sizes: dict[str, int]
) -> RepeatedMixes | None:
    if table is None:
        return None
    _check_arrays(arrays, MIXES_AXES, sizes)
    if arrays["mixes.count"].min() < 1:
        raise ValueError("the counts of repeated mixes are not above 0")
    return RepeatedMixes(
        shares=arrays["mixes.shares"],
        residual=arrays["mixes.residual"],
        count=arrays["mixes.count"],
        lasting=_at_least(np.nextafter(0, 1), table["lasting"]),
        noise=_at_least(0.0, table["noise"]),
    )


def _read_scaling(prefix: str, arrays: Arrays, outcome: Any) -> Scaling:
    scale = _at_least(np.nextafter(0, 1), outcome)
    return Scaling(arrays[f"{prefix}.centre"], arrays[f"{prefix}.inverse"], scale)


def _at_least(least: float, value: Any) -> float:
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not least <= value < np.inf
    ):
        raise ValueError(f"expected a number of at least {least}, got {value!r}")
    return float(value)


def _check_arrays(
    arrays: Arrays, axes_by_name: dict[str, tuple[str, str]], sizes: dict[str, int]
) -> None:
    """Arrays have their dtype and agree about their axes; what stands in `sizes` is given."""
    for name, (dtype, axes) in axes_by_name.items():
        array = arrays[name]
        if array.dtype.name != dtype or array.ndim != len(axes):
            raise ValueError(f"{name} is of {array.dtype} and shape {array.shape}")
        for axis, size in zip(axes, array.shape, strict=True):
            if sizes.setdefault(axis, size) != size:
                raise ValueError(
                    f"{name} has shape {array.shape}, others make ({axes}) of {sizes}"
                )


def _width(encoder: Encoder, schema: Schema) -> int:
    """How many columns the encoder makes: it encodes a log without rows."""
    numbers = [
        *schema.channels,
        *([schema.budget] if schema.budget else []),
        *encoder.numbers,
    ]
    columns: dict[str, pa.Array] = {name: pa.array([], pa.float64()) for name in numbers}
    texts = pa.array([], pa.string()).dictionary_encode()
    columns |= dict.fromkeys((schema.unit, *encoder.categories), texts)
    columns[schema.time] = pa.array([], pa.date32())
    return encoder.encode(Logs(schema, pa.table(columns), encoder.features)).values.shape[1]


def _not_finite(arrays: Arrays) -> str | None:
    """The name of an array that holds other than finite numbers."""
    for name, values in arrays.items():
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            return name
    return None


def _under(prefix: str, arrays: Arrays) -> Arrays:
    return {
        name.removeprefix(prefix): values
        for name, values in arrays.items()
        if name.startswith(prefix)
    }


def plain(value: Any) -> Any:
    """Tuples as lists and numpy scalars as numbers, for JSON."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value.item() if isinstance(value, np.generic) else value
