"""Stores that somebody made to harm who opens them: each case changes a good store, most with
every digest made to match.
"""

import hashlib
import json
import os
import pickle
import shutil
import socket
import struct
import zipfile
from pathlib import Path

import numpy as np
from safetensors.numpy import load, save

from realloc.base import artifact
from realloc.base.artifact import MANIFEST, WEIGHTS
from realloc.storage.store.head import Head, read_head
from realloc.storage.store.versions import folder_name, list_versions

CASES = {}


class Evil:
    """A pickle that makes a folder when it is read."""

    def __init__(self, mark: Path):
        self.mark = mark

    def __reduce__(self):
        return os.mkdir, (str(self.mark),)


def case(name):
    """Register `change(store)` under a name; `store` knows its places and can be sealed again."""

    def register(change):
        CASES[name] = change
        return change

    return register


class Opened:
    """The current version of a store, to be changed."""

    def __init__(self, root: Path, outside: Path):
        self.root, self.outside = root, outside
        self.folder = list_versions(root)[read_head(root).number]

    def evil(self, protocol=2) -> bytes:
        return pickle.dumps(Evil(self.outside / "executed"), protocol)

    def path(self, name: str) -> Path:
        return (
            self.root / name
            if name in ("HEAD", "FORMAT", "FROZEN", "LOCK")
            else self.folder / name
        )

    def seal(self, part: str, change=None, weights=None, meta=None, manifest=None):
        """Write changed files of a part and let every digest up to HEAD match."""
        place = self.folder / part
        if weights is not None:
            (place / WEIGHTS).write_bytes(weights)
        table = json.loads((place / MANIFEST).read_text())
        if change is not None:
            tensors = load((place / WEIGHTS).read_bytes())
            change(tensors, table["meta"])
            (place / WEIGHTS).write_bytes(save(tensors))
        content = (place / WEIGHTS).read_bytes()
        table["files"] = {
            WEIGHTS: {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        }
        table["meta"] |= meta or {}
        table |= manifest or {}
        table.pop("digest")
        digest = hashlib.sha256(artifact._to_bytes(table)).hexdigest()
        (place / MANIFEST).write_bytes(artifact._to_bytes({**table, "digest": digest}))
        if part == "model":
            self.seal(
                "record",
                meta={"model": hashlib.sha256((place / MANIFEST).read_bytes()).hexdigest()},
            )
        else:
            self.point()

    def point(self):
        """HEAD and the folder's name follow the record, whatever it is."""
        number = int(self.folder.name[:8])
        head = Head(
            number,
            hashlib.sha256((self.folder / "record" / MANIFEST).read_bytes()).hexdigest(),
        )
        target = self.folder.with_name(folder_name(number, head.digest))
        self.folder.rename(target)
        self.folder = target
        (self.root / "HEAD").write_bytes(head.line())


FILES = (
    "HEAD",
    "FORMAT",
    "record/manifest.json",
    "record/weights.safetensors",
    "model/manifest.json",
    "model/weights.safetensors",
)

for file in FILES:
    for protocol in (0, 2, 5):
        case(f"pickle of protocol {protocol} as {file}")(
            lambda store, file=file, protocol=protocol: store.path(file).write_bytes(
                store.evil(protocol)
            )
        )

for part in ("model", "record"):
    case(f"sealed pickle as {part} weights")(
        lambda store, part=part: store.seal(part, weights=store.evil())
    )

STRANGERS = (
    "model.pkl",
    "pytorch_model.bin",
    "optimizer.pt",
    "scaler.joblib",
    "data.npy",
    "config.yaml",
    "__init__.py",
    "sitecustomize.py",
    "torch.py",
    "weights.safetensors.bak",
    "weights.safetensors.index.json",
    "evil\n\x1b[31m.txt",
)
for name in STRANGERS:
    case(f"stranger {name!r} beside the model")(
        lambda store, name=name: (store.folder / "model" / name).write_bytes(store.evil())
    )
for place in ("versions", "version", "record"):
    case(f"stranger in {place}")(
        lambda store, place=place: (
            {
                "versions": store.root / "versions",
                "version": store.folder,
                "record": store.folder / "record",
            }[place]
            / "x.pkl"
        ).write_bytes(store.evil())
    )


@case("zip as weights")
def _(store):
    with zipfile.ZipFile(store.path("model/weights.safetensors"), "w") as file:
        file.writestr("archive/data.pkl", store.evil())
    store.seal("model", weights=store.path("model/weights.safetensors").read_bytes())


@case("array of objects as weights")
def _(store):
    np.save(
        store.root / "x.npy",
        np.array([Evil(store.outside / "executed")], dtype=object),
        allow_pickle=True,
    )
    store.seal("model", weights=(store.root / "x.npy").read_bytes())


def header(table, body: bytes = b"") -> bytes:
    content = table if isinstance(table, bytes) else json.dumps(table).encode()
    return struct.pack("<Q", len(content)) + content + body


SPEC = {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}
WEIGHT_FILES = {
    "header of 2^60": struct.pack("<Q", 2**60) + b"{}",
    "header of 2^64 - 1": struct.pack("<Q", 2**64 - 1) + b"{}",
    "deep header": header(b"[" * 10**6),
    "long header": header(b"{" + b" " * (artifact.LONGEST_JSON + 1) + b"}"),
    "key twice": header(b'{"x":%s,"x":%s}' % ((json.dumps(SPEC).encode(),) * 2), b"1"),
    "shape of 2^63": header({"x": {**SPEC, "shape": [0, 2**63], "data_offsets": [0, 0]}}),
    "two in one place": header({"x": SPEC, "y": SPEC}, b"1"),
    "offsets beyond the end": header({"x": {**SPEC, "data_offsets": [0, 2**62]}}, b"1"),
    "dtype pickle": header({"x": {**SPEC, "dtype": "pickle"}}, b"1"),
    "metadata with code": header(
        {"__metadata__": {"format": "__import__('os').system('true')"}}
    ),
    "path as name": header({"../../x": SPEC}, b"1"),
}
for name, content in WEIGHT_FILES.items():
    for part in ("model", "record"):
        case(f"sealed {part} weights: {name}")(
            lambda store, part=part, content=content: store.seal(part, weights=content)
        )

MANIFESTS = {
    "deep": b'{"a":' * 10**6,
    "key twice": b'{"format": 3, "format": 3}',
    "not a number": b'{"a": NaN}',
    "1e999": b'{"a": 1e999}',
    "many digits": b'{"a": ' + b"9" * 5000 + b"}",
    "byte order mark": b"\xef\xbb\xbf{}",
    "UTF-16": "{}".encode("utf-16"),
    "half a surrogate pair": b'{"a": "\\ud800"}',
    "17 MiB": b" " * (artifact.LONGEST_JSON + 1),
    "empty": b"",
    "a script": b"#!/bin/sh\ntouch executed\n",
}
for name, content in MANIFESTS.items():

    @case(f"record's manifest: {name}")
    def _(store, content=content):
        store.path("record/manifest.json").write_bytes(content)
        store.point()

    case(f"model's manifest: {name}")(
        lambda store, content=content: store.path("model/manifest.json").write_bytes(
            content
        )
    )

NO_WINDOW = {"first": "x", "last": "y", "rows": 1, "digest": "", "gap_seconds": 0}
SEALED = {
    "files elsewhere": (
        "model",
        {"manifest": {"files": {"../../../outside/secret": {"bytes": 6, "sha256": ""}}}},
    ),
    "an absolute file": (
        "model",
        {"manifest": {"files": {"/etc/passwd": {"bytes": 6, "sha256": ""}}}},
    ),
    "2^70 bytes": (
        "model",
        {"manifest": {"files": {WEIGHTS: {"bytes": 2**70, "sha256": ""}}}},
    ),
    "a newer format": ("model", {"manifest": {"format": 99}}),
    "another kind": ("model", {"manifest": {"kind": "os.system"}}),
    "number as text": ("record", {"meta": {"number": "1"}}),
    "another number": ("record", {"meta": {"number": 7}}),
    "windows without time": ("record", {"meta": {"windows": [NO_WINDOW]}}),
    "unknown keys": ("record", {"meta": {"__class__": "os.system"}}),
    "money of a billion digits": ("record", {"meta": {"money_digits": 10**9}}),
    "a time with colours": ("record", {"meta": {"created": "\x1b[31m[/red]"}}),
}
for name, (part, changes) in SEALED.items():
    case(f"sealed {part}: {name}")(
        lambda store, part=part, changes=changes: store.seal(part, **changes)
    )


def changed(name, part):
    """A case that changes tensors and meta of a part, sealed."""
    return lambda change: case(f"sealed {part}: {name}")(
        lambda store: store.seal(part, change=change)
    )


def first_of(tensors, start):
    return next(
        name for name in sorted(tensors) if name.startswith(start) and tensors[name].size
    )


@changed("weights that are no numbers", "model")
def _(tensors, meta):
    tensors[first_of(tensors, "outcome0.student")].flat[0] = np.nan


@changed("infinite support", "model")
def _(tensors, meta):
    tensors["support.ranks"].flat[-1] = np.inf


@changed("channels that there are not", "model")
def _(tensors, meta):
    tensors["outcome0.memory.source"].flat[0] = 99


@changed("a student that takes all memory", "model")
def _(tensors, meta):
    meta["config"]["student"] |= {"width": 4096, "trunk": 4096}


@changed("a hundred members of it", "model")
def _(tensors, meta):
    meta["config"]["student"] |= {"width": 4096}
    meta["config"]["teacher"]["members"] = 100
    for name in ("pair", "field"):
        values = tensors[f"outcome0.memory.{name}"]
        tensors[f"outcome0.memory.{name}"] = np.zeros(
            (100, *values.shape[1:]), values.dtype
        )


@changed("a config that names code", "model")
def _(tensors, meta):
    meta["config"]["student"]["form"] = "__import__('os').system('true')"


@changed("an unknown table", "model")
def _(tensors, meta):
    meta["config"]["plugins"] = {"load": "evil.py"}


@changed("an array that belongs to nothing", "model")
def _(tensors, meta):
    tensors["more"] = np.zeros(3)


@changed("rows of the canary that are none", "record")
def _(tensors, meta):
    tensors["rows"] = np.frombuffer(
        np.random.default_rng(0).bytes(len(tensors["rows"])), np.uint8
    ).copy()


@changed("rows of the canary cut off", "record")
def _(tensors, meta):
    tensors["rows"] = tensors["rows"][: len(tensors["rows"]) // 2].copy()


@changed("a canary without answers", "record")
def _(tensors, meta):
    del tensors["gain"], tensors["fixed_gain"]


@changed("another model's answers", "record")
def _(tensors, meta):
    tensors["gain"] += 1.0


def link(path: Path, target: Path):
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    path.symlink_to(target)


def moved_away(store, path: Path):
    """A link to the very same content, which lies outside now."""
    target = store.outside / "moved"
    path.rename(target)
    path.symlink_to(target)


for file in FILES:
    case(f"link to a secret as {file}")(
        lambda store, file=file: link(store.path(file), store.outside / "secret")
    )
    case(f"endless file as {file}")(
        lambda store, file=file: link(store.path(file), Path("/dev/zero"))
    )
    case(f"good content behind a link as {file}")(
        lambda store, file=file: moved_away(store, store.path(file))
    )

    @case(f"pipe as {file}")
    def _(store, file=file):
        store.path(file).unlink()
        os.mkfifo(store.path(file))

    @case(f"folder as {file}")
    def _(store, file=file):
        store.path(file).unlink()
        store.path(file).mkdir()

    case(f"a terabyte of nothing as {file}")(
        lambda store, file=file: os.truncate(store.path(file), 2**40)
    )


@case("socket as weights")
def _(store):
    path = store.path("model/weights.safetensors")
    path.unlink()
    here = os.getcwd()
    os.chdir(path.parent)  # names of sockets are short
    try:
        with socket.socket(socket.AF_UNIX) as opened:
            opened.bind(path.name)
    finally:
        os.chdir(here)


@case("version folder behind a link")
def _(store):
    moved_away(store, store.folder)


@case("versions behind a link")
def _(store):
    moved_away(store, store.root / "versions")


@case("version that names its way out")
def _(store):
    head = Head(1, "../../../../outside" + "0" * 45)
    (store.root / "HEAD").write_bytes(head.line())


# Where only a writer could be harmed: reading is as before, writing must be refused or stay inside.
WRITING = {}
for name in ("tmp", "quarantine"):
    WRITING[f"{name} is a link"] = lambda store, name=name: link(
        store.root / name, store.outside
    )
WRITING["a link in tmp"] = lambda store: (store.root / "tmp" / "x").symlink_to(
    store.outside
)
WRITING["links deep in tmp"] = lambda store: (
    (store.root / "tmp" / "a" / "b").mkdir(parents=True),
    (store.root / "tmp" / "a" / "b" / "x").symlink_to(store.outside),
    (store.root / "tmp" / "a" / "secret").symlink_to(store.outside / "secret"),
)
WRITING["LOCK is a link to nothing"] = lambda store: link(
    store.path("LOCK"), store.outside / "new"
)
WRITING["LOCK is a link to a file"] = lambda store: link(
    store.path("LOCK"), store.outside / "secret"
)
WRITING["the next HEAD is a link"] = lambda store: (store.root / "tmp" / "HEAD").symlink_to(
    store.outside / "new"
)
WRITING["the next version is a link"] = lambda store: (
    store.root / "tmp" / "00000002"
).symlink_to(store.outside)
WRITING["FROZEN is a link"] = lambda store: link(
    store.path("FROZEN"), store.outside / "secret"
)
WRITING["FROZEN is a pipe"] = lambda store: os.mkfifo(store.path("FROZEN"))
WRITING["FROZEN is endless"] = lambda store: link(store.path("FROZEN"), Path("/dev/zero"))
WRITING["FROZEN is a pickle"] = lambda store: store.path("FROZEN").write_bytes(store.evil())
for name in ("sitecustomize.py", "realloc.py", "torch.py", "conftest.py"):
    WRITING[f"{name} in the store"] = lambda store, name=name: (
        store.root / name
    ).write_text(f"import os; os.mkdir({str(store.outside / 'executed')!r})")
