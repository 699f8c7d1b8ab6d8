"""`realloc serve`: what is refused before it listens."""

import subprocess
import sys

import pytest

from realloc.cli.serve import WithoutPandas
from tests.serve.http.asking import MAIN


def test_a_store_that_is_not_there_is_refused_with_what_makes_one(tmp_path):
    pytest.importorskip("uvicorn")
    ran = subprocess.run(
        [sys.executable, "-c", MAIN, "serve", "--store", tmp_path / "none", "--port", "0"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 2
    assert ran.stderr.startswith("realloc: Expected a store at ")
    assert "`realloc fit` makes one." in ran.stderr
    assert "Traceback" not in ran.stderr


def test_pandas_alone_is_hidden():
    hidden = WithoutPandas()
    assert hidden.find_spec("numpy") is None
    with pytest.raises(ModuleNotFoundError, match="pandas"):
        hidden.find_spec("pandas")
