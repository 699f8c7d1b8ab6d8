"""The folder of a store: how it is made, what it may hold before, on which disks it may lie."""

import os
from contextlib import suppress
from pathlib import Path

from realloc.base import disk
from realloc.base.artifact import read_plain
from realloc.base.errors import ArtifactError, StoreError

FORMAT = "FORMAT"
FORMAT_LINE = b"2\n"
LOCK = "LOCK"
LONGEST = 1000  # bytes; the line has fewer
FOLDERS = ("tmp", "versions", "quarantine")
MOUNTS = Path("/proc/self/mountinfo")
NETWORK = {
    "9p",
    "afs",
    "beegfs",
    "ceph",
    "cifs",
    "glusterfs",
    "gpfs",
    "lustre",
    "ncpfs",
    "nfs",
    "nfs4",
    "smb3",
    "smbfs",
    "fuse.gcsfuse",
    "fuse.glusterfs",
    "fuse.rclone",
    "fuse.s3fs",
    "fuse.sshfs",
}


def is_store(root: Path) -> bool:
    """Whether a store of this format lies there; any other format is refused."""
    path = root / FORMAT
    try:
        content = read_plain(path, 0, LONGEST)
    except ArtifactError as problem:
        if not isinstance(problem.__cause__, FileNotFoundError | NotADirectoryError):
            raise StoreError(str(problem)) from problem
        content = None
    if content == b"1\n" or (content is None and (root / "model").is_dir()):
        raise StoreError(
            f"The store {str(root)!r} was written by an earlier realloc, "
            "which this one cannot read: fit again into another folder with `realloc fit`."
        )
    if content not in (None, FORMAT_LINE):
        raise StoreError(
            f"Expected format 2 in {str(path)!r}, got {content.decode('latin-1').strip()!r}. "
            "If a newer realloc wrote this store, upgrade; if the file was damaged, "
            "write the line `2` into it."
        )
    return content is not None


def make_path(root: Path) -> None:
    """Make the folder and what is missing above it, each name brought down to the disk."""
    missing = [place for place in (root, *root.parents) if not place.exists()]
    for place in reversed(missing):
        with suppress(FileExistsError):  # another writer was faster
            disk.make_folder(place)
        disk.sync_folder(place.parent)


def make_store(root: Path) -> None:
    """Make what is missing of a store: its folders and FORMAT."""
    check_folders(root)
    missing = [root / name for name in FOLDERS if not (root / name).is_dir()]
    for folder in missing:
        disk.make_folder(folder)
    if not (root / FORMAT).exists():
        disk.replace_file(root / FORMAT, FORMAT_LINE)
    elif missing:
        disk.sync_folder(root)


def check_folders(root: Path) -> None:
    """Refuse links in the place of our folders: `tmp` is emptied, a link's target is not ours."""
    for folder in (root / name for name in FOLDERS):
        if folder.is_symlink():
            raise StoreError(
                f"Expected a folder at {str(folder)!r}, but it is a link. Move it away."
            )


def check_free(root: Path) -> None:
    """Refuse a folder where somebody else uses our names: `tmp` is emptied, so it must be ours."""
    if root.exists() and not root.is_dir():
        raise StoreError(
            f"Expected a folder for the store, but {str(root)!r} is a file. Choose another place."
        )
    for folder in (root / name for name in FOLDERS):
        if not folder.exists():
            continue
        strange = sorted(os.listdir(folder)) if folder.is_dir() else [""]
        if strange:
            raise StoreError(
                f"Expected a store or a free folder at {str(root)!r}, "
                f"but {str(folder / strange[0])!r} is there and no {FORMAT}. Choose another folder."
            )


def check_local(root: Path, mounts: str | None = None) -> None:
    """Refuse network file systems, where renames and locks may mean less than they say."""
    if mounts is None:
        mounts = MOUNTS.read_text() if MOUNTS.exists() else ""
    kind = _kind_of_disk(root, mounts)
    if kind in NETWORK:
        raise StoreError(
            f"Expected a store on a local disk, but {str(root)!r} lies on a network file system "
            f"({kind}), where a rename may be seen halfway and a lock may not hold. "
            "Choose a local folder, or take the risk with `--allow-network`."
        )


def _kind_of_disk(root: Path, mounts: str) -> str:
    """The file system with the longest mount point above `root`; the last mounted there counts."""
    place = os.path.realpath(root)
    kind = ""
    longest = -1
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        words = before.split()
        if len(words) < 5 or not after:
            continue
        # a blank in a name is written \040
        point = words[4].encode().decode("unicode_escape")
        inside = place == point or place.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= longest:
            kind = after.split()[0]
            longest = len(point)
    return kind
