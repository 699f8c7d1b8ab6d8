"""How anything is saved: a folder of tensors and a manifest, checked to the last byte, never code.

    model/
        manifest.json        format, kind, versions, meta, length and SHA-256 of the weights, and
                             SHA-256 of all that
        weights.safetensors  the arrays

A new version is made whole beside the old one (`.model.realloc-new`), then two renames put it in
place: the old one to `.model.realloc-old`, the new one to `model`. Whoever is killed between the
two leaves the old one whole under its second name; readers look there when `model` is missing, and
the next writer puts it back.
"""

import hashlib
import importlib.metadata
import os
import platform
import reprlib
import stat
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from realloc.base import disk
from realloc.base.errors import ArtifactError
from realloc.base.lock import folder_locked
from realloc.base.strict_json import parse_object, to_text
from realloc.base.version import __version__

FORMAT = 5
MANIFEST = "manifest.json"
WEIGHTS = "weights.safetensors"
NAMES = (MANIFEST, WEIGHTS)
KEYS = {"digest", "files", "format", "kind", "meta", "versions"}
LONGEST_JSON = 16 * 2**20  # bytes, of the manifest and of the header of the weights
DEEPEST_JSON = 32  # levels
READ_ATTEMPTS = 20
AGAIN = "Restore it from a copy, or write it again."


@dataclass(frozen=True)
class Artifact:
    """Saved plain values and arrays, and the SHA-256 of the manifest, which vouches for both."""

    meta: dict[str, Any]
    tensors: dict[str, NDArray[Any]]
    digest: str


def write_artifact(
    path: str | os.PathLike[str],
    kind: str,
    tensors: Mapping[str, NDArray[Any]],
    meta: Mapping[str, Any],
) -> None:
    """Save arrays and plain values as one folder; after a failure what was there before still is.

    An artifact at `path` is replaced, anything else there refused. Writers in one parent folder
    wait for each other.
    """
    folder = _resolve(path)
    files = pack_artifact(folder, kind, tensors, meta)
    if not os.path.isdir(folder.parent):
        raise ArtifactError(
            f"Expected a folder {_show(folder.parent)} to write into, but there is none. "
            "Make it first."
        )
    try:
        with folder_locked(folder.parent):
            _replace(folder, files)
    except OSError as problem:
        raise ArtifactError(
            f"Cannot write {_show(folder)}: {problem.strerror or problem} at "
            f"{_show(problem.filename or folder)}. What was there before can still be read. "
            "Make room or choose another place."
        ) from problem


def pack_artifact(
    path: str | os.PathLike[str],
    kind: str,
    tensors: Mapping[str, NDArray[Any]],
    meta: Mapping[str, Any],
) -> dict[str, bytes]:
    """Make the files of an artifact for `path`, by name; nothing is written."""
    folder = _resolve(path)
    files = {WEIGHTS: _pack(tensors, folder)}
    files[MANIFEST] = _make_manifest(kind, files, meta, folder)
    return files


def unpack_artifact(
    path: str | os.PathLike[str], kind: str, files: Mapping[str, bytes]
) -> Artifact:
    """Check and unpack what `pack_artifact` made; errors name it by `path`."""
    folder = Path(path)
    if set(files) != set(NAMES):
        raise ArtifactError(
            f"Expected {' and '.join(NAMES)} in {_show(folder)}, got {sorted(files)}. {AGAIN}"
        )
    return _put_together(files[MANIFEST], lambda _: files[WEIGHTS], folder, kind)


def read_artifact(path: str | os.PathLike[str], kind: str) -> Artifact:
    """Read what `write_artifact` saved as this kind, or say why it cannot be trusted."""
    folder = _resolve(path)
    for _ in range(READ_ATTEMPTS - 1):
        place = _find_whole(folder)
        seen = _identity(place)
        try:
            return _read_folder(place, kind)
        except ArtifactError:
            if _identity(_find_whole(folder)) == seen:
                raise  # not a writer who replaced it meanwhile
    return _read_folder(_find_whole(folder), kind)


