"""A model as a folder: weights and replay in safetensors, everything else in JSON."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from os import PathLike
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray

from realloc.base.artifact import pack_artifact, read_artifact, write_artifact
from realloc.base.errors import ArtifactError, ReallocError
from realloc.base.validation import from_table
from realloc.learn.features.encode import Encoder
from realloc.learn.memory.moves import Labels
from realloc.learn.nuisances.diagnostics import Diagnostics
from realloc.learn.student.distill import new_student
from realloc.learn.support.serialization import from_parts as support_of_parts
from realloc.learn.support.serialization import to_parts as support_parts
from realloc.learn.teacher.committee import CommitteeWeights
from realloc.learn.teacher.covariance import Doubt
from realloc.learn.teacher.kernel import Kernel
from realloc.learn.teacher.repeated_mixes import Places
from realloc.learn.teacher.sample import Scaling
from realloc.logs import Logs, Schema
from realloc.model.config import Config, parse_config
from realloc.model.round import Learned, RoundState

KIND = "model"
MISFITS = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
REPLAY = tuple(Labels.__dataclass_fields__)
WHERE = "the saved model"
REPLAY_AXES = {  # dtype and axes of every array: n rows, d features, q places, K channels, M members
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
DOUBT = ("x", "z", "factor")
DOUBT_AXES = {  # m inducing rows, r directions
    "doubt.x": ("float32", "md"),
    "doubt.z": ("float32", "mK"),
    "doubt.factor": ("float32", "mr"),
    "doubt_scaling.centre": ("float32", "K"),
    "doubt_scaling.inverse": ("float32", "K"),
}
PLACES = ("shares", "residual", "count")
PLACES_AXES = {  # G mixes
    "places.shares": ("float64", "GK"),
    "places.residual": ("float64", "G"),
    "places.count": ("int64", "G"),
}
SUPPORT_AXES = {  # N remembered actions, C coordinates, p terms and a constant P, S members, T bytes
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
    "support.basis.continuous": ("uint8", "d"),
    "support.basis.mean": ("float64", "p"),
    "support.basis.spread": ("float64", "p"),
    "support.ladder": ("float64", "N"),
}


def write_model(
    path: str | PathLike[str],
    state: RoundState,
    config: Config,
    schema: Schema,
    origin: Mapping[str, Any] | None = None,
) -> None:
    """Write everything that `recommend` and the next round need; `origin` says of which version it is a copy."""
    tensors, meta = model_parts(state, config, schema)
    write_artifact(path, KIND, tensors, meta | ({"origin": dict(origin)} if origin else {}))


def without_replay(state: RoundState) -> RoundState:
    """The same answers without the memory of labelled moves, which only the next round needs."""
    none = np.array([], dtype=np.int64)
    outcomes = {
        name: replace(learned, replay=learned.replay.take(none))
        for name, learned in state.outcomes.items()
    }
    return replace(state, outcomes=outcomes)


def pack_model(
    path: str | PathLike[str], state: RoundState, config: Config, schema: Schema
) -> dict[str, bytes]:
    """The files that `write_model` would write to `path`, by name."""
    return pack_artifact(path, KIND, *model_parts(state, config, schema))


def model_parts(
    state: RoundState, config: Config, schema: Schema
) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Arrays and plain values of a model."""
    table, tensors = _state_parts(state)
    broken = _not_finite(tensors)
    if broken:
        raise ArtifactError(
            f"Expected finite numbers to save, but {broken[0]!r} holds others. Nothing was written."
        )
    return tensors, plain({"config": asdict(config), "schema": asdict(schema), **table})


def _state_parts(state: RoundState) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    encoder, arrays = state.encoder.to_parts()
    tensors = {f"encoder.{name}": values for name, values in arrays.items()}
    support, arrays = support_parts(state.support)
    tensors |= {f"support.{name}": values for name, values in arrays.items()}
    outcomes: list[dict[str, Any]] = []
    for number, (name, learned) in enumerate(state.outcomes.items()):
        table, arrays = _learned_parts(learned)
        outcomes.append({"name": name, **table})
        tensors |= {f"outcome{number}.{part}": values for part, values in arrays.items()}
    return {
        "encoder": encoder,
        "rounds": state.rounds,
        "support": support,
        "outcomes": outcomes,
    }, tensors


