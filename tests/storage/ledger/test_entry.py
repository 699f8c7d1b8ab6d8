"""One entry of the decision log: read back as it was written, and refused once a byte differs."""

import json

import pytest

from realloc.base.errors import LedgerError
from realloc.storage.ledger import entry as module
from realloc.storage.ledger.entry import ENTRY, Segment, read_entry, sha256_file
from tests.storage.ledger.conftest import entry

SEGMENT = Segment("rows-00000.parquet", 4, 100, "cd" * 32)


def test_an_entry_comes_back_as_it_was(tmp_path):
    written = entry(segments=(SEGMENT,), rows=4, source={"files": ["today.parquet"]})
    (tmp_path / ENTRY).write_bytes(written.pack())
    assert read_entry(tmp_path) == written
    assert read_entry(tmp_path).digest == written.digest


@pytest.mark.parametrize(
    "change", [{"number": 2}, {"previous": "x"}, {"version": 4}, {"rows": 9}]
)
def test_whatever_an_entry_says_is_in_its_digest(change):
    assert entry(**change).digest != entry().digest


def test_another_spelling_of_the_same_values_is_a_change(tmp_path):
    table = json.loads(entry().pack())
    (tmp_path / ENTRY).write_text(json.dumps(table, indent=1))
    with pytest.raises(LedgerError, match="it was changed"):
        read_entry(tmp_path)


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b'{"digest": 1}'])
def test_what_is_no_entry_is_refused_with_its_path(tmp_path, content):
    (tmp_path / ENTRY).write_bytes(content)
    with pytest.raises(LedgerError, match="entry.json"):
        read_entry(tmp_path)


def test_an_entry_that_nobody_could_read_is_not_packed(monkeypatch):
    monkeypatch.setattr(module, "LONGEST", 100)
    with pytest.raises(LedgerError, match="at most 100 bytes"):
        entry().pack()


def test_the_digest_of_a_file_is_that_of_its_bytes(tmp_path):
    (tmp_path / "a").write_bytes(b"")
    assert sha256_file(tmp_path / "a").startswith("e3b0c44298fc1c14")
