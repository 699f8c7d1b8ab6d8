"""A version: a model and the record of how it came about, in a folder that never changes.

    versions/00000002-1a2b3c4d/        number and the start of the record's digest
        model/                         an artifact: what the next round and `recommend` need
        record/                        an artifact: `Version`, the canary's rows and answers

Digests form a chain: HEAD and every child name the record's manifest, the record names the model's
manifest, and each manifest its weights. So one number vouches for every byte.
"""

import os
import re
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from realloc.base.artifact import MANIFEST, Artifact, pack_artifact, read_artifact
from realloc.base.errors import ArtifactError, StoreError
from realloc.base.validation import check_types
from realloc.storage.store.head import Head
from realloc.storage.store.windows import WindowId

MODEL = "model"
RECORD = "record"
KIND = "version"
MOST_DIGITS = 6
NAME = re.compile(r"(\d{8})-([0-9a-f]{8})")
VERSIONS = "versions"


@dataclass(frozen=True, kw_only=True)
class Version:
    """How a version came about."""

    number: int
    parent: int | None  # the version that was current before, and its digest
    parent_digest: str | None
    former: int | None  # the version that a plain rollback goes back to
    restores: int | None  # the version whose model this one repeats, after a rollback
    created: str  # UTC; never before its parent's, whatever the clock says
    rounds: int
    # all that the model has learned from, in the order of learning
    windows: tuple[WindowId, ...]
    metrics: dict[str, float]
    # of the last window: units, mean shares, budget and outcome
    fingerprint: dict[str, Any]
    schema: dict[str, Any]
    money_digits: int
    model: str  # SHA-256 of the model's manifest

    def __post_init__(self) -> None:
        check_types(self, "the record")
        for window in self.windows:
            check_types(window, "the record")
        datetime.fromisoformat(self.created)
        if not self.windows:
            raise ValueError("a version that has learned from no window")
        if not 0 <= self.money_digits <= MOST_DIGITS:
            raise ValueError(f"money of {self.money_digits} digits")

    def pack(self, folder: Path, canary: dict[str, NDArray[Any]]) -> dict[str, bytes]:
        """The files of its record, which shall lie in `folder`."""
        windows = [asdict(window) for window in self.windows]
        return pack_artifact(folder, KIND, canary, asdict(self) | {"windows": windows})


@dataclass(frozen=True)
class Kept:
    """A version on disk: its record, the digest of that, its folder, and its canary."""

    version: Version
    digest: str
    folder: Path
    canary: dict[str, NDArray[Any]]


def folder_name(number: int, digest: str) -> str:
    """Name the folder of a version after its number and the start of its record's digest."""
    return f"{number:08d}-{digest[:8]}"


def list_versions(root: Path) -> dict[int, Path]:
    """Folders of all versions by number, whole or not."""
    folders: dict[int, Path] = {}
    place = root / VERSIONS
    if place.is_symlink():
        raise StoreError(
            f"Expected a folder at {str(place)!r}, but it is a link. Move it away."
        )
    for name in sorted(os.listdir(place)) if place.is_dir() else ():
        match = NAME.fullmatch(name)
        if match is None or int(match[1]) in folders or (place / name).is_symlink():
            raise StoreError(
                f"Expected one folder for each version in {str(place)!r}, "
                f"but {name!r} is not one, is a link, or repeats a number. Move it away."
            )
        folders[int(match[1])] = place / name
    return folders


def read_version(folder: Path, digest: str | None = None) -> Kept:
    """Read a version's record; its digest must be the expected one and fit the folder's name."""
    path = folder / RECORD / MANIFEST
    record = read_artifact(folder / RECORD, KIND)
    if digest not in (None, record.digest) or not folder.name.endswith(record.digest[:8]):
        raise StoreError(
            f"Expected the digest that HEAD, a later version and the folder's name give "
            f"in {str(path)!r}, got another: it was changed, or belongs to another version."
        )
    try:
        values = dict(record.meta)
        values["windows"] = tuple(WindowId(**window) for window in values["windows"])
        version = Version(**values)
    except (TypeError, KeyError, ValueError) as problem:
        raise StoreError(
            f"Expected a record with {', '.join(spec.name for spec in fields(Version))} "
            f"in {str(path)!r}, got another one. Was it written by another version of realloc?"
        ) from problem
    if version.number != int(folder.name[:8]):
        raise StoreError(
            f"Expected version {int(folder.name[:8])} in {str(path)!r}, got {version.number}."
        )
    return Kept(version, record.digest, folder, record.tensors)


def check_model(kept: Kept) -> Artifact:
    """Read a version's model; it must be the one of the record, to the last byte."""
    strange = sorted(set(os.listdir(kept.folder)) - {MODEL, RECORD})
    if strange:
        raise StoreError(
            f"Expected only model and record in {str(kept.folder)!r}, but found {strange[0]!r}."
        )
    model = read_artifact(kept.folder / MODEL, MODEL)
    if model.digest != kept.version.model:
        path = kept.folder / MODEL / MANIFEST
        raise StoreError(
            f"Expected the digest of the record in {str(path)!r}, got another: it was changed."
        )
    return model


def find_faults(root: Path, head: Head) -> list[str]:
    """Hash every version up to the current one: a sentence for each damaged one, with the file."""
    faults: list[str] = []
    folders = list_versions(root)
    if head.number not in folders:
        faults.append(
            f"Expected version {head.number} in {str(root / VERSIONS)!r}, as HEAD says, "
            "but there is none."
        )
    expected: dict[int | None, str | None] = {head.number: head.digest}
    for number in sorted((n for n in folders if n <= head.number), reverse=True):
        try:
            kept = read_version(folders[number], expected.get(number))
            check_model(kept)
            expected[kept.version.parent] = kept.version.parent_digest
        except (ArtifactError, StoreError, OSError) as problem:
            faults.append(f"Version {number} is damaged. {problem}")
    return faults
