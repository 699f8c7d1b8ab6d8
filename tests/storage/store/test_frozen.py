"""The kill switch: a file that needs no lock and no model, and that is obeyed whatever it holds."""

import pytest

from realloc.base.errors import StoreError
from realloc.storage.store.frozen import FROZEN, freeze, newest_record, unfreeze, why_frozen
from tests.storage.store.light import NOON, grown


def test_a_freeze_says_when_and_why_on_one_line(tmp_path):
    freeze(tmp_path, "prices\nlook   odd", NOON)
    assert why_frozen(tmp_path) == "2026-11-16T12:00:00+00:00 prices look odd"
    assert unfreeze(tmp_path)
    assert why_frozen(tmp_path) is None
    assert not unfreeze(tmp_path)


def test_a_reason_is_bounded_and_may_be_missing(tmp_path):
    freeze(tmp_path, "x" * 5000, NOON)
    assert len(str(why_frozen(tmp_path))) < 1100
    unfreeze(tmp_path)
    freeze(tmp_path, "  ", NOON)
    assert str(why_frozen(tmp_path)).endswith("no reason was given")


@pytest.mark.parametrize(
    ("content", "reason"),
    [(b"", "no reason was given"), (b"\x1b[31mred", "[31mred"), (b"\xff", "\ufffd")],
)
def test_any_content_freezes(tmp_path, content, reason):
    (tmp_path / FROZEN).write_bytes(content)
    assert why_frozen(tmp_path) == reason


def test_a_folder_that_is_not_there_cannot_be_frozen(tmp_path):
    with pytest.raises(StoreError, match="there is no folder"):
        freeze(tmp_path / "none", "x", NOON)


def test_the_newest_record_that_can_be_read_names_the_columns(tmp_path):
    store = grown(tmp_path / "store", 2)
    newest = next(store.path.glob("versions/00000002-*/record/manifest.json"))
    newest.write_bytes(b"{}")
    assert newest_record(store.path).number == 1
    next(store.path.glob("versions/00000001-*/record/manifest.json")).write_bytes(b"{}")
    with pytest.raises(StoreError, match="keep every mix as it is"):
        newest_record(store.path)
