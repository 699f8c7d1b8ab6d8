"""The kill switch: while the file FROZEN exists, every answer is "no change".

Its content is only for people. It needs no lock, so it works while an update runs, and no model, so
it works where none can be loaded.
"""

from contextlib import suppress
from datetime import datetime
from pathlib import Path

from realloc.base import disk
from realloc.base.artifact import read_plain
from realloc.base.errors import ArtifactError, StoreError
from realloc.storage.store.versions import Version, list_versions, read_version

FROZEN = "FROZEN"
REASON = "frozen"
LONGEST = 1000  # characters of a reason


def freeze(root: Path, reason: str, now: datetime) -> None:
    """Make the file FROZEN; one that is there already stays."""
    if not root.is_dir():
        raise StoreError(
            f"Expected a store at {str(root)!r}, but there is no folder. Check the path."
        )
    text = " ".join(reason.split())[:LONGEST] or "no reason was given"
    try:
        with suppress(FileExistsError):
            disk.write_new_file(
                root / FROZEN, f"{now.isoformat(timespec='seconds')} {text}\n".encode()
            )
        disk.sync_folder(root)
    except OSError as problem:
        if (root / FROZEN).exists():
            return  # its existence counts, not what stands in it
        raise StoreError(
            f"Cannot write {str(root / FROZEN)!r}: {problem.strerror}. The store is NOT frozen."
        ) from problem


def unfreeze(root: Path) -> bool:
    """Remove the file FROZEN; False where there was none."""
    try:
        disk.remove_file(root / FROZEN)
        disk.sync_folder(root)
    except FileNotFoundError:
        return False
    except OSError as problem:
        raise StoreError(
            f"Cannot remove {str(root / FROZEN)!r}: {problem.strerror}. The store stays frozen."
        ) from problem
    return True


def why_frozen(root: Path) -> str | None:
    """The content of FROZEN; None where there is none. One that cannot be read freezes too."""
    try:
        text = read_plain(root / FROZEN, 0, 4 * LONGEST).decode(errors="replace")
    except ArtifactError as problem:
        gone = isinstance(problem.__cause__, FileNotFoundError | NotADirectoryError)
        return None if gone else "for a reason that cannot be read"
    printable = "".join(letter if letter.isprintable() else " " for letter in text)
    return printable.strip() or "no reason was given"


def newest_record(root: Path) -> Version:
    """The record of the newest version whose record is whole; its model need not be."""
    for _, folder in sorted(list_versions(root).items(), reverse=True):
        with suppress(ArtifactError, StoreError):
            return read_version(folder).version
    raise StoreError(
        f"Expected a version whose record can be read in {str(root)!r}, "
        "to know which columns hold the mix, but there is none. "
        "The store is frozen, so keep every mix as it is."
    )
