import errno
import json
import os
import pickle
import signal
import struct
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load, save

from realloc.base import artifact
from realloc.base.artifact import MANIFEST, WEIGHTS, read_artifact, write_artifact
from realloc.base.errors import ArtifactError, ReallocError

META = {
    "channels": ["ads", "coupon"],
    "epsilon": 1e-3,
    "rows": 12,
    "scaled": True,
    "parent": None,
    "nested": {"ö": [[]]},
}
ROOT = Path(__file__).parents[2]
OLD = {
    "weight": np.arange(6, dtype=np.float32).reshape(2, 3),
    "bias": np.array([0.5, -1.5]),
}
NEW = {"weight": np.full((2, 3), 7, dtype=np.float32), "bias": np.array([2.5, 3.5])}


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model"
    write_artifact(path, "student", OLD, META)
    return path


def same(found, tensors):
    return found.keys() == tensors.keys() and all(
        np.array_equal(found[name], tensors[name]) for name in tensors
    )


def holds(path, tensors):
    return same(read_artifact(path, "student").tensors, tensors)


def seal(path, table=None, weights=None):
    """Make a folder consistent again after a change, as an attacker would."""
    table = json.loads((path / MANIFEST).read_text()) if table is None else table
    table.pop("digest", None)
    if weights is not None:
        (path / WEIGHTS).write_bytes(weights)
        table["files"] = {
            WEIGHTS: {"bytes": len(weights), "sha256": artifact.sha256(weights)}
        }
    table["digest"] = artifact.sha256(artifact._to_bytes(table))
    (path / MANIFEST).write_bytes(artifact._to_bytes(table))


def header(table, content=b""):
    text = table if isinstance(table, bytes) else json.dumps(table).encode()
    return struct.pack("<Q", len(text)) + text + content


# What goes in comes out


@pytest.mark.parametrize(
    "dtype", ["float64", "float32", "complex64", "bool", "int64", "int8", "uint64", "uint8"]
)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 4), (2, 3, 4)])
def test_arrays_come_back_as_they_were(tmp_path, dtype, shape):
    array = np.random.default_rng(0).integers(0, 2, shape).astype(dtype)
    write_artifact(tmp_path / "a", "student", {"x": np.asarray(array)}, {})
    found = read_artifact(tmp_path / "a", "student").tensors["x"]
    assert (found.dtype, found.shape) == (array.dtype, array.shape)
    assert found.tobytes() == array.tobytes()
    assert found.flags.writeable


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(2, 3).T,
        np.arange(12.0)[::2],
        np.arange(3, dtype=">f4"),
        np.asfortranarray(np.arange(24, dtype=">i8").reshape(2, 3, 4)),
        np.broadcast_to(np.float32(3), (2, 2)),
        np.array([np.nan, -np.inf, -0.0, 5e-324]),
    ],
    ids=["transposed", "strided", "big endian", "both", "broadcast", "not finite"],
)
def test_arrays_lying_otherwise_in_memory_come_back_with_the_same_numbers(tmp_path, array):
    write_artifact(tmp_path / "a", "student", {"x": array}, {})
    found = read_artifact(tmp_path / "a", "student").tensors["x"]
    assert np.array_equal(found, array, equal_nan=True)
    assert found.dtype == array.dtype.newbyteorder("=")


def test_the_library_alone_would_scramble_a_transposed_array():
    array = np.arange(6.0).reshape(2, 3).T
    assert not np.array_equal(
        load(save({"x": array}))["x"], array
    )  # why `_pack` brings arrays into C order


def test_meta_comes_back_exactly(tmp_path):
    rng = np.random.default_rng(0)
    floats = np.frombuffer(rng.bytes(8 * 500)).tolist()
    meta = {
        "floats": [x for x in floats if np.isfinite(x)] + [-0.0, 5e-324, 0.1],
        "big": 2**127,
        "text": '\x00"\\\n\u2028😀',
        **META,
    }
    write_artifact(tmp_path / "a", "student", {}, meta)
    found = read_artifact(tmp_path / "a", "student").meta
    assert found == meta
    assert str(found["floats"]) == str(meta["floats"])  # tells -0.0 from 0.0


