# ruff: noqa: F811
"""`realloc monitor`: a look at a deployment, with and without outcomes."""

import json
import re

import pandas as pd
import pytest

from realloc.monitor.watch import lines, watch
from realloc.serve.load import LoadedModel
from realloc.storage.store import Store
from tests.batch.conftest import NOW, _made, place, recommend  # noqa: F401  fixtures
from tests.small import window


def write(place, frame, name="window.parquet"):
    frame.to_parquet(place / name)
    return str(place / name)


def store_of(place):
    return Store(place / "store", clock=lambda: NOW)


def test_a_calm_window_raises_no_alarm_and_says_what_is_not_known(place):
    told = watch(store_of(place), write(place, window(96).to_pandas()))
    assert told["alarms"] == []
    assert told["version"] == 1
    assert told["realised"] == "no decisions are logged yet"
    text = "\n".join(lines(told))
    assert "Realised gains: not known, no decisions are logged yet." in text
    assert "differ from the training window no more than its own periods do." in text
    assert "As expected; 95% would be usual." in text
    assert "PSI" not in text
    assert json.loads(json.dumps(told)) == told


def test_drift_a_freeze_and_age_raise_alarms(place):
    frame = window(96).to_pandas().assign(c1=99.0)
    store = store_of(place)
    store.freeze("odd prices")
    told = watch(
        Store(place / "store", clock=lambda: NOW + pd.Timedelta(days=60)),
        write(place, frame),
    )
    found = told["alarms"]
    changed = [line for line in lines(told) if "feature c1 has changed" in line]
    assert re.search(r"100% of the rows lie above [\d.]+, in training 10%", changed[0])
    assert any("frozen since" in alarm for alarm in found)
    assert any("'feature c1'" in alarm for alarm in found)
    assert any("60 days old" in alarm for alarm in found)


def test_a_version_without_a_summary_says_not_known_and_never_zero(place):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LoadedModel, "states", None)
        told = watch(store_of(place), write(place, window(96).to_pandas()))
    assert told["drift"] is None
    assert "Drift against training: not known" in "\n".join(lines(told))