# Places


def _resolve(path: str | os.PathLike[str]) -> Path:
    text = os.fspath(path)
    # a link to one means the one
    folder = None if "\0" in text else Path(os.path.realpath(text))
    if folder is None or not text or not folder.name:
        raise ArtifactError(f"Expected the path of a folder for an artifact, got {text!r}.")
    return folder


def _beside(folder: Path) -> tuple[Path, Path]:
    name = f".{folder.name}.realloc"
    return folder.with_name(f"{name}-new"), folder.with_name(f"{name}-old")


def _find_whole(folder: Path) -> Path:
    old = _beside(folder)[1]
    return old if not os.path.lexists(folder) and os.path.lexists(old) else folder


def _identity(folder: Path) -> tuple[str, int, int, int] | None:
    try:
        found = folder.stat()
    except OSError:
        return None
    return str(folder), found.st_dev, found.st_ino, found.st_ctime_ns


def _show(path: object) -> str:
    return repr(str(path))  # escapes what a hostile name may do to a terminal


# Writing


def _replace(folder: Path, files: Mapping[str, bytes]) -> None:
    new, old = _beside(folder)
    if os.path.lexists(old) and not os.path.lexists(folder):
        disk.rename(old, folder)  # a writer was killed between its renames
    _check_replaceable(folder)
    _remove(old)
    _remove(new)
    try:
        disk.make_folder(new)
        for name, content in files.items():
            disk.write_new_file(new / name, content)
        disk.sync_folder(new)
        _swap(new, folder, old)
    finally:
        with suppress(OSError):  # what cannot be removed now, the next writer removes
            _remove(new)


def _swap(new: Path, folder: Path, old: Path) -> None:
    """Exchange `new` and `folder`, whose former content is then at `new`; or change nothing."""
    try:
        if os.path.lexists(folder):
            disk.rename(folder, old)
        disk.rename(new, folder)
        disk.sync_folder(folder.parent)
        if os.path.lexists(old):
            disk.rename(old, new)
    except BaseException:
        # The disk says which rename was the last: Ctrl-C may come right after one.
        with suppress(OSError):
            if not os.path.lexists(new):
                disk.rename(folder, new)
            if os.path.lexists(old):
                disk.rename(old, folder)
        raise


def _check_replaceable(folder: Path) -> None:
    if not os.path.lexists(folder):
        return
    advice = f"Choose another place, or remove {_show(folder)} yourself."
    if folder.is_symlink() or not folder.is_dir():
        raise ArtifactError(
            f"Expected {_show(folder)} to be free or an artifact, but it is no folder. {advice}"
        )
    if not os.listdir(folder):
        return
    try:
        _check_names(folder)
        _check_manifest(_read_manifest(folder), folder / MANIFEST)
    except ArtifactError as problem:
        raise ArtifactError(
            f"Expected {_show(folder)} to be free or an artifact that can be replaced, "
            f"but it is neither. {problem} {advice}"
        ) from problem


def _remove(folder: Path) -> None:
    """Remove a folder of ours by its names, never anything that somebody else put there."""
    try:
        _remove_names(folder)
    except BaseException:
        with suppress(OSError):
            _remove_names(folder)  # Ctrl-C comes once
        raise


def _remove_names(folder: Path) -> None:
    if folder.is_symlink():
        return
    for name in NAMES:
        with suppress(FileNotFoundError):
            disk.remove_file(folder / name)
    with suppress(FileNotFoundError):
        disk.remove_folder(folder)


