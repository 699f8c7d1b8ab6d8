"""Publish limits: read from a config, and checked when made."""

import pytest

from realloc.base.errors import ConfigError
from realloc.model.config import read_config
from realloc.model.publish_limits import PublishLimits


def test_limits_of_the_fit_hold_without_a_config_and_nonsense_is_refused(tmp_path):
    path = tmp_path / "realloc.toml"
    path.write_text(
        '[schema]\nunit = "u"\ntime = "t"\noutcome = "y"\nchannels = ["a", "b"]\n[publish]\n'
        "max_action_rate = 0.3\n"
    )
    assert read_config(path)[1].publish.max_action_rate == 0.3
    with pytest.raises(
        ConfigError, match="Expected `max_bad_rows` of .publish. from 0 to 1, got 2"
    ):
        PublishLimits(max_bad_rows=2)
    for wrong in (
        {"max_drift": -1.0},
        {"max_age_days": 0.0},
        {"max_window_age_days": -3.0},
        {"max_drift": "x"},
    ):
        with pytest.raises(ConfigError, match=r"\[publish\]"):
            PublishLimits(**wrong)