def _learned_parts(learned: Learned) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    scaling = learned.student.scaling
    arrays: dict[str, NDArray[Any]] = {
        f"replay.{name}": getattr(learned.replay, name) for name in REPLAY
    }
    arrays |= {
        f"student.{name}": values.numpy()
        for name, values in learned.student.network.state_dict().items()
    }
    arrays |= {"scaling.centre": scaling.centre.numpy(), "scaling.inverse": scaling.inverse.numpy()}
    if learned.doubt is not None:
        arrays |= {f"doubt.{name}": getattr(learned.doubt, name).numpy() for name in DOUBT}
        arrays |= {
            f"kernel.{name}": v.numpy().reshape(v.shape)
            for name, v in learned.doubt.kernel.state_dict().items()
        }
        arrays |= {
            f"doubt_scaling.{name}": getattr(learned.doubt.scaling, name).numpy()
            for name in ("centre", "inverse")
        }
    places = learned.places
    if places is not None:
        arrays |= {f"places.{name}": getattr(places, name) for name in PLACES}
    table = {
        "outcome_scale": scaling.outcome,
        "doubt": None
        if learned.doubt is None
        else {
            "scale": learned.doubt.scaling.outcome,
            "misfit": learned.doubt.misfit,
            "directions": learned.doubt.factor.shape[1],
        },
        "nuisances": learned.nuisances.to_json(),
        "weighing": asdict(learned.weighing),
        "places": None if places is None else {"lasting": places.lasting, "noise": places.noise},
    }
    return table, arrays


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


def _rebuild(
    meta: dict[str, Any], tensors: dict[str, NDArray[Any]]
) -> tuple[RoundState, Config, Schema]:
    config, schema = parse_config(meta["config"], WHERE), from_table(Schema, meta["schema"], WHERE)
    encoder = Encoder.from_parts(meta["encoder"], _under("encoder.", tensors))
    sizes = {"K": len(schema.channels), "d": _width(encoder, schema)}
    _check_arrays(tensors, SUPPORT_AXES, dict(sizes))
    if set(encoder.features) != set(schema.features or ()):
        raise ValueError("the encoder and the schema name other features")
    if int(meta["rounds"]) < 1:
        raise ValueError("rounds are not above 0")
    names = [str(table["name"]) for table in meta["outcomes"]]
    if names != [schema.outcome, *schema.guardrails]:
        raise ValueError(f"the outcomes are {names}, the schema names others")
    sizes |= {"M": config.teacher.members, "q": config.moves.places}
    outcomes = {
        name: _learned(table, _under(f"outcome{number}.", tensors), config, dict(sizes))
        for number, (name, table) in enumerate(zip(names, meta["outcomes"], strict=True))
    }
    support = support_of_parts(meta["support"], _under("support.", tensors))
    state = RoundState(encoder, outcomes, support, int(meta["rounds"]))
    _check_whole(tensors, _state_parts(state)[1])
    return state, config, schema


def _check_whole(found: dict[str, NDArray[Any]], read: dict[str, NDArray[Any]]) -> None:
    """Every array was read, and as it is: none is left over, cast or cut on the way."""
    for name in sorted(found.keys() | read.keys()):
        if name not in read:
            raise ValueError(f"{name} belongs to nothing")
        if found[name].dtype != read[name].dtype or not np.array_equal(found[name], read[name]):
            raise ValueError(
                f"{name} is of {found[name].dtype} and shape {found[name].shape}, or holds other values"
            )


def _learned(
    meta: dict[str, Any], tensors: dict[str, NDArray[Any]], config: Config, sizes: dict[str, int]
) -> Learned:
    _check_arrays(tensors, REPLAY_AXES, sizes)
    for name in ("replay.source", "replay.target"):
        if np.any((tensors[name] < 0) | (tensors[name] >= sizes["K"])):
            raise ValueError(f"{name} names a channel that there is not")
    if float(meta["outcome_scale"]) <= 0:
        raise ValueError("the scale of the outcome is not above 0")
    replay = Labels(**{name: tensors[f"replay.{name}"] for name in REPLAY})
    centre, inverse = (
        torch.from_numpy(tensors[f"scaling.{name}"]) for name in ("centre", "inverse")
    )
    saved = sum(values.size for values in _under("student.", tensors).values())
    if saved < sizes["M"] * config.student.width**2:
        raise ValueError(
            "the student is smaller than its config says"
        )  # before memory for a large one is asked for
    student = new_student(
        replay, Scaling(centre, inverse, float(meta["outcome_scale"])), config.student, 0
    )
    weights = {
        name: torch.from_numpy(values) for name, values in _under("student.", tensors).items()
    }
    student.network.load_state_dict(weights)
    student.network.requires_grad_(False)
    weighing = from_table(CommitteeWeights, meta["weighing"], WHERE)
    doubt = _doubt(meta["doubt"], tensors, sizes)
    places = _places(meta.get("places"), tensors, sizes)
    return Learned(
        replay, student, Diagnostics.from_json(meta["nuisances"]), weighing, doubt, places
    )


