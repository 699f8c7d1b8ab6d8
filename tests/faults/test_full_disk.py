"""Real disks that are full, read-only or forbidden: a sentence, what was current stays, and
with room all goes on.
"""

import contextlib
import os
import shutil
import subprocess

import pytest

from realloc.base.errors import StoreError
from tests.faults.test_hostile import in_fork
from tests.storage.store.light import LightStore, grown, snapshot

SIZES = (24, 60, 100, 150)  # KiB; fifty of them by `make faults`


@contextlib.contextmanager
def small_disk(folder, kib):
    """A file system in memory with so much room; skipped where none may be mounted."""
    folder.mkdir()
    try:
        made = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={kib}k", "tmpfs", folder],
            check=False,
            capture_output=True,
        )
    except FileNotFoundError:
        pytest.skip("there is no `mount`")
    if made.returncode:
        pytest.skip("only root may mount")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def fill(folder, kib):
    """Commit until the disk is full, make room, and go on; whether it was ever full."""
    with small_disk(folder / str(kib), kib) as disk:
        store = LightStore(disk / "store", keep=10)
        done = 0
        said = ""
        while done < 12 and not said:
            try:
                done = store.step().number
            except StoreError as problem:
                said = str(problem)
        if not said:
            return False
        assert "No space left" in said
        assert "What was current before still is" in said
        assert (LightStore(store.path).number() if store.path.exists() else 0) == done
        subprocess.run(["mount", "-o", f"remount,size={kib + 400}k", disk], check=True)
        again = LightStore(store.path, keep=10)
        while done < 14:
            done = again.step().number
        plain = grown(folder / f"plain{kib}", 14, keep=10)
        assert snapshot(store.path) == snapshot(plain.path)
        assert os.listdir(store.path / "tmp") == []
        return True


def test_a_full_disk_is_told_and_the_next_writer_clears_what_it_left(tmp_path):
    assert sum(fill(tmp_path, kib) for kib in SIZES) >= 3


def test_a_disk_that_turned_read_only_is_told_and_still_read(tmp_path):
    with small_disk(tmp_path / "disk", 500) as disk:
        store = grown(disk / "store", 2)
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        for write in (
            store.step,
            store.rollback,
            lambda: store.freeze("x"),
            lambda: LightStore(disk / "new").step(),
        ):
            with pytest.raises(StoreError, match="Read-only file system"):
                write()
        assert store.number() == 2


def test_permission_that_was_lost_is_told_and_what_may_be_read_is(tmp_path):
    if os.getuid():
        pytest.skip("only root may become somebody else")
    shared = tmp_path / "shared"
    store = grown(shared / "store", 2)
    for place in (tmp_path, *tmp_path.parents[:3]):  # pytest makes them for one user
        place.chmod(0o755)

    def as_nobody(_):
        os.setgid(65534)
        os.setuid(65534)
        said = [LightStore(store.path).number()]
        for write in (
            LightStore(store.path).step,
            LightStore(store.path).rollback,
            lambda: store.freeze("x"),
        ):
            try:
                said.append(str(write()))
            except StoreError as problem:
                said.append(str(problem))
        return said

    number, *said = in_fork(as_nobody)
    assert number == 2
    assert all("Permission denied" in sentence for sentence in said)
    assert store.number() == 2
    shutil.rmtree(shared)
