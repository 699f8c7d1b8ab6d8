# ruff: noqa: F811
"""One way to open a version: the rules it answers by, and a frozen store that keeps every mix."""

import json

import numpy as np
import pytest

from realloc.base.errors import StoreError
from realloc.decide.constraints.constraints import Constraints
from realloc.model.publish_limits import PublishLimits
from realloc.serve.load import ModelRequest, load_model, settings_of
from tests.batch.conftest import _made, place  # noqa: F401  fixtures
from tests.small import CONFIG, fitted, window


def test_a_version_decides_as_the_model_that_was_committed(place):
    loaded = load_model(ModelRequest(place / "store"))
    assert loaded.record.number == 1
    assert loaded.level == CONFIG.support.level
    assert not loaded.needs_all_rows
    assert not loaded.looks_back
    decision = loaded.decide(window(97))
    expected = fitted().decide(window(97))
    assert (decision.reason == "moved").any()
    assert np.array_equal(decision.reason, expected.reason)
    assert np.allclose(decision.shares, expected.shares, rtol=0, atol=1e-9)


def test_rules_of_another_config_take_the_place_of_the_fitted_ones(place):
    constraints = Constraints(largest_move=0.0, largest_move_per_day=0.5)
    loaded = load_model(ModelRequest(place / "store", None, CONFIG.decision, constraints))
    assert loaded.needs_all_rows
    assert loaded.settings["constraints"]["largest_move"] == 0.0
    logs = window(97)
    assert np.array_equal(loaded.decide(logs).shares, logs.shares)


def test_a_frozen_request_loads_no_model_and_keeps_every_mix(place):
    loaded = load_model(ModelRequest(place / "store", frozen=True))
    assert loaded.model is None
    assert loaded.schema == window().pinned_schema
    assert loaded.settings == {"frozen": True}
    assert loaded.limits == PublishLimits()
    assert (loaded.level, loaded.states) == (None, None)
    decision = loaded.decide(window(97))
    assert set(decision.reason) == {"frozen"}
    assert np.array_equal(decision.shares, window(97).shares)


def test_a_version_that_is_not_there_is_refused(place):
    with pytest.raises(StoreError, match="got 7"):
        load_model(ModelRequest(place / "store", version=7))


def test_settings_are_what_json_gives_back():
    settings = settings_of(CONFIG)
    assert json.loads(json.dumps(settings)) == settings
    assert settings["decision"]["steps"] == list(CONFIG.decision.steps)
    assert settings["seed"] == CONFIG.seed
