"""Going back: a new version whose model is that of an older one, so that history only grows."""

from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from realloc.base import disk
from realloc.base.artifact import NAMES
from realloc.base.errors import ArtifactError, StoreError
from realloc.storage.store.head import Head, read_head
from realloc.storage.store.record import stamp
from realloc.storage.store.versions import (
    Kept,
    Version,
    check_model,
    list_versions,
    read_version,
)


def find_head(root: Path) -> Head:
    """Read HEAD, or take the newest version where it is unreadable, lost or was put back."""
    newest = max(list_versions(root), default=0)
    with suppress(StoreError):
        head = read_head(root)
        if (
            head is not None and newest <= head.number + 1
        ):  # a stopped writer leaves one more
            return head
    return Head(newest, "")


def find_target(root: Path, head: Head, to: int | None) -> Kept:
    """Find the version to go back to: the one named, or the one that the model was learned from."""
    folders = {
        number: folder
        for number, folder in list_versions(root).items()
        if number <= head.number
    }
    kept = ", ".join(map(str, folders)) or "none"
    number = _former(folders, head, kept) if to is None else to
    if number not in folders:
        raise StoreError(
            f"Expected a version that is kept ({kept}), got {number}. Nothing was changed."
        )
    try:
        target = read_version(folders[number])
        check_model(target)
    except (ArtifactError, StoreError) as problem:
        raise StoreError(
            f"Expected version {number} to be whole, but it is not. {problem} "
            f"Name another with `--to` (kept: {kept})."
        ) from problem
    return target


def _former(folders: dict[int, Path], head: Head, kept: str) -> int:
    try:
        former = read_version(folders[head.number], head.digest).version.former
    except (ArtifactError, StoreError, KeyError) as problem:
        raise StoreError(
            "HEAD and the current version's record do not tell which version comes before. "
            f"Name one with `--to` (kept: {kept})."
        ) from problem
    if former is None:
        raise StoreError(
            "Expected a version to go back to, but the current one is the first. "
            "Nothing was changed."
        )
    return former


def describe_restored(root: Path, target: Kept, head: Head, now: datetime) -> Version:
    """Describe the version that repeats the target's model."""
    parent = None
    with suppress(ArtifactError, StoreError, KeyError):
        parent = read_version(list_versions(root)[head.number])
    return replace(
        target.version,
        number=head.number + 1,
        parent=head.number,
        parent_digest=head.digest or (parent.digest if parent else None),
        restores=target.version.restores or target.version.number,
        created=stamp(now, parent.version.created if parent else None),
    )


def put_damaged_aside(root: Path, number: int) -> None:
    """Move a version that is not whole to quarantine, where nothing loads it; needs the lock."""
    folder = list_versions(root).get(number)
    if folder is None:
        return
    try:
        check_model(read_version(folder))
    except (ArtifactError, StoreError, OSError):
        with suppress(OSError):  # it stays where it is, and `verify` goes on to name it
            disk.rename(folder, root / "quarantine" / folder.name)


def read_files(folder: Path) -> dict[str, bytes]:
    """The files of a model by name, as they lie there."""
    return {name: (folder / name).read_bytes() for name in sorted(NAMES, reverse=True)}
