"""A model as a folder: weights and replay in safetensors, everything else in JSON."""

from dataclasses import asdict
from os import PathLike
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from realloc.artifact import read_artifact, write_artifact
from realloc.config import Config, parse_config
from realloc.errors import ArtifactError, ReallocError
from realloc.features import Encoder
from realloc.fields import from_table
from realloc.logs import Schema
from realloc.nuisances import Diagnostics
from realloc.replay import Labels
from realloc.rounds import RoundState
from realloc.student.distill import new_student
from realloc.teacher.committee import Weighing
from realloc.teacher.sample import Scaling

KIND = "model"
REPLAY = tuple(Labels.__dataclass_fields__)
WHERE = "the saved model"


def write_model(path: str | PathLike[str], state: RoundState, config: Config, schema: Schema) -> None:
    """Write everything that `recommend` and the next round need."""
    encoder, arrays = state.encoder.to_parts()
    scaling = state.student.scaling
    tensors = {f"encoder.{name}": values for name, values in arrays.items()}
    tensors |= {f"replay.{name}": getattr(state.replay, name) for name in REPLAY}
    tensors |= {f"student.{name}": values.numpy() for name, values in state.student.network.state_dict().items()}
    tensors |= {"scaling.centre": scaling.centre.numpy(), "scaling.inverse": scaling.inverse.numpy()}
    broken = [name for name, values in tensors.items() if values.dtype.kind == "f" and not np.isfinite(values).all()]
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
    except (KeyError, TypeError, ValueError, RuntimeError, ReallocError) as problem:
        # Digests hold, so these bytes were written like this: by another program, or by hand.
        raise ArtifactError(
            f"Expected a model of this version of realloc at {str(path)!r}, but its parts do not fit together "
            f"({type(problem).__name__}: {problem})."
        ) from problem


def _rebuild(meta: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> tuple[RoundState, Config, Schema]:
    config = parse_config(meta["config"], WHERE)
    replay = Labels(**{name: tensors[f"replay.{name}"] for name in REPLAY})
    centre, inverse = (torch.from_numpy(tensors[f"scaling.{name}"]) for name in ("centre", "inverse"))
    student = new_student(replay, Scaling(centre, inverse, float(meta["outcome_scale"])), config.student, 0)
    weights = {name: torch.from_numpy(values) for name, values in _under("student.", tensors).items()}
    student.network.load_state_dict(weights)
    student.network.requires_grad_(False)
    state = RoundState(
        encoder=Encoder.from_parts(meta["encoder"], _under("encoder.", tensors)),
        replay=replay,
        student=student,
        rounds=int(meta["rounds"]),
        nuisances=Diagnostics.from_json(meta["nuisances"]),
        weighing=from_table(Weighing, meta["weighing"], WHERE),
    )
    return state, config, from_table(Schema, meta["schema"], WHERE)


def _under(prefix: str, tensors: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    return {name.removeprefix(prefix): values for name, values in tensors.items() if name.startswith(prefix)}


def plain(value: Any) -> Any:
    """Tuples as lists and numpy scalars as numbers, for JSON."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value.item() if isinstance(value, np.generic) else value
