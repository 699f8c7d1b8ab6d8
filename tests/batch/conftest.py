"""A store with one real version, rows to ask about, and a way to run."""

import os
import shutil
from datetime import UTC, datetime

import pandas as pd
import pyarrow.parquet as pq
import pytest

from realloc import load as open_model
from realloc.batch import Options, recommend_file
from realloc.storage.store import Store
from tests.small import fitted, window

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _no_waiting_for_the_disk(monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda handle: None)


@pytest.fixture(scope="session")
def _made(tmp_path_factory):
    """The store and the rows, made once."""
    root = tmp_path_factory.mktemp("batch")
    store = Store(root / "store", clock=lambda: NOW)
    store.commit(fitted(), window(0))
    rows().to_parquet(root / "today.parquet")
    return root


@pytest.fixture
def place(_made, tmp_path):
    """A folder of its own for every test, with `store` and `today.parquet`."""
    shutil.copytree(_made, tmp_path / "p")
    return tmp_path / "p"


def rows(count: int = 150) -> pd.DataFrame:
    """Rows of units that no model has seen."""
    return window(97, units=40).to_pandas().drop(columns="orders").head(count)


def recommend(place, name="recs.parquet", source=None, **options):
    """Run on the folder of a test, in chunks of 32 rows."""
    given = {"chunk_rows": 32, "clock": lambda: NOW} | options
    return recommend_file(
        str(source or place / "today.parquet"),
        place / "store",
        place / name,
        Options(**given),
    )


def answers(place, name="recs.parquet") -> pd.DataFrame:
    return pq.read_table(place / name).to_pandas()


def assert_same_answers(one: pd.DataFrame, other: pd.DataFrame) -> None:
    """The same decisions for the same reasons, and no number farther apart than 1e-9."""
    pd.testing.assert_frame_equal(one, other, check_exact=False, rtol=0, atol=1e-9)


def served(place):
    """The scorer of the store's version: what the service answers with."""
    return open_model(next((place / "store" / "versions").iterdir()) / "model")
