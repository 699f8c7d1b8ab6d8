"""The table [serve] is read and checked."""

import pytest

from realloc.base.errors import ConfigError
from realloc.serve.http.config import ServeConfig, read_serve


def test_settings_are_checked():
    for wrong in (
        {"rows": 0},
        {"header_seconds": 0.0},
        {"max_age_days": -1.0},
        {"waiting_rows": 10},
        {"rows": "x"},
    ):
        with pytest.raises(ConfigError, match=r"\[serve\]"):
            ServeConfig(**wrong)


def test_a_table_of_settings_is_read_and_checked(tmp_path):
    path = tmp_path / "realloc.toml"
    path.write_text(
        'seed = 3\n[serve]\nmax_age_days = 7\nallow_hosts = ["budget.internal"]\n'
    )
    assert read_serve(path) == ServeConfig(max_age_days=7, allow_hosts=("budget.internal",))
    assert read_serve(None) == ServeConfig()
    for text in ("serve = 3", "[serve]\nrowz = 3"):
        path.write_text(text)
        with pytest.raises(ConfigError, match=r"serve\]"):
            read_serve(path)