def test_the_same_input_writes_the_same_bytes(tmp_path):
    write_artifact(tmp_path / "a", "student", OLD, META)
    write_artifact(
        tmp_path / "b", "student", dict(reversed(OLD.items())), dict(reversed(META.items()))
    )
    assert all(
        (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
        for name in artifact.NAMES
    )


def test_the_manifest_names_versions_without_loading_torch(tmp_path):
    code = (
        "import sys, json; from realloc.base.artifact import write_artifact, read_artifact\n"
        f"write_artifact({str(tmp_path / 'a')!r}, 'student', {{}}, {{}}); "
        f"read_artifact({str(tmp_path / 'a')!r}, 'student')\n"
        "print([m for m in ('torch', 'pickle5', 'dill') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
    table = json.loads((tmp_path / "a" / MANIFEST).read_text())
    assert table["format"] == artifact.FORMAT
    assert set(table["versions"]) == {"numpy", "python", "realloc", "torch"}


def test_files_can_be_read_by_whom_the_umask_lets(tmp_path):
    before = os.umask(0o027)
    try:
        write_artifact(tmp_path / "a", "student", OLD, META)
    finally:
        os.umask(before)
    modes = [
        os.stat(place).st_mode & 0o777
        for place in (tmp_path / "a", tmp_path / "a" / MANIFEST, tmp_path / "a" / WEIGHTS)
    ]
    assert modes == [0o750, 0o640, 0o640]


@pytest.mark.parametrize(
    ("meta", "message"),
    [
        ({"a": {1, 2}}, "fit into JSON, but Object of type set"),
        ({"a": [0, (1, 2)]}, "Convert tuples to lists"),
        ({"a": {"b": np.float32(1)}}, "Object of type float32"),
        ({"a": float("nan")}, "to fit into JSON"),
        ({"a": float("inf")}, "to fit into JSON"),
        ({"a": {3: 1}}, "keys to text"),
        ({"a": b"x"}, "Object of type bytes"),
        ({"a": "\ud800"}, "to fit into JSON"),
        ({"a": 10**5000}, "to fit into JSON"),
        ({"a": "x" * (artifact.LONGEST_JSON + 1)}, "Keep large tables as tensors"),
    ],
)
def test_meta_that_cannot_come_back_is_refused_on_writing(tmp_path, meta, message):
    with pytest.raises(ArtifactError, match=message):
        write_artifact(tmp_path / "a", "student", {}, meta)
    assert not list(tmp_path.iterdir())


def nested(levels):
    value = []
    for _ in range(levels - 1):
        value = [value]
    return value


def test_what_is_too_deep_is_refused_on_writing_and_no_shallower_on_reading(tmp_path):
    deepest = artifact.DEEPEST_JSON - 2  # the manifest and `meta` are two levels
    write_artifact(tmp_path / "a", "student", {}, {"a": nested(deepest)})
    assert read_artifact(tmp_path / "a", "student").meta == {"a": nested(deepest)}
    for levels in (deepest + 1, 5000):
        with pytest.raises(
            ArtifactError, match="nested deeper than 32 levels|recursion depth"
        ):
            write_artifact(tmp_path / "b", "student", {}, {"a": nested(levels)})
    loop = []
    loop.append(loop)
    with pytest.raises(ArtifactError, match="Circular reference"):
        write_artifact(tmp_path / "b", "student", {}, {"a": loop})


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        ({"x": np.array(["a"])}, "Expected tensors that .* can hold"),
        ({"x": np.array([None])}, "Expected tensors that"),
        ({"x": np.zeros(1, "complex128")}, "Expected tensors that"),
        ({"\ud800": np.zeros(1)}, "Expected tensors that"),
    ],
)
def test_tensors_that_cannot_come_back_are_refused_on_writing(tmp_path, tensors, message):
    with pytest.raises(ArtifactError, match=message):
        write_artifact(tmp_path / "a", "student", tensors, {})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("path", ["", "/", "a\0b"])
def test_paths_that_name_no_folder_are_refused(path):
    for attempt in (
        lambda: write_artifact(path, "student", {}, {}),
        lambda: read_artifact(path, "student"),
    ):
        with pytest.raises(ArtifactError, match="Expected the path of a folder"):
            attempt()


# Nothing changed is accepted


