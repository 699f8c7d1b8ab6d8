"""A model as a folder: weights and replay in safetensors, everything else in JSON."""

from dataclasses import asdict
from os import PathLike
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray

from realloc.artifact import read_artifact, write_artifact
from realloc.config import Config, parse_config
from realloc.errors import ArtifactError, ReallocError
from realloc.features import Encoder
from realloc.fields import from_table
from realloc.logs import Logs, Schema
from realloc.nuisances import Diagnostics
from realloc.replay import Labels
from realloc.rounds import RoundState
from realloc.student.distill import new_student
from realloc.teacher.committee import Weighing
from realloc.teacher.sample import Scaling

KIND = "model"
MISFITS = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
REPLAY = tuple(Labels.__dataclass_fields__)
WHERE = "the saved model"
AXES = {  # dtype and axes of every array: n rows, d features, q places, K channels, M members
    "replay.x": ("float32", "nd"),
    "replay.shares": ("float32", "nqK"),
    "replay.source": ("int16", "nq"),
    "replay.target": ("int16", "nq"),
    "replay.step": ("float32", "nq"),
    "replay.pair": ("float32", "Mnq"),
    "replay.field": ("float32", "MnqK"),
    "replay.window": ("int64", "n"),
    "replay.rank": ("float64", "n"),
    "scaling.centre": ("float32", "K"),
    "scaling.inverse": ("float32", "K"),
}


def write_model(path: str | PathLike[str], state: RoundState, config: Config, schema: Schema) -> None:
    """Write everything that `recommend` and the next round need."""
    encoder, arrays = state.encoder.to_parts()
    scaling = state.student.scaling
    tensors = {f"encoder.{name}": values for name, values in arrays.items()}
    tensors |= {f"replay.{name}": getattr(state.replay, name) for name in REPLAY}
    tensors |= {f"student.{name}": values.numpy() for name, values in state.student.network.state_dict().items()}
    tensors |= {"scaling.centre": scaling.centre.numpy(), "scaling.inverse": scaling.inverse.numpy()}
    broken = _not_finite(tensors)
    if broken:
        raise ArtifactError(f"Expected finite numbers to save, but {broken[0]!r} holds others. Nothing was written.")
    meta = {
        "config": asdict(config),
        "schema": asdict(schema),
        "encoder": encoder,
        "rounds": state.rounds,
        "outcome_scale": scaling.outcome,
        "nuisances": state.nuisances.to_json(),
        "weighing": asdict(state.weighing),
    }
    write_artifact(path, KIND, tensors, plain(meta))


def read_model(path: str | PathLike[str]) -> tuple[RoundState, Config, Schema]:
    """Read what `write_model` wrote."""
    artifact = read_artifact(path, KIND)
    try:
        return _rebuild(artifact.meta, artifact.tensors)
    except (*MISFITS, ReallocError) as problem:
        # Digests hold, so these bytes were written like this: by another program, or by hand.
        raise ArtifactError(
            f"Expected a model of this version of realloc at {str(path)!r}, but its parts do not fit together "
            f"({type(problem).__name__}: {problem})."
        ) from problem


def _rebuild(meta: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> tuple[RoundState, Config, Schema]:
    config, schema = parse_config(meta["config"], WHERE), from_table(Schema, meta["schema"], WHERE)
    encoder = Encoder.from_parts(meta["encoder"], _under("encoder.", tensors))
    sizes = {"K": len(schema.channels), "M": config.teacher.members, "q": config.moves.places}
    _check_arrays(tensors, sizes | {"d": _width(encoder, schema)})
    if set(encoder.features) != set(schema.features or ()):
        raise ValueError("the encoder and the schema name other features")
    if int(meta["rounds"]) < 1 or float(meta["outcome_scale"]) <= 0:
        raise ValueError("rounds or the scale of the outcome are not above 0")
    replay = Labels(**{name: tensors[f"replay.{name}"] for name in REPLAY})
    centre, inverse = (torch.from_numpy(tensors[f"scaling.{name}"]) for name in ("centre", "inverse"))
    student = new_student(replay, Scaling(centre, inverse, float(meta["outcome_scale"])), config.student, 0)
    weights = {name: torch.from_numpy(values) for name, values in _under("student.", tensors).items()}
    student.network.load_state_dict(weights)
    student.network.requires_grad_(False)
    state = RoundState(
        encoder=encoder,
        replay=replay,
        student=student,
        rounds=int(meta["rounds"]),
        nuisances=Diagnostics.from_json(meta["nuisances"]),
        weighing=from_table(Weighing, meta["weighing"], WHERE),
    )
    return state, config, schema


def _check_arrays(tensors: dict[str, NDArray[Any]], sizes: dict[str, int]) -> None:
    """All arrays are finite and agree about n, d, q, K and M; what stands in `sizes` is given."""
    broken = _not_finite(tensors)
    if broken:
        raise ValueError(f"{broken[0]} holds numbers that are not finite")
    for name, (dtype, axes) in AXES.items():
        found = tensors[name]
        if found.dtype.name != dtype or found.ndim != len(axes):
            raise ValueError(f"{name} is of {found.dtype} and shape {found.shape}")
        if any(sizes.setdefault(axis, size) != size for axis, size in zip(axes, found.shape, strict=True)):
            raise ValueError(f"{name} has shape {found.shape}, others make ({', '.join(axes)}) of {sizes}")
    for name in ("replay.source", "replay.target"):
        if np.any((tensors[name] < 0) | (tensors[name] >= sizes["K"])):
            raise ValueError(f"{name} names a channel that there is not")


def _width(encoder: Encoder, schema: Schema) -> int:
    """How many columns the encoder makes: it encodes a log without rows."""
    numbers = [*schema.channels, *([schema.budget] if schema.budget else []), *encoder.numbers]
    columns: dict[str, pa.Array] = {name: pa.array([], pa.float64()) for name in numbers}
    texts = pa.array([], pa.string()).dictionary_encode()
    columns |= dict.fromkeys((schema.unit, *encoder.categories), texts)
    columns[schema.time] = pa.array([], pa.date32())
    return encoder.encode(Logs(schema, pa.table(columns), encoder.features)).values.shape[1]


def _not_finite(tensors: dict[str, NDArray[Any]]) -> list[str]:
    return [name for name, values in tensors.items() if values.dtype.kind == "f" and not np.isfinite(values).all()]


def _under(prefix: str, tensors: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    return {name.removeprefix(prefix): values for name, values in tensors.items() if name.startswith(prefix)}


def plain(value: Any) -> Any:
    """Tuples as lists and numpy scalars as numbers, for JSON."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value.item() if isinstance(value, np.generic) else value
