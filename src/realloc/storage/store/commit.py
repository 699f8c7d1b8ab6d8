"""How a version becomes the current one; each step is on the disk before the next begins.

1. `tmp/<number>/model` is written, file by file, and checked by the gate, which reads it back.
2. `tmp/<number>/record` is written; the folder gets its name in `versions/`.
3. `HEAD` is replaced. Only now the version counts.
4. Old versions are moved to `tmp/` and removed.

Who is killed on the way leaves the old HEAD; the next writer clears what is half-made.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from realloc.base import disk
from realloc.base.artifact import MANIFEST, sha256
from realloc.base.errors import ReallocError, StoreError
from realloc.storage.store.head import Head, read_head, write_head
from realloc.storage.store.versions import (
    MODEL,
    RECORD,
    VERSIONS,
    Version,
    folder_name,
    list_versions,
)

Canary = dict[str, NDArray[Any]]
# Reads the model that was written; raises where it may not be published.
Gate = Callable[[Path], Canary]


def publish(root: Path, version: Version, model: Mapping[str, bytes], gate: Gate) -> Head:
    """Write a version, let the gate read it back, give it its name and make it current."""
    try:
        return _publish(root, replace(version, model=sha256(model[MANIFEST])), model, gate)
    except OSError as problem:
        raise _explain(root, version, problem) from problem


def _publish(root: Path, version: Version, model: Mapping[str, bytes], gate: Gate) -> Head:
    work = root / "tmp" / f"{version.number:08d}"
    disk.make_folder(work)
    _write_part(work / MODEL, model)
    try:
        canary = gate(work / MODEL)
    except ReallocError as problem:
        number = 1
        while (aside := root / "quarantine" / f"{work.name}-{number}").exists():
            number += 1
        disk.rename(work, aside)
        raise StoreError(
            f"The new version failed its checks: {problem} "
            f"It was put aside as {str(aside)!r}; the current version stays."
        ) from problem
    record = version.pack(work / RECORD, canary)
    _write_part(work / RECORD, record)
    disk.sync_folder(work)
    head = Head(version.number, sha256(record[MANIFEST]))
    disk.put_in_place(work, root / VERSIONS / folder_name(head.number, head.digest))
    write_head(root, head)
    return head


def _write_part(folder: Path, files: Mapping[str, bytes]) -> None:
    disk.make_folder(folder)
    for name, content in files.items():
        disk.write_new_file(folder / name, content)
    disk.sync_folder(folder)


def _explain(root: Path, version: Version, problem: OSError) -> StoreError:
    """Say what a disk error means: did it come before or after HEAD named the version?"""
    reason = disk.describe(problem)
    head = None
    with suppress(StoreError):
        head = read_head(root)
    if head is not None and head.number == version.number:
        return StoreError(
            f"The disk did not confirm version {version.number}: {reason}. The version is current, "
            "but a power loss may still undo it. Check the disk, then run the same command again: "
            "nothing is applied twice."
        )
    return StoreError(
        f"Cannot write version {version.number} of {str(root)!r}: {reason}. "
        "What was current before still is. "
        "Make room or check the disk, and run the same command again."
    )


def clear_unfinished(root: Path, head: Head | None) -> None:
    """Remove what a stopped writer left before HEAD named its version; needs the lock."""
    number = head.number if head else 0
    folders = list_versions(root)
    newest = max(folders, default=0)
    if newest > number + 1:  # a stopped writer leaves one at most
        raise StoreError(
            f"Expected no version after {number}, which HEAD names, but {str(folders[newest])!r} "
            "is there: HEAD was lost or set back. Make a version current with "
            f"`realloc rollback --to {newest}`, or move the folder away."
        )
    if newest > number:
        disk.rename(folders[newest], root / "tmp" / folders[newest].name)
    disk.empty_folder(root / "tmp")


def forget_old(root: Path, keep: int, needed: set[int]) -> None:
    """Remove all versions but the newest `keep` and those needed; needs the lock."""
    folders = list_versions(root)
    old = [folders[number] for number in sorted(folders)[:-keep] if number not in needed]
    for folder in old:
        disk.rename(folder, root / "tmp" / folder.name)
    if old:
        # Or a power loss could bring a name back whose files are gone.
        disk.sync_folder(root / VERSIONS)
        disk.empty_folder(root / "tmp")