@pytest.mark.parametrize("name", artifact.NAMES)
def test_any_flipped_bit_anywhere_is_refused(model, name):
    sound = (model / name).read_bytes()
    for position in range(len(sound)):
        for mask in (1 << position % 8, 32, 255):  # 32: upper and lower case
            (model / name).write_bytes(
                sound[:position] + bytes([sound[position] ^ mask]) + sound[position + 1 :]
            )
            with pytest.raises(ArtifactError):
                read_artifact(model, "student")
    (model / name).write_bytes(sound)
    assert holds(model, OLD)


@pytest.mark.parametrize("name", artifact.NAMES)
def test_any_other_length_is_refused(model, name):
    sound = (model / name).read_bytes()
    for length in range(len(sound)):
        for content in (sound[:length], sound[:length].ljust(len(sound), b"\0")):
            (model / name).write_bytes(content)
            with pytest.raises(ArtifactError, match=name):
                read_artifact(model, "student")
    for longer in (sound + b"\0", sound + b"\n", sound + sound):
        (model / name).write_bytes(longer)
        with pytest.raises(ArtifactError, match=name):
            read_artifact(model, "student")


def test_control_a_flipped_weight_passes_once_the_digests_are_made_to_match(model):
    weights = bytearray((model / WEIGHTS).read_bytes())
    weights[-1] ^= 1
    seal(model, weights=bytes(weights))
    assert not holds(
        model, OLD
    )  # accepted, and silently other numbers: only the digest tells


def test_control_other_spellings_of_the_manifest_parse_to_the_same_values(model):
    sound = (model / MANIFEST).read_bytes()
    for other in (
        sound.replace(b"\n", b" "),
        sound.replace(b'"kind"', b'"\\u006bind"'),
        sound.replace(b"0.001", b"1.0e-3"),
    ):
        assert other != sound
        assert json.loads(other) == json.loads(sound)
        (model / MANIFEST).write_bytes(other)
        with pytest.raises(ArtifactError, match="it was changed"):
            read_artifact(model, "student")


def test_files_of_two_artifacts_do_not_mix(model, tmp_path):
    write_artifact(tmp_path / "other", "student", NEW, META)
    (tmp_path / "other" / WEIGHTS).replace(model / WEIGHTS)
    with pytest.raises(ArtifactError, match="weights.safetensors.* it was changed"):
        read_artifact(model, "student")


# Every refusal is a sentence


def test_a_newer_format_asks_for_an_upgrade(model):
    seal(
        model,
        {
            **json.loads((model / MANIFEST).read_text()),
            "format": artifact.FORMAT + 1,
            "shards": 4,
        },
    )
    newer, known = artifact.FORMAT + 1, artifact.FORMAT
    told = (
        rf"newer realloc \(format {newer}, this one reads up to {known}\): upgrade realloc"
    )
    with pytest.raises(ArtifactError, match=told):
        read_artifact(model, "student")


def test_an_older_format_asks_for_a_new_fit_and_may_be_replaced(model):
    seal(
        model, {**json.loads((model / MANIFEST).read_text()), "format": artifact.FORMAT - 1}
    )
    with pytest.raises(
        ArtifactError,
        match=r"written by an earlier realloc \(format 4, this one reads 5\): fit again",
    ):
        read_artifact(model, "student")
    write_artifact(model, "student", {"a": np.zeros(2, np.float32)}, {})
    assert read_artifact(model, "student").tensors["a"].tolist() == [0.0, 0.0]


def test_another_kind_is_named(model):
    with pytest.raises(
        ArtifactError,
        match="Expected an artifact of kind 'teacher' at .*model', got one of kind 'student'",
    ):
        read_artifact(model, "teacher")


def test_a_missing_artifact_is_told_from_a_file(tmp_path):
    with pytest.raises(ArtifactError, match="nothing', but there is none. Check the path"):
        read_artifact(tmp_path / "nothing", "student")
    (tmp_path / "file").write_text("x")
    with pytest.raises(ArtifactError, match="file', but it is no folder"):
        read_artifact(tmp_path / "file", "student")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ArtifactError, match="manifest.json', but there is none"):
        read_artifact(tmp_path / "empty", "student")
    with pytest.raises(ReallocError):
        read_artifact(tmp_path / ("x" * 300), "student")


