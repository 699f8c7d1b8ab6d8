"""What changes a disk: in one step, never through a link, and down to the disk before its name."""

import errno
import os

import pytest

from realloc.base import disk


def test_a_new_file_never_replaces_one_that_is_there(tmp_path):
    disk.write_new_file(tmp_path / "a", b"first")
    with pytest.raises(FileExistsError):
        disk.write_new_file(tmp_path / "a", b"second")
    assert (tmp_path / "a").read_bytes() == b"first"


def test_all_bytes_are_written_where_the_system_takes_a_few_at_a_time(
    tmp_path, monkeypatch
):
    write = os.write
    monkeypatch.setattr(os, "write", lambda handle, content: write(handle, content[:3]))
    disk.write_new_file(tmp_path / "a", b"0123456789")
    assert (tmp_path / "a").read_bytes() == b"0123456789"


def test_a_replaced_file_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    calls = []
    for name in ("fsync", "rename"):
        real = getattr(os, name)

        def recorded(*arguments, name=name, real=real):
            calls.append(name)
            return real(*arguments)

        monkeypatch.setattr(os, name, recorded)
    disk.replace_file(tmp_path / "a", b"new")
    assert calls == ["fsync", "rename", "fsync"]


def test_what_a_stopped_writer_left_is_no_hindrance(tmp_path):
    (tmp_path / "a").write_bytes(b"old")
    disk.beside(tmp_path / "a").symlink_to(tmp_path / "elsewhere")
    disk.replace_file(tmp_path / "a", b"new")
    assert (tmp_path / "a").read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["a"]


def test_emptying_a_folder_follows_no_link(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("secret")
    inside = tmp_path / "inside"
    (inside / "deep").mkdir(parents=True)
    (inside / "deep" / "file").touch()
    (inside / "deep" / "link").symlink_to(outside)
    (inside / "file").symlink_to(outside / "secret")
    disk.empty_folder(inside)
    assert os.listdir(inside) == []
    assert (outside / "secret").read_text() == "secret"


def test_an_error_is_described_with_its_place():
    full = OSError(errno.ENOSPC, "No space left on device", "store/tmp")
    assert disk.describe(full) == "No space left on device at 'store/tmp'"
    assert disk.describe(OSError(errno.EIO, "Input/output error")) == "Input/output error"
