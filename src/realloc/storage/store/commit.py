"""How a version becomes the current one; each step is on the disk before the next begins.

1. `tmp/<number>/model` is written, file by file, and checked by the gate, which reads it back.
2. `tmp/<number>/record` is written; the folder gets its name in `versions/`.
3. `tmp/HEAD` is written and renamed over `HEAD`. Only now the version counts.
4. Old versions are moved to `tmp/` and removed.

Who is killed on the way leaves the old HEAD; the next writer clears what is half-made.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from realloc.base import disk
from realloc.base.artifact import MANIFEST
from realloc.base.errors import ReallocError, StoreError
from realloc.storage.store.head import Head, point, read_head
from realloc.storage.store.versions import (
    MODEL,
    RECORD,
    VERSIONS,
    Version,
    folder_name,
    list_versions,
    sha256,
)

Canary = dict[str, NDArray[Any]]
Gate = Callable[
    [Path], Canary
]  # reads the model that was written; raises where it may not be published


def publish(root: Path, version: Version, model: Mapping[str, bytes], gate: Gate) -> Head:
    """Write a version, let the gate read it back, give it its name and make it current."""
    work = root / "tmp" / f"{version.number:08d}"
    try:
        return _publish(root, work, replace(version, model=sha256(model[MANIFEST])), model, gate)
    except OSError as problem:
        raise _explain(root, version, problem) from problem


def _publish(
    root: Path, work: Path, version: Version, model: Mapping[str, bytes], gate: Gate
) -> Head:
    disk.make_folder(work)
    _write_part(work / MODEL, model)
    try:
        canary = gate(work / MODEL)
    except ReallocError as problem:
        raise StoreError(
            f"Expected a new version that passes its checks, but it does not: {problem} It was put aside as "
            f"{str(_put_aside(root, work))!r}; the current version stays."
        ) from problem
    record = version.pack(work / RECORD, canary)
    _write_part(work / RECORD, record)
    disk.sync_folder(work)
    head = Head(version.number, sha256(record[MANIFEST]))
    disk.rename(work, root / VERSIONS / folder_name(head.number, head.digest))
    disk.sync_folder(root / VERSIONS)
    point(root, head)
    return head


def _write_part(folder: Path, files: Mapping[str, bytes]) -> None:
    disk.make_folder(folder)
    for name, content in files.items():
        disk.write_new_file(folder / name, content)
    disk.sync_folder(folder)


def _put_aside(root: Path, work: Path) -> Path:
    place = root / "quarantine"
    target = next(p for n in range(1, 10**6) if not (p := place / f"{work.name}-{n}").exists())
    disk.rename(work, target)
    return target


def _explain(root: Path, version: Version, problem: OSError) -> StoreError:
    """What an error of the disk means depends on whether HEAD was renamed before it: read, not guessed."""
    told = f"{problem.strerror or problem}{f' at {problem.filename!r}' if problem.filename else ''}"
    try:
        after = read_head(root)
    except StoreError:
        after = None
    if after is not None and after.number == version.number:
        return StoreError(
            f"Expected the disk to confirm version {version.number}, but it failed: {told}. The version is current, but a "
            "power loss may still undo it. Check the disk, then run the same command again: nothing is applied twice."
        )
    return StoreError(
        f"Expected to write version {version.number} of {str(root)!r}, but it failed: {told}. "
        "What was current before still is. Make room or check the disk, and run the same command again."
    )


def clear_unfinished(root: Path, head: Head | None) -> None:
    """Remove what a writer left that was stopped before HEAD named its version; needs the lock."""
    number = head.number if head else 0
    folders = list_versions(root)
    newest = max(folders, default=0)
    if newest > number + 1:  # a stopped writer leaves one at most
        raise StoreError(
            f"Expected no version after {number}, which HEAD names, but {str(folders[newest])!r} is there: HEAD was lost or "
            f"put back. Make a version current with `realloc rollback --to {newest}`, or move the folder away."
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
        disk.sync_folder(
            root / VERSIONS
        )  # or a power loss could bring a name back whose files are gone
        disk.empty_folder(root / "tmp")