@pytest.mark.parametrize("name", artifact.NAMES)
def test_a_missing_file_is_named(model, name):
    (model / name).unlink()
    with pytest.raises(ArtifactError, match=f"{name}', but there is none"):
        read_artifact(model, "student")


def test_an_extra_file_is_refused_by_name(model):
    (model / "model.pkl").write_bytes(b"")
    with pytest.raises(
        ArtifactError,
        match="Expected only manifest.json and weights.safetensors in .* found 'model.pkl'",
    ):
        read_artifact(model, "student")


@pytest.mark.parametrize("name", artifact.NAMES)
def test_links_pipes_and_folders_are_not_opened(model, tmp_path, name):
    target = tmp_path / "target"
    (model / name).rename(target)

    def replace_by(make):
        make()
        with pytest.raises(
            ArtifactError, match=f"plain file at .*{name}', but it is a link or no file"
        ):
            read_artifact(model, "student")

    replace_by(lambda: (model / name).symlink_to(target))
    (model / name).unlink()
    replace_by(lambda: os.mkfifo(model / name))  # would wait for a writer forever
    (model / name).unlink()
    replace_by((model / name).mkdir)


def test_a_link_to_an_artifact_is_the_artifact(model, tmp_path):
    (tmp_path / "latest").symlink_to("model")
    assert holds(tmp_path / "latest", OLD)
    write_artifact(tmp_path / "latest", "student", NEW, META)
    assert holds(model, NEW)
    assert (tmp_path / "latest").is_symlink()


class Evil:
    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return os.mkdir, (str(self.mark),)


def test_a_pickle_under_our_names_does_not_run(model, tmp_path):
    mark = tmp_path / "executed"
    evil = pickle.dumps(Evil(mark))
    (model / MANIFEST).write_bytes(evil)
    with pytest.raises(ArtifactError, match="Expected JSON in .*manifest.json"):
        read_artifact(model, "student")
    write_artifact(tmp_path / "other", "student", OLD, META)
    seal(tmp_path / "other", weights=evil)
    with pytest.raises(ArtifactError, match="weights.safetensors"):
        read_artifact(tmp_path / "other", "student")
    assert not mark.exists()
    pickle.loads(evil)
    assert mark.exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "Expected 2 to 16,777,216 bytes in .*, got 0"),
        (
            b" " * (artifact.LONGEST_JSON + 1),
            "Expected 2 to 16,777,216 bytes in .*, got 16,777,217",
        ),
        (b"\xff\xfe{}", "Expected JSON"),
        (b"\xef\xbb\xbf{}", "Expected JSON"),
        (b"[]", "no object but list"),
        (b"3 ", "no object but int"),
        (b"{}", "its keys are others"),
        (b'{"format": 1, "format": 1}', "the key 'format' comes twice"),
        (b'{"a": {"b": 1, "b": 2}}', "the key 'b' comes twice"),
        (b'{"a": NaN}', "NaN is not a number"),
        (b'{"a": -Infinity}', "-Infinity is not a number"),
        (b'{"a": 1e999}', "Out of range float"),
        (b'{"a": "\\ud800"}', "surrogates not allowed"),
        (b'{"a": ' + b"9" * 5000 + b"}", "Expected JSON"),
        (b'{"a": ' + b"[" * 40 + b"]" * 40 + b"}", "nested deeper than 32 levels"),
        (b"[" * 10**6, "nested deeper than 32 levels"),
        (b'{"a":' * 10**6, "nested deeper than 32 levels"),
        (b'{"format": true}', "its keys are others"),
        (b'{"format": "1"}', "its keys are others"),
        (b'{"format": 0}', "its keys are others"),
    ],
    ids=range(20),
)
def test_a_manifest_that_is_none_is_refused(model, content, message):
    (model / MANIFEST).write_bytes(content)
    with pytest.raises(ArtifactError, match=message) as caught:
        read_artifact(model, "student")
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize(
    "change",
    [
        {"meta": []},
        {"kind": 3},
        {"files": {}},
        {"files": []},
        {"files": {"../../etc/passwd": {"bytes": 1, "sha256": ""}}},
        {"files": {WEIGHTS: []}},
        {"files": {WEIGHTS: {"bytes": "3", "sha256": ""}}},
        {"files": {WEIGHTS: {"bytes": 3}}},
        {"files": {WEIGHTS: {"bytes": 2**70, "sha256": ""}}},
        {"files": {WEIGHTS: {"bytes": -1, "sha256": ""}}},
        {"more": 1},
    ],
)
def test_a_consistent_manifest_with_other_values_is_refused(model, change):
    seal(model, {**json.loads((model / MANIFEST).read_text()), **change})
    with pytest.raises(ArtifactError):
        read_artifact(model, "student")


