"""The scorer: what `ReAlloc` answers, from a saved model, with numpy alone. It reads and decides; it never learns."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from realloc.base.artifact import Artifact, read_artifact, write_artifact
from realloc.base.errors import ArtifactError, ReallocError
from realloc.base.numerics.blas import one_blas_thread
from realloc.base.simplex import Floats
from realloc.decide.constraints.constraints import Constraints
from realloc.decide.types import Decision, recommend
from realloc.logs import Logs, Schema
from realloc.logs.reading.wanted import read_shares
from realloc.model.config import Config
from realloc.model.explain import Explanation, explain_unit
from realloc.model.recommend import recommend_rows
from realloc.model.request import read_constraints, read_today
from realloc.serve.parts import build, from_model, with_direction
from realloc.serve.state import ServedState

if TYPE_CHECKING:
    from realloc.model.realloc import ReAlloc

KIND, MODEL = "serving", "model"
MISFITS = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)


def settings_of(config: Config) -> dict[str, Any]:
    """The tables that decide, as plain values for the decision log; floats as JSON gives them back."""
    told = {"decision": asdict(config.decision), "constraints": asdict(config.constraints)}
    return json.loads(json.dumps(told | {"money_digits": config.money_digits, "seed": config.seed}))


class Scorer:
    """The answers of a model: the same verbs and columns as `ReAlloc`."""

    def __init__(self, state: ServedState, config: Config, schema: Schema) -> None:
        self.state, self.config, self.schema = state, config, schema

    def recommend(
        self, today: Any, constraints: Any = None, pools: dict[str, float] | None = None
    ) -> Any:
        """One row of advice per row of `today`, as `ReAlloc.recommend`. A row's answer never depends on other rows."""
        wanted = read_constraints(constraints, self.config)
        return recommend(
            lambda logs: self.decide(logs, wanted, pools),
            today,
            self.schema,
            self.config.money_digits,
        )

    def decide(
        self, logs: Logs, constraints: Constraints, pools: dict[str, float] | None = None
    ) -> Decision:
        """The decisions on rows that have been read."""
        with one_blas_thread:
            return recommend_rows(self.state, logs, self.config, constraints, pools)  # pyright: ignore[reportArgumentType]

    def explain(self, today: Any, unit: Any, constraints: Any = None) -> Explanation:
        """Why one unit of `today` is moved or kept."""
        logs, wanted = read_today(today, self.schema)[0], read_constraints(constraints, self.config)
        return explain_unit(self.state, logs, unit, self.config, wanted)  # pyright: ignore[reportArgumentType]

    def field(self, today: Any) -> Floats:
        """Projected marginal utility per channel at the current shares, (n, K)."""
        logs, order = read_today(today, self.schema)
        return self.state.field(logs)[order]

    def gain(self, today: Any, to: Any) -> Floats:
        """What moving each row to the shares `to` (n, K) is worth, (n,)."""
        logs, order = read_today(today, self.schema)
        wanted = read_shares(to, self.schema.channels, len(logs))
        return self.state.gain(logs, wanted[np.argsort(order)])[order]


def export(model: "ReAlloc", path: str | PathLike[str]) -> None:
    """Write the small artifact that serving needs: no replay, no nuisances, nothing that learns."""
    from realloc.model.files import model_parts

    tensors, meta = model_parts(model.fitted, model.config, model.known_schema)
    write_serving(path, Artifact(meta, tensors))


def export_folder(
    model: str | PathLike[str], path: str | PathLike[str], origin: Mapping[str, Any] | None = None
) -> None:
    """The same from a saved model, without torch; `origin` says of which version it is a copy (for `Store.export`)."""
    write_serving(path, read_artifact(model, MODEL), origin)


def write_serving(
    path: str | PathLike[str], model: Artifact, origin: Mapping[str, Any] | None = None
) -> None:
    """Write what serving needs of a saved model's parts."""
    meta, tensors = from_model(model.meta, model.tensors)
    state, _, _ = build(meta, tensors)
    with one_blas_thread:
        direction = state.support.direction
    meta, tensors = with_direction(meta, tensors, direction)
    meta |= {"origin": dict(origin)} if origin else {}
    write_artifact(path, KIND, tensors, meta)


def open(path: str | PathLike[str]) -> Scorer:  # noqa: A001
    """The scorer that `export` wrote; refused if a single byte has changed since, or its parts do not fit together."""
    artifact = read_artifact(path, KIND)
    return make_scorer(artifact.meta, artifact.tensors, path)


def open_model(path: str | PathLike[str]) -> Scorer:
    """A scorer straight from a saved model's folder; the service reads the versions of a store so."""
    artifact = read_artifact(path, MODEL)
    try:
        parts = from_model(artifact.meta, artifact.tensors)
    except MISFITS as problem:
        raise _misfit(path, problem) from problem
    return make_scorer(*parts, path)


def make_scorer(meta: dict[str, Any], tensors: dict[str, Any], path: str | PathLike[str]) -> Scorer:
    """A scorer from its parts."""
    try:
        return Scorer(*build(meta, tensors))
    except (*MISFITS, ReallocError) as problem:
        raise _misfit(path, problem) from problem


def _misfit(path: str | PathLike[str], problem: Exception) -> ArtifactError:
    # Digests hold, so these bytes were written like this: by another program, or by hand.
    return ArtifactError(
        f"Expected a model of this version of realloc that can be served at {str(path)!r}, but its parts do not fit together "
        f"({type(problem).__name__}: {problem})."
    )