def _make_manifest(
    kind: str, files: Mapping[str, bytes], meta: Mapping[str, Any], folder: Path
) -> bytes:
    table: dict[str, Any] = {
        "format": FORMAT,
        "kind": kind,
        "versions": _versions(),
        "meta": dict(meta),
        "files": {
            name: {"bytes": len(content), "sha256": sha256(content)}
            for name, content in files.items()
        },
    }
    try:
        content = _to_bytes({**table, "digest": sha256(_to_bytes(table))})
        comes_back = parse_object(content, DEEPEST_JSON)["meta"] == table["meta"]
    except (ValueError, TypeError, RecursionError) as problem:
        raise ArtifactError(
            f"Expected `meta` of {_show(folder)} to fit into JSON, but {problem}. "
            "Convert it first."
        ) from problem
    if not comes_back:  # a tuple would become a list, a key that is a number a text
        raise ArtifactError(
            f"Expected `meta` of {_show(folder)} to come back from JSON as it is, but it changes. "
            "Convert tuples to lists and keys to text."
        )
    if len(content) > LONGEST_JSON:
        raise ArtifactError(
            f"Expected `meta` of {_show(folder)} to stay below {LONGEST_JSON:,} bytes, "
            f"got {len(content):,}. Keep large tables as tensors."
        )
    return content


@cache  # looking for torch reads and parses files of it
def _versions() -> Mapping[str, str]:
    try:
        torch = importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        torch = "not installed"
    return {
        "realloc": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "torch": torch,
    }


def _pack(tensors: Mapping[str, NDArray[Any]], folder: Path) -> bytes:
    # The library writes memory as it lies, so other orders would come back as other numbers.
    arrays = {
        name: np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")
        for name, array in sorted(tensors.items())
    }
    try:
        content = save(arrays)
    except (SafetensorError, ValueError) as problem:
        raise ArtifactError(
            f"Expected tensors that {WEIGHTS} can hold for {_show(folder)}, but: {problem}."
        ) from problem
    _unpack_header(content, folder / WEIGHTS)
    return content


# Reading


def _read_folder(folder: Path, kind: str) -> Artifact:
    if not os.path.isdir(folder):
        came = "it is no folder" if os.path.lexists(folder) else "there is none"
        raise ArtifactError(
            f"Expected an artifact of kind {kind!r} at {_show(folder)}, but {came}. Check the path."
        )

    def read_weights(length: int) -> bytes:
        _check_names(folder)
        return read_plain(folder / WEIGHTS, length, length)

    return _put_together(_read_manifest(folder), read_weights, folder, kind)


def _put_together(
    content: bytes, read_weights: Callable[[int], bytes], folder: Path, kind: str
) -> Artifact:
    """The artifact of a manifest and of weights, which are read once their length is known."""
    manifest = _check_manifest(content, folder / MANIFEST)
    if manifest["format"] < FORMAT:
        raise ArtifactError(
            f"{_show(folder)} was written by an earlier realloc "
            f"(format {manifest['format']}, this one reads {FORMAT}): fit again with this one."
        )
    if manifest["kind"] != kind:
        raise ArtifactError(
            f"Expected an artifact of kind {kind!r} at {_show(folder)}, "
            f"got one of kind {reprlib.repr(manifest['kind'])}. Check the path."
        )
    path = folder / WEIGHTS
    expected = manifest["files"][WEIGHTS]
    weights = read_weights(expected["bytes"])
    if sha256(weights) != expected["sha256"]:
        raise ArtifactError(
            f"Expected the SHA-256 of {MANIFEST} in {_show(path)}, got another: "
            f"it was changed. {AGAIN}"
        )
    return Artifact(manifest["meta"], _unpack(weights, path), sha256(content))


def _check_names(folder: Path) -> None:
    try:
        strange = sorted(set(os.listdir(folder)) - set(NAMES))
    except OSError as problem:
        raise _unreadable(folder, problem) from problem
    if strange:
        raise ArtifactError(
            f"Expected only {' and '.join(NAMES)} in {_show(folder)}, "
            f"but found {reprlib.repr(strange[0])}. Move it away."
        )


def _read_manifest(folder: Path) -> bytes:
    return read_plain(folder / MANIFEST, 2, LONGEST_JSON)