SPEC = {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}


@pytest.mark.parametrize(
    "weights",
    [
        b"",
        b"123",
        struct.pack("<Q", 2**60) + b"{}",
        struct.pack("<Q", 2**64 - 1) + b"{}",
        struct.pack("<Q", 2) + b"{",
        header(b"[" * 10**6),
        header(b"{" + b" " * artifact.LONGEST_JSON + b"}"),
        header(b"[]"),
        header(b"\xff\xff"),
        header({"x": {**SPEC, "dtype": "BF16", "data_offsets": [0, 2]}}, b"12"),
        header({"x": {**SPEC, "dtype": "F8_E4M3"}}, b"1"),
        header({"x": {**SPEC, "dtype": "pickle"}}, b"1"),
        header({"x": {**SPEC, "data_offsets": [1, 0]}}, b"1"),
        header({"x": {**SPEC, "data_offsets": [0, 2**62]}}, b"1"),
        header({"x": {**SPEC, "data_offsets": [-1, 0]}}, b"1"),
        header({"x": {**SPEC, "shape": [2]}}, b"1"),
        header({"x": SPEC, "y": SPEC}, b"1"),
        header({"x": SPEC}, b"12"),
        header({"x": {**SPEC, "shape": [0, 2**63], "data_offsets": [0, 0]}}),
        header({"x": {**SPEC, "shape": [1] * 100}}, b"1"),
        header(b'{"x":%s,"x":%s}' % ((json.dumps(SPEC).encode(),) * 2), b"1"),
    ],
    ids=range(21),
)
def test_consistent_weights_that_are_none_are_refused(model, weights):
    seal(model, weights=weights)
    with pytest.raises(ArtifactError, match="weights.safetensors"):
        read_artifact(model, "student")


def test_a_huge_file_is_refused_before_it_is_read(model):
    os.truncate(model / WEIGHTS, 2**40)
    with pytest.raises(
        ArtifactError, match=r"Expected \d+ bytes in .*, got 1,099,511,627,776"
    ):
        read_artifact(model, "student")


# Writing changes all or nothing


def test_an_artifact_is_replaced_without_leftovers(model, tmp_path):
    write_artifact(model, "student", NEW, META)
    assert holds(model, NEW)
    assert os.listdir(tmp_path) == ["model"]


def test_an_empty_folder_is_taken(tmp_path):
    (tmp_path / "model").mkdir()
    write_artifact(tmp_path / "model", "student", NEW, META)
    assert holds(tmp_path / "model", NEW)
    assert os.listdir(tmp_path) == ["model"]


def test_anything_else_is_refused_and_left_untouched(model, tmp_path):
    file = tmp_path / "file"
    file.write_text("mine")
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / MANIFEST).write_text('{"name": "a web app"}')
    mixed = tmp_path / "mixed"
    write_artifact(mixed, "student", OLD, META)
    (mixed / "notes.txt").write_text("mine")
    newer = tmp_path / "newer"
    write_artifact(newer, "student", OLD, META)
    seal(
        newer, {**json.loads((newer / MANIFEST).read_text()), "format": artifact.FORMAT + 1}
    )

    def snapshot():
        return {path: path.is_dir() or path.read_bytes() for path in tmp_path.rglob("*")}

    before = snapshot()
    for place, message in [
        (file, "no folder"),
        (foreign, "its keys"),
        (mixed, "notes.txt"),
        (newer, "newer realloc"),
    ]:
        with pytest.raises(ArtifactError, match=f"{message}.*[Cc]hoose another place"):
            write_artifact(place, "student", NEW, META)
    assert snapshot() == before


