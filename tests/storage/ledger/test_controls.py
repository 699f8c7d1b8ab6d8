"""The check of the decision log can fail: it does once its guard is off."""

import pytest

from realloc.storage.ledger import Ledger
from tests.controls import Control, try_control
from tests.storage.ledger.conftest import entry, segment


def flipped_segment_is_found(folder):
    ledger = Ledger(folder / "decisions")
    ledger.append(entry(), [segment(folder)])
    path = ledger.folder(1) / "rows-00000.parquet"
    content = path.read_bytes()
    path.write_bytes(content[:40] + bytes([content[40] ^ 1]) + content[41:])
    assert any(str(path) in fault for fault in ledger.verify())


CONTROLS = {
    "bytes of the log": Control(
        flipped_segment_is_found, Ledger, "_faults_of", lambda *_: iter(())
    ),
}


@pytest.mark.parametrize("name", CONTROLS)
def test_a_check_fails_once_its_guard_is_off(tmp_path, name):
    try_control(CONTROLS[name], tmp_path)
