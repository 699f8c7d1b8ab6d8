"""A store with a version and a run that was decided with constraints, made once."""

import os
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from realloc.batch import Options, recommend_file
from realloc.decide.constraints.constraints import Constraints
from realloc.storage.ledger.ledger import DECISIONS, Ledger
from realloc.storage.store import Store
from tests.small import CONFIG, fitted, window

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
RULES = Constraints(floors={"ads": 0.35}, largest_move=0.1)


@pytest.fixture(scope="session")
def decided(tmp_path_factory) -> Path:
    """The folder of a store with one run of 150 rows, two of which cannot be read."""
    root = tmp_path_factory.mktemp("report")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda handle: None)
        store = Store(root / "store", clock=lambda: NOW)
        store.commit(fitted(), window(0))
        rows = window(97, units=40).to_pandas().drop(columns="orders").head(150)
        rows.loc[[3, 4], "budget"] = -1.0
        rows.to_parquet(root / "today.parquet")
        options = Options(
            config=replace(CONFIG, constraints=RULES),
            force=True,
            chunk_rows=32,
            clock=lambda: NOW,
        )
        recommend_file(
            str(root / "today.parquet"), store.path, root / "recs.parquet", options
        )
    return root


@pytest.fixture
def store(decided) -> Store:
    return Store(decided / "store", clock=lambda: NOW)


@pytest.fixture
def ledger(decided) -> Ledger:
    return Ledger(decided / "store" / DECISIONS)
