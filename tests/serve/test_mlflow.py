"""The MLflow flavour: saved, loaded and asked as MLflow does it."""

from importlib.util import find_spec

import pandas as pd
import pytest

from realloc.base.errors import ArtifactError, MissingExtra
from realloc.serve.mlflow import log_round, save_model, settings_of
from tests.small import CHANNELS, CONFIG, fitted, today, updated

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
        found,
        open_model(tmp_path / "m" / "model").recommend(today()),
        check_dtype=False,  # MLflow turns dates into nanoseconds
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


@needs_mlflow
def test_the_signature_and_the_example_are_those_of_the_model(tmp_path):
    import mlflow.pyfunc  # pyright: ignore[reportMissingImports]

    model = fitted()
    save_model(model, tmp_path / "m")
    loaded = mlflow.pyfunc.load_model(str(tmp_path / "m"))
    example = loaded.input_example
    assert len(example) == 3
    inputs = loaded.metadata.signature.inputs.input_names()
    assert set(CHANNELS) < set(inputs)
    assert "orders" not in inputs
    answer = loaded.predict(example)
    assert list(answer.columns) == loaded.metadata.signature.outputs.input_names()
    assert answer.gain.tolist() == model.recommend(example).gain.tolist()
    with pytest.raises(Exception, match="ads"):
        loaded.predict(example.drop(columns="ads"))


@needs_mlflow
@pytest.mark.parametrize(
    "floors", [{"floors": {"ads": 0.9}}, '{"floors": {"ads": 0.9}}'], ids=["table", "json"]
)
def test_constraints_travel_as_a_table_or_as_json(tmp_path, floors):
    from realloc.serve.mlflow import MlflowModel

    fitted().save(tmp_path / "m")
    answer = MlflowModel(str(tmp_path / "m")).predict(today(), {"constraints": floors})
    assert answer.share_ads.min() >= 0.9 - 1e-9


@needs_mlflow
def test_rounds_are_logged_with_settings_figures_and_the_model(tmp_path, monkeypatch):
    import mlflow  # pyright: ignore[reportMissingImports]

    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    with mlflow.start_run() as run:
        log_round(fitted())
        logged = log_round(updated())
    data = mlflow.get_run(run.info.run_id).data
    assert data.params["seed"] == "7"
    assert data.params["teacher.members"] == "2"
    assert "decision.beta" not in data.params
    history = mlflow.MlflowClient().get_metric_history(run.info.run_id, "known.evidence")
    assert [(one.step, one.value) for one in history] == [
        (1, pytest.approx(fitted().summary().known.evidence)),
        (2, pytest.approx(updated().summary().known.evidence)),
    ]
    loaded = mlflow.pyfunc.load_model(logged.model_uri)
    assert (loaded.predict(today()).gain == updated().recommend(today()).gain).all()


def test_settings_are_those_that_differ_from_the_default():
    found = settings_of(CONFIG)
    assert found["seed"] == 7
    assert found["nuisances.models"] == ("ridge",)
    assert "decision.beta" not in found


@pytest.mark.skipif(HAS_MLFLOW, reason="MLflow is installed")
def test_without_mlflow_the_pip_line_is_said(tmp_path):
    with pytest.raises(MissingExtra, match="realloc-uplift\\[mlflow\\]"):
        save_model(fitted(), tmp_path / "m")
