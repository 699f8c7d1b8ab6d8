"""The MLflow flavour: saved, loaded and asked as MLflow does it."""

from importlib.util import find_spec

import pandas as pd
import pytest

from realloc.base.errors import ArtifactError, MissingExtra
from realloc.serve.mlflow import save_model
from tests.small import fitted, today

HAS_MLFLOW = find_spec("mlflow") is not None

needs_mlflow = pytest.mark.skipif(
    not HAS_MLFLOW, reason="pip install 'realloc-uplift[mlflow]'"
)
pytestmark = pytest.mark.filterwarnings("ignore")  # MLflow's own


@needs_mlflow
def test_a_saved_model_recommends_through_mlflow(tmp_path, monkeypatch):
    import mlflow.pyfunc  # pyright: ignore[reportMissingImports]

    from realloc import load as open_model

    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    save_model(fitted(), tmp_path / "m")
    loaded = mlflow.pyfunc.load_model(str(tmp_path / "m"))
    found = loaded.predict(today())
    pd.testing.assert_frame_equal(
        found, open_model(tmp_path / "m" / "model").recommend(today())
    )
    assert set(found.reason) <= {"moved", "no_gain", "unsupported", "uncertain"}


@needs_mlflow
def test_a_changed_byte_is_refused_and_a_full_folder_is_not_written_to(tmp_path):
    import mlflow.pyfunc  # pyright: ignore[reportMissingImports]

    save_model(fitted(), tmp_path / "m")
    with pytest.raises(ArtifactError, match="Expected a new or empty folder"):
        save_model(fitted(), tmp_path / "m")
    weights = tmp_path / "m" / "model" / "weights.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(bytes(content))
    with pytest.raises(ArtifactError):
        mlflow.pyfunc.load_model(str(tmp_path / "m"))


@pytest.mark.skipif(HAS_MLFLOW, reason="MLflow is installed")
def test_without_mlflow_the_pip_line_is_said(tmp_path):
    with pytest.raises(MissingExtra, match="realloc-uplift\\[mlflow\\]"):
        save_model(fitted(), tmp_path / "m")
