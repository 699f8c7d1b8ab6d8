"""A store with two versions, a run by each, and a run of units with hostile names."""

import os
import shutil
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from realloc.batch import Options, recommend_file
from realloc.console.app import make_console
from realloc.console.roles import RoleTokens, read_role_tokens
from realloc.console.source import ConsoleSource
from realloc.decide.constraints.constraints import Constraints
from realloc.storage.ledger.ledger import DECISIONS, Ledger
from realloc.storage.store import Store
from tests.small import CONFIG, fitted, updated, window

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
RULES = Constraints(floors={"ads": 0.2}, largest_move=0.1)
HOSTILE = ("<script>alert(1)</script>", "x" * 10_000, "אבג\u202e'\"&", "=1+1", "%_\\")
HOSTS = frozenset({"localhost"})
TOKENS = {
    "read": "read-token-of-rita",
    "review": "review-token-of-rob",
    "admin": "admin-token-of-anna",
}


@pytest.fixture(scope="session")
def made(tmp_path_factory) -> Path:
    """The folder; tests that write work on a copy."""
    root = tmp_path_factory.mktemp("console")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda handle: None)
        store = Store(root / "store", clock=lambda: NOW)
        store.commit(fitted(), window(0))
        _recommend(root, store, "first.parquet")
        store.commit(updated(), window(1))
        _recommend(root, store, "today.parquet")
        (root / "hostile").mkdir()
        _hostile_run(root / "hostile", Ledger(store.path / DECISIONS))
    return root


def _recommend(root: Path, store: Store, name: str) -> None:
    rows = window(97, units=40).to_pandas().drop(columns="orders").head(150)
    rows.loc[[3, 4], "budget"] = -1.0
    rows.to_parquet(root / name)
    options = Options(
        config=replace(CONFIG, constraints=RULES),
        force=True,
        chunk_rows=32,
        clock=lambda: NOW,
    )
    recommend_file(str(root / name), store.path, root / f"recs_{name}", options)


def _hostile_run(folder: Path, ledger: Ledger) -> None:
    """Rows of the newest run under hostile names, with a category, in a log of their own."""
    entry = ledger.entry(ledger.numbers()[-1])
    table = next(iter(ledger.read(entry))).slice(5, len(HOSTILE))
    inputs = table["inputs"].combine_chunks()
    parts = {field.name: inputs.field(field.name) for field in inputs.type}
    parts |= {"item_id": pa.array(HOSTILE), "re\"g'ion": pa.array([*"aab", None, "<b>"])}
    struct = pa.StructArray.from_arrays(list(parts.values()), names=list(parts))
    names = table.column_names
    table = table.set_column(names.index("unit"), "unit", pa.array(HOSTILE))
    table = table.set_column(names.index("inputs"), "inputs", struct)
    table = table.set_column(names.index("row"), "row", pa.array(np.arange(len(HOSTILE))))
    pq.write_table(table, folder / "rows.parquet")
    schema = entry.schema | {
        "features": [*entry.schema["features"], "re\"g'ion"],
        "categorical": ["re\"g'ion"],
    }
    hostile = replace(
        entry, run="hostile", schema=schema, segments=(), rows=0, previous=None
    )
    Ledger(folder / DECISIONS).append(hostile, [(folder / "rows.parquet").read_bytes()])


@pytest.fixture(scope="session")
def source(made) -> ConsoleSource:
    return ConsoleSource(Store(made / "store", clock=lambda: NOW))


@pytest.fixture(scope="session")
def hostile(made) -> ConsoleSource:
    store = Store(made / "store", clock=lambda: NOW)
    return ConsoleSource(store, made / "hostile" / DECISIONS)


@pytest.fixture
def copied(made, tmp_path) -> ConsoleSource:
    """A store of its own, to be written to."""
    shutil.copytree(made / "store", tmp_path / "store")
    return ConsoleSource(Store(tmp_path / "store", clock=lambda: NOW))


@pytest.fixture(scope="session")
def app(source):
    return make_console(source, None, HOSTS)


@pytest.fixture
def tokens(tmp_path) -> RoleTokens:
    """A token of each role."""
    path = tmp_path / "tokens"
    lines = [f"{token} {role} {role}er" for role, token in TOKENS.items()]
    path.write_text("\n".join(lines))
    path.chmod(0o600)
    return read_role_tokens(path, "admin")