def test_a_missing_parent_is_named(tmp_path):
    with pytest.raises(
        ArtifactError, match="Expected a folder .*none' to write into, but there is none"
    ):
        write_artifact(tmp_path / "none" / "model", "student", NEW, META)


CALLS = ("mkdir", "open", "fsync", "rename", "unlink", "rmdir", "close")


class Saboteur:
    """Raises at the n-th call of this thread to the system, before or after it is done; all
    others go through.
    """

    def __init__(self, monkeypatch, n, problem, after):
        self.thread = (
            threading.get_ident()
        )  # a service of another test may still look at its store
        self.n, self.problem, self.after, self.count, self.hit = n, problem, after, 0, None
        for name in CALLS:
            monkeypatch.setattr(artifact.os, name, self.wrap(name, getattr(os, name)))

    def wrap(self, name, call):
        def wrapped(*args, **options):
            if threading.get_ident() != self.thread:
                return call(*args, **options)
            self.count += 1
            if self.count != self.n:
                return call(*args, **options)
            self.hit = name
            if self.after:
                call(*args, **options)
            raise self.problem

        return wrapped


@pytest.mark.parametrize("replacing", [True, False], ids=["replacing", "first"])
@pytest.mark.parametrize(
    ("problem", "after"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), False),
        (OSError(errno.EROFS, "Read-only file system"), False),
        (KeyboardInterrupt(), False),
        (KeyboardInterrupt(), True),
    ],
    ids=["full", "read-only", "ctrl-c before", "ctrl-c after"],
)
def test_a_failure_at_any_call_leaves_one_whole_artifact_and_nothing_else(
    tmp_path, problem, after, replacing
):
    hits, expected = (
        [],
        ArtifactError if isinstance(problem, OSError) else KeyboardInterrupt,
    )
    for n in range(1, 100):
        path = tmp_path / str(n) / "model"
        path.parent.mkdir()
        if replacing:
            write_artifact(path, "student", OLD, META)
        with pytest.MonkeyPatch.context() as patch:
            saboteur = Saboteur(patch, n, problem, after)
            try:
                write_artifact(path, "student", NEW, META)
                failed = False
            except expected:
                failed = True
        if saboteur.hit is None:
            assert not failed
            break
        hits.append(saboteur.hit)
        names = os.listdir(path.parent)
        if failed and names != ["model"]:
            assert not replacing
            assert names == []
        else:
            assert names == ["model"]
            assert holds(path, NEW) or (failed and replacing and holds(path, OLD))
        if (
            failed
            and saboteur.hit in ("mkdir", "fsync", "rename")
            and isinstance(problem, OSError)
        ):
            assert not replacing or holds(path, OLD)
    else:
        pytest.fail("never ran through")
    assert {"mkdir", "fsync", "rename"} <= set(hits)


def test_files_and_folders_reach_the_disk_before_and_after_the_renames(model, monkeypatch):
    steps = []
    fsync, rename = os.fsync, os.rename

    def record_fsync(handle):
        steps.append(("fsync", Path(os.readlink(f"/proc/self/fd/{handle}")).name))
        fsync(handle)

    def record_rename(source, target):
        steps.append(("rename", Path(source).name, Path(target).name))
        rename(source, target)

    monkeypatch.setattr(artifact.os, "fsync", record_fsync)
    monkeypatch.setattr(artifact.os, "rename", record_rename)
    write_artifact(model, "student", NEW, META)
    new, old = (place.name for place in artifact._beside(model))
    assert steps == [
        ("fsync", WEIGHTS),
        ("fsync", MANIFEST),
        ("fsync", new),
        ("rename", "model", old),
        ("rename", new, "model"),
        ("fsync", model.parent.name),
        ("rename", old, new),
    ]


def test_the_message_of_a_full_disk_says_what_remains(model, monkeypatch):
    Saboteur(monkeypatch, 4, OSError(errno.ENOSPC, "No space left on device"), after=False)
    with pytest.raises(
        ArtifactError,
        match="No space left on device at .*. What was there before can still be read. Make room",
    ):
        write_artifact(model, "student", NEW, META)


