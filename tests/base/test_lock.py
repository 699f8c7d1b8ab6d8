"""Locks: one holder at a time, free again when it ends, and never through a link."""

import os
import subprocess
import sys

import pytest

from realloc.base.errors import StoreError
from realloc.base.lock import folder_locked, is_locked, locked

HOLD = """
import sys, time
from pathlib import Path
from realloc.base.lock import locked
with locked(Path(sys.argv[1]), "held"):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_second_holder_is_refused_with_the_sentence_it_gave(tmp_path):
    with locked(tmp_path / "LOCK", "first"):
        assert is_locked(tmp_path / "LOCK")
        with (
            pytest.raises(StoreError, match="somebody is writing"),
            locked(tmp_path / "LOCK", "somebody is writing"),
        ):
            pass
    assert not is_locked(tmp_path / "LOCK")
    with locked(tmp_path / "LOCK", "again"):
        pass


def test_a_lock_ends_with_its_process_even_if_that_is_killed(tmp_path):
    command = [sys.executable, "-c", HOLD, str(tmp_path / "LOCK")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        assert is_locked(tmp_path / "LOCK")
        holder.kill()
        holder.wait()
    assert not is_locked(tmp_path / "LOCK")


def test_a_link_is_not_followed(tmp_path):
    (tmp_path / "LOCK").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"), locked(tmp_path / "LOCK", "held"):
        pass
    assert not is_locked(tmp_path / "LOCK")
    assert not (tmp_path / "elsewhere").exists()


def test_the_lock_of_a_folder_leaves_no_file(tmp_path):
    with folder_locked(tmp_path):
        assert os.listdir(tmp_path) == []
    with folder_locked(tmp_path):
        pass
