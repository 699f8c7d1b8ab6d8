"""Small entries, and a disk nobody waits for."""

import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from realloc.storage.ledger import Ledger
from realloc.storage.ledger.entry import Entry


@pytest.fixture(autouse=True)
def _no_waiting_for_the_disk(monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda handle: None)


def entry(run: str = "run-1", **told) -> Entry:
    plain = {
        "number": 0,
        "previous": None,
        "run": run,
        "kind": "batch",
        "made": "2026-11-16T12:00:00+00:00",
        "version": 3,
        "model": "ab" * 32,
        "segments": (),
        "rows": 0,
        "schema": {"unit": "item"},
        "settings": {"decision": {"beta": 0.25}},
    }
    return Entry(**plain | told)


def segment(folder, rows: int = 4, name: str = "part.parquet"):
    path = folder / name
    pq.write_table(
        pa.table(
            {
                "unit": [f"item{n}" for n in range(rows)],
                "gain": [float(n) for n in range(rows)],
            }
        ),
        path,
    )
    return path.read_bytes()


@pytest.fixture
def ledger(tmp_path):
    """A log with three entries."""
    found = Ledger(tmp_path / "decisions")
    for n in range(3):
        found.append(entry(f"run-{n}"), [segment(tmp_path, 4 + n)])
    return found