KILLER = """
import os, signal, sys
from pathlib import Path
from realloc.base.artifact import write_artifact
from tests.base.test_artifact import CALLS, META, NEW, OLD, holds

def write_and_die(path, n, after):
    calls = iter(range(1, 1000))
    def wrap(call):
        def wrapped(*args, **options):
            last = next(calls) == n
            if last and not after: os.kill(os.getpid(), signal.SIGKILL)
            result = call(*args, **options)
            if last: os.kill(os.getpid(), signal.SIGKILL)
            return result
        return wrapped
    for name in CALLS: setattr(os, name, wrap(getattr(os, name)))
    write_artifact(path, "student", NEW, META)
    os._exit(0)

for after in (False, True):
    for n in range(1, 100):
        path = Path(sys.argv[1]) / f"{n}-{after}" / "model"
        path.parent.mkdir()
        write_artifact(path, "student", OLD, META)
        child = os.fork()
        if child == 0: write_and_die(path, n, after)
        status = os.waitpid(child, 0)[1]
        aside = not path.exists()
        assert holds(path, OLD) or holds(path, NEW), (n, after)
        write_artifact(path, "student", NEW, META)
        assert holds(path, NEW) and os.listdir(path.parent) == ["model"], (n, after)
        print(os.WTERMSIG(status), aside)
        if status == 0: break
"""


def test_a_kill_at_any_call_leaves_an_artifact_that_can_be_read_and_replaced(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", KILLER, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines.count("0 False") == 2  # both series ran through in the end
    assert (
        f"{signal.SIGKILL.value} True" in lines
    )  # the moment between the two renames was among them
    assert len(lines) > 20


def test_a_real_disk_limit_leaves_the_old_one(model, tmp_path):
    code = (
        "import resource, sys, numpy as np; from realloc.base.artifact import write_artifact\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))\n"
        "write_artifact(sys.argv[1], 'student', {'x': np.zeros(10000)}, {})"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(model)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "ArtifactError: Cannot write" in done.stderr
    assert "File too large at" in done.stderr
    assert holds(model, OLD)
    assert os.listdir(tmp_path) == ["model"]


def fail(*_):
    raise OSError(errno.ENOSPC, "full")


def test_between_the_two_renames_the_old_one_is_read_and_comes_back(model, tmp_path):
    new, old = artifact._beside(model)
    model.rename(old)
    write_artifact(tmp_path / "other", "student", NEW, META)
    (tmp_path / "other").rename(new)
    assert holds(model, OLD)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(artifact.os, "fsync", fail)
        with pytest.raises(ArtifactError, match="full"):
            write_artifact(model, "student", NEW, META)
    assert os.listdir(tmp_path) == ["model"]
    assert holds(model, OLD)


def test_strangers_under_our_second_names_are_not_removed(model, tmp_path):
    new = artifact._beside(model)[0]
    new.mkdir()
    (new / "mine.txt").write_text("mine")
    with pytest.raises(ArtifactError, match="realloc-new"):
        write_artifact(model, "student", NEW, META)
    assert (new / "mine.txt").read_text() == "mine"
    assert holds(model, OLD)


def test_a_link_under_our_second_name_is_not_followed(model, tmp_path):
    victim = tmp_path / "victim"
    write_artifact(victim, "student", OLD, META)
    artifact._beside(model)[0].symlink_to(victim)
    with pytest.raises(ArtifactError, match="File exists"):
        write_artifact(model, "student", NEW, META)
    assert holds(victim, OLD)
    assert holds(model, OLD)


def test_readers_and_writers_at_the_same_time_see_whole_versions_only(model, tmp_path):
    problems, stop = [], threading.Event()

    def read():
        while not stop.is_set():
            try:
                found = read_artifact(model, "student").tensors
                assert same(found, OLD) or same(found, NEW)
            except Exception as problem:
                problems.append(problem)

    def write(tensors):
        for _ in range(40):
            try:
                write_artifact(model, "student", tensors, META)
            except Exception as problem:
                problems.append(problem)

    readers = [threading.Thread(target=read) for _ in range(3)]
    writers = [threading.Thread(target=write, args=(tensors,)) for tensors in (OLD, NEW)]
    for thread in readers + writers:
        thread.start()
    for thread in writers:
        thread.join()
    stop.set()
    for thread in readers:
        thread.join()
    assert problems == []
    assert os.listdir(tmp_path) == ["model"]
