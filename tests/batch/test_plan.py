"""The plan of an input: made by one scan, read by everybody else."""

import pandas as pd
import pytest

from realloc.base.place import Folder
from realloc.batch import plan
from realloc.batch.checkpoint import WORK
from realloc.logs.reading.source import open_source
from tests.batch.conftest import rows
from tests.small import fitted


@pytest.fixture
def source(tmp_path):
    given = rows(50)
    pd.concat([given, given.iloc[[4]]]).to_parquet(tmp_path / "today.parquet")
    return open_source(str(tmp_path / "today.parquet"))


def find(source, tmp_path):
    schema = fitted().known_schema
    return plan.find_plan(Folder(tmp_path / "out"), source, schema, False, 16)


def test_it_says_where_chunks_begin_and_which_rows_repeat(source, tmp_path):
    found = find(source, tmp_path)
    assert (found.rows, found.starts) == (51, [0, 16, 32, 48])
    assert found.repeated == [4, 50]
    assert found.repeated_in(0, 16).tolist() == [4]
    assert found.repeated_in(16, 16).tolist() == []


def test_it_is_made_once_and_again_where_it_was_changed(source, tmp_path, monkeypatch):
    first, scans, real = find(source, tmp_path), [], plan.scan
    monkeypatch.setattr(plan, "scan", lambda *asked: scans.append(1) or real(*asked))
    assert find(source, tmp_path) == first
    assert scans == []
    (path,) = (tmp_path / "out" / WORK).iterdir()
    content = path.read_text()
    path.write_text(content.replace('"rows": 51', '"rows": 50'))
    assert find(source, tmp_path) == first
    assert scans == [1]
    assert path.read_text() == content
