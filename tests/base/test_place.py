"""A folder as a place for named pieces: whole or not there, the first writer wins."""

import errno
import threading

import pytest

from realloc.base import disk
from realloc.base.place import Folder


def test_what_is_there_is_not_written_again(tmp_path):
    place = Folder(tmp_path)
    assert place.create("a/b.json", b"first")
    assert not place.create("a/b.json", b"second")
    assert place.read("a/b.json") == b"first"
    place.replace("a/b.json", b"third")
    assert place.read("a/b.json") == b"third"
    assert place.names("a") == ["b.json"]
    assert place.describe("a/b.json") == str(tmp_path / "a" / "b.json")
    place.remove("a")
    assert place.names("a") == []
    with pytest.raises(FileNotFoundError):
        place.read("a/b.json")


def test_of_many_writers_at_once_one_succeeds(tmp_path):
    place, won = Folder(tmp_path), []

    def write(number):
        if place.create("name", bytes([number]) * 1000):
            won.append(number)

    threads = [threading.Thread(target=write, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert place.read("name") == bytes(won) * 1000
    assert place.names("") == ["name"]


def test_a_full_disk_leaves_nothing(tmp_path, monkeypatch):
    def full(handle, content):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(disk, "write_all", full)
    for write in (Folder(tmp_path).create, Folder(tmp_path).replace):
        with pytest.raises(OSError, match="No space"):
            write("name", b"content")
    assert list(tmp_path.iterdir()) == []
