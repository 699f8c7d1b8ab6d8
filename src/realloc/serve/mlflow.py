"""An MLflow flavour: `mlflow.pyfunc.load_model(path).predict(frame)` recommends.

What is logged is the model's own folder, checked to the last byte when it is loaded; predictions
need no torch. MLflow knows nothing of freezing, publish limits or the decision log: those belong to
a store.
"""

import os
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from realloc.base.errors import ArtifactError, ConfigError
from realloc.base.imports import DISTRIBUTION, need
from realloc.base.strict_json import parse_object
from realloc.base.version import __version__
from realloc.model.config import Config
from realloc.model.realloc import ReAlloc, load

DATA = "model"
FLAVOUR = "realloc"
PARAMS = ("constraints", "pools")  # of a prediction
DEEPEST = 8  # levels of their JSON
EXAMPLE_ROWS = 3


def save_model(
    model: ReAlloc, path: str | os.PathLike[str], mlflow_model: Any = None, **further: Any
) -> None:
    """Write a fitted model as an MLflow model to a folder that is not there yet.

    `further`: `input_example` and `signature` as in MLflow; by default the signature says what
    the model does with the example, and the example is rows of the last window.
    """
    models = need("mlflow.models", "mlflow")
    pyfunc = need("mlflow.pyfunc", "mlflow")
    folder = Path(path)
    if folder.exists() and any(folder.iterdir()):
        raise ArtifactError(
            f"Expected a new or empty folder for the MLflow model, but {str(folder)!r} holds "
            "something."
        )
    folder.mkdir(parents=True, exist_ok=True)
    model.save(folder / DATA)
    described = mlflow_model or models.Model()
    example = further.get("input_example")
    if example is None:
        example = example_rows(model)
    if example is not None:
        params = dict.fromkeys(PARAMS, "")
        answer = model.recommend(example)
        described.signature = further.get("signature") or models.infer_signature(
            example, answer, params
        )
        need("mlflow.models.utils", "mlflow")._save_example(described, example, str(folder))
    described.add_flavor(FLAVOUR, version=__version__, data=DATA)
    needed = {"dependencies": [f"{DISTRIBUTION}=={__version__}"]}
    pyfunc.add_to_model(described, loader_module=__name__, data=DATA, python_env=needed)
    described.save(str(folder / "MLmodel"))
    (folder / "requirements.txt").write_text(f"{DISTRIBUTION}=={__version__}\n")


def example_rows(model: ReAlloc) -> Any:
    """A few rows of the last window as one would ask about them; None for a loaded model."""
    if model.last_window is None:
        return None
    window = model.last_window.today
    schema = window.schema
    outcomes = {schema.outcome, *schema.guardrails}
    frame = window.take(np.arange(min(EXAMPLE_ROWS, len(window)))).to_pandas()
    return frame.drop(columns=[name for name in frame.columns if name in outcomes])


def log_model(model: ReAlloc, name: str = "realloc", **further: Any) -> Any:
    """Log a fitted model to the current MLflow run; `further` as in MLflow's own flavours."""
    models = need("mlflow.models", "mlflow")
    return models.Model.log(
        artifact_path=None, name=name, flavor=sys.modules[__name__], model=model, **further
    )


def log_round(model: ReAlloc, name: str = "realloc", **further: Any) -> Any:
    """Log the last round to the current MLflow run: settings, figures, the model itself.

    Settings that are not the default become parameters; figures of `model.summary()` become
    metrics with the round as their step, and the summary an artifact.
    """
    mlflow = need("mlflow", "mlflow")
    summary = model.summary()
    rounds = summary.known.rounds
    if rounds == 1:  # MLflow's parameters never change, and neither does a model's config
        mlflow.log_params(settings_of(model.config))
    mlflow.log_metrics(dict(figures_of(summary.to_json())), step=rounds)
    mlflow.log_text("\n".join(summary.lines()), f"{name}/round{rounds}.txt")
    return log_model(model, name, **further)


def settings_of(config: Config) -> dict[str, Any]:
    """What differs from the default, by key: `decision.beta`; and the seed."""
    usual = asdict(Config())
    found: dict[str, Any] = {"seed": config.seed}
    for table, values in asdict(config).items():
        if isinstance(values, dict):
            changed = {
                f"{table}.{key}": value
                for key, value in values.items()
                if value != usual[table][key]
            }
            found |= changed
        elif values != usual[table]:
            found[table] = values
    return found


def figures_of(table: dict[str, Any]) -> Iterator[tuple[str, float]]:
    """The numbers of a summary, by group and name: `known.rows`, `today.gain_low`."""
    for group in ("known", "today"):
        for name, value in (table[group] or {}).items():
            if isinstance(value, bool | int | float):
                yield f"{group}.{name}", float(value)


class MlflowModel:
    """What MLflow calls."""

    def __init__(self, folder: str) -> None:
        self.model = load(folder)

    def predict(self, frame: Any, params: dict[str, Any] | None = None) -> Any:
        """One row of advice per row; `params`: `constraints` or `pools` as of `recommend`.

        Each is a table or, as MLflow's signatures have no tables, the same in JSON.
        """
        given = {name: _table(name, (params or {}).get(name)) for name in PARAMS}
        return self.model.recommend(frame, **given)


def _table(name: str, value: Any) -> Any:
    if not value:
        return None
    if not isinstance(value, str):
        return value
    try:
        return parse_object(value.encode(), DEEPEST)
    except ValueError as problem:
        raise ConfigError(
            f"Expected `{name}` of `params` as JSON, but it cannot be parsed: {problem}."
        ) from problem


def _load_pyfunc(path: str) -> MlflowModel:  # pyright: ignore[reportUnusedFunction]  MLflow calls it by this name
    return MlflowModel(path)