def _check_manifest(content: bytes, path: Path) -> dict[str, Any]:
    """The manifest of these bytes, without its digest."""
    table = _parse(content, path)
    version = table.get("format")
    if type(version) is int and version > FORMAT:
        raise ArtifactError(
            f"{_show(path.parent)} was written by a newer realloc "
            f"(format {version}, this one reads up to {FORMAT}): upgrade realloc."
        )
    if type(version) is not int or version < 1 or set(table) != KEYS:
        raise ArtifactError(
            f"Expected a manifest of realloc in {_show(path)}, but its keys are others. {AGAIN}"
        )
    digest = table.pop("digest")
    # Compared as bytes too: blanks and other spellings of the same values are changes as well.
    if digest != sha256(_to_bytes(table)) or content != _to_bytes(
        {**table, "digest": digest}
    ):
        raise ArtifactError(
            f"Expected {_show(path)} to match its own digest, but it was changed. {AGAIN}"
        )
    if not _is_manifest(table):
        raise ArtifactError(
            f"Expected a manifest of realloc in {_show(path)}, but its values are others. {AGAIN}"
        )
    return table


def _is_manifest(table: Mapping[str, Any]) -> bool:
    files = table["files"]
    if type(files) is not dict or set(files) != {WEIGHTS}:
        return False
    weights = files[WEIGHTS]
    return (
        type(weights) is dict
        and set(weights) == {"bytes", "sha256"}
        and type(weights["bytes"]) is int
        and type(table["kind"]) is str
        and type(table["meta"]) is dict
    )


def read_plain(path: Path, least: int, most: int) -> bytes:
    """Read a plain file of `least` to `most` bytes; links, pipes and devices are not opened."""
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            raise ArtifactError(
                f"Expected a plain file at {_show(path)}, but it is a link or no file. {AGAIN}"
            )
        with open(path, "rb", opener=_open_plain) as file:
            length = os.fstat(file.fileno()).st_size
            if not least <= length <= most:
                wanted = f"{most:,}" if least == most else f"{least:,} to {most:,}"
                raise ArtifactError(
                    f"Expected {wanted} bytes in {_show(path)}, got {length:,}. {AGAIN}"
                )
            return file.read()
    except FileNotFoundError as problem:
        raise ArtifactError(
            f"Expected a file {_show(path)}, but there is none. {AGAIN}"
        ) from problem
    except (OSError, MemoryError) as problem:
        raise _unreadable(path, problem) from problem


def _open_plain(path: str, flags: int) -> int:
    return os.open(
        path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    )


def _unreadable(path: Path, problem: Exception) -> ArtifactError:
    reason = getattr(problem, "strerror", None) or "not enough memory"
    return ArtifactError(
        f"Cannot read {_show(path)}: {reason}. Check its owner and its place."
    )


def _unpack_header(content: bytes, path: Path) -> None:
    length = int.from_bytes(content[:8], "little")
    most = min(len(content) - 8, LONGEST_JSON)
    if not 2 <= length <= most:
        raise ArtifactError(
            f"Expected a header of 2 to {most:,} bytes in {_show(path)}, got {length:,}. {AGAIN}"
        )
    _parse(content[8 : 8 + length], path)


def _unpack(content: bytes, path: Path) -> dict[str, NDArray[Any]]:
    _unpack_header(content, path)
    try:
        return load(content)
    # KeyError: a dtype that numpy lacks
    except (SafetensorError, KeyError, ValueError, OverflowError) as problem:
        raise ArtifactError(
            f"Expected tensors in {_show(path)}, but they cannot be unpacked: "
            f"{reprlib.repr(str(problem))}. {AGAIN}"
        ) from problem


# JSON


def sha256(content: bytes) -> str:
    """The digest of some bytes in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def _to_bytes(table: Mapping[str, Any]) -> bytes:
    """The one spelling of a table: sorted keys, one line for each on top."""
    lines = [f"{to_text(key)}: {to_text(table[key])}" for key in sorted(table)]
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode()


def _parse(content: bytes, path: Path) -> dict[str, Any]:
    try:
        return parse_object(content, DEEPEST_JSON)
    except ValueError as problem:
        raise ArtifactError(
            f"Expected JSON in {_show(path)}, but {problem}. {AGAIN}"
        ) from problem