def _places(
    table: dict[str, Any] | None, tensors: dict[str, NDArray[Any]], sizes: dict[str, int]
) -> Places | None:
    if table is None:
        return None
    _check_arrays(tensors, PLACES_AXES, sizes)
    lasting, noise = float(table["lasting"]), float(table["noise"])
    if not (lasting > 0 and noise >= 0 and tensors["places.count"].min() > 0):
        raise ValueError("the variances and counts of places are not above 0")
    shares, residual, count = (tensors[f"places.{name}"] for name in PLACES)
    return Places(shares, residual, count, lasting, noise)


def _doubt(
    table: dict[str, Any] | None, tensors: dict[str, NDArray[Any]], sizes: dict[str, int]
) -> Doubt | None:
    if table is None:
        return None
    _check_arrays(tensors, DOUBT_AXES, sizes | {"r": int(table["directions"])})
    scale, misfit = (
        float(table["scale"]),
        None if table["misfit"] is None else float(table["misfit"]),
    )
    if scale <= 0:
        raise ValueError("the scale of the doubt is not above 0")
    if misfit is not None and not 0 <= misfit < np.inf:
        raise ValueError("the misfit of the doubt is not a number of at least 0")
    kernel = Kernel(sizes["d"])
    kernel.load_state_dict(
        {name: torch.from_numpy(values) for name, values in _under("kernel.", tensors).items()}
    )
    centre, inverse = (
        torch.from_numpy(tensors[f"doubt_scaling.{name}"]) for name in ("centre", "inverse")
    )
    parts = {name: torch.from_numpy(tensors[f"doubt.{name}"]) for name in DOUBT}
    return Doubt(
        kernel=kernel.requires_grad_(False),
        scaling=Scaling(centre, inverse, scale),
        misfit=misfit,
        **parts,
    )


def _check_arrays(
    tensors: dict[str, NDArray[Any]], kinds: dict[str, tuple[str, str]], sizes: dict[str, int]
) -> None:
    """All arrays are finite and agree about their axes; what stands in `sizes` is given."""
    broken = _not_finite(tensors)
    if broken:
        raise ValueError(f"{broken[0]} holds numbers that are not finite")
    for name, (dtype, axes) in kinds.items():
        found = tensors[name]
        if found.dtype.name != dtype or found.ndim != len(axes):
            raise ValueError(f"{name} is of {found.dtype} and shape {found.shape}")
        if any(
            sizes.setdefault(axis, size) != size
            for axis, size in zip(axes, found.shape, strict=True)
        ):
            raise ValueError(
                f"{name} has shape {found.shape}, others make ({', '.join(axes)}) of {sizes}"
            )


def _width(encoder: Encoder, schema: Schema) -> int:
    """How many columns the encoder makes: it encodes a log without rows."""
    numbers = [*schema.channels, *([schema.budget] if schema.budget else []), *encoder.numbers]
    columns: dict[str, pa.Array] = {name: pa.array([], pa.float64()) for name in numbers}
    texts = pa.array([], pa.string()).dictionary_encode()
    columns |= dict.fromkeys((schema.unit, *encoder.categories), texts)
    columns[schema.time] = pa.array([], pa.date32())
    return encoder.encode(Logs(schema, pa.table(columns), encoder.features)).values.shape[1]


def _not_finite(tensors: dict[str, NDArray[Any]]) -> list[str]:
    return [
        name
        for name, values in tensors.items()
        if values.dtype.kind == "f" and not np.isfinite(values).all()
    ]


def _under(prefix: str, tensors: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    return {
        name.removeprefix(prefix): values
        for name, values in tensors.items()
        if name.startswith(prefix)
    }


def plain(value: Any) -> Any:
    """Tuples as lists and numpy scalars as numbers, for JSON."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value.item() if isinstance(value, np.generic) else value
