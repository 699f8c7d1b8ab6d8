"""An MLflow flavour: `mlflow.pyfunc.load_model(path).predict(frame)` recommends.

What is logged is the model's own folder, checked to the last byte when it is loaded; predictions
need no torch. MLflow knows nothing of freezing, publish limits or the decision log: those belong to
a store.
"""

import os
import sys
from pathlib import Path
from typing import Any

from realloc.base.errors import ArtifactError
from realloc.base.imports import DISTRIBUTION, need
from realloc.base.version import __version__
from realloc.model.realloc import ReAlloc, load

DATA = "model"
FLAVOUR = "realloc"


def save_model(
    model: ReAlloc, path: str | os.PathLike[str], mlflow_model: Any = None, **_: Any
) -> None:
    """Write a fitted model as an MLflow model to a folder that is not there yet."""
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
    described.add_flavor(FLAVOUR, version=__version__, data=DATA)
    needed = {"dependencies": [f"{DISTRIBUTION}=={__version__}"]}
    pyfunc.add_to_model(described, loader_module=__name__, data=DATA, python_env=needed)
    described.save(str(folder / "MLmodel"))
    (folder / "requirements.txt").write_text(f"{DISTRIBUTION}=={__version__}\n")


def log_model(model: ReAlloc, name: str = "realloc", **further: Any) -> Any:
    """Log a fitted model to the current MLflow run; `further` as in MLflow's own flavours."""
    models = need("mlflow.models", "mlflow")
    return models.Model.log(
        artifact_path=None, name=name, flavor=sys.modules[__name__], model=model, **further
    )


class MlflowModel:
    """What MLflow calls."""

    def __init__(self, folder: str) -> None:
        self.model = load(folder)

    def predict(self, frame: Any, params: dict[str, Any] | None = None) -> Any:
        """One row of advice per row; `params`: `constraints` or `pools` as of `recommend`."""
        given = params or {}
        return self.model.recommend(
            frame, constraints=given.get("constraints"), pools=given.get("pools")
        )


def _load_pyfunc(path: str) -> MlflowModel:  # pyright: ignore[reportUnusedFunction]  MLflow calls it by this name
    return MlflowModel(path)
