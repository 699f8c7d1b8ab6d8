"""One flipped bit or a lost end anywhere in a store is noticed, names the file, and a rollback
mends it.
"""

import os
import random
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load as unpack

from realloc.base.errors import ReallocError, StoreError
from realloc.storage.store.head import read_head
from realloc.storage.store.place import is_store
from realloc.storage.store.versions import find_faults
from tests.storage.store.light import LightStore, grown

FLIPS, CUTS = 300, 60


def files_of(root: Path) -> list[Path]:
    return sorted(
        Path(place, name)
        for place, _, names in os.walk(root)
        for name in names
        if name != "LOCK"
    )


def fault_of(root: Path) -> str:
    """The sentence about the first fault; empty where all is whole."""
    try:
        if not is_store(root):
            return "FORMAT"
        head = read_head(root)
        return (find_faults(root, head) or [""])[0] if head else "HEAD"
    except ReallocError as problem:
        return str(problem)


def places(root, count, seed):
    """Some bytes of the store, each equally likely: (file, position)."""
    every = [(path, at) for path in files_of(root) for at in range(path.stat().st_size)]
    return every if count is None else random.Random(seed).sample(every, count)


def count_unnoticed(root: Path, count: int | None, seed: int = 0) -> list[str]:
    """Flip one bit at each place, look, and put it back; which flips no sentence named the file
    of.
    """
    draw, missed = random.Random(seed), []
    for path, at in places(root, count, seed):
        with path.open("r+b", buffering=0) as file:
            sound = os.pread(file.fileno(), 1, at)
            os.pwrite(file.fileno(), bytes([sound[0] ^ 1 << draw.randrange(8)]), at)
            if path.name not in fault_of(root):
                missed.append(f"{path}:{at}")
            os.pwrite(file.fileno(), sound, at)
    return missed


def test_any_flipped_bit_is_noticed_and_its_file_named(tmp_path):
    root = grown(tmp_path / "store", 3).path
    assert fault_of(root) == ""
    assert count_unnoticed(root, FLIPS) == []
    assert fault_of(root) == ""


def test_any_lost_end_is_noticed(tmp_path):
    root = grown(tmp_path / "store", 3).path
    for path, at in places(root, CUTS, 1):
        sound = path.read_bytes()
        for content in (sound[:at], sound + b"\0"):
            path.write_bytes(content)
            assert path.name in fault_of(root)
        path.write_bytes(sound)


def test_versions_do_not_mix(tmp_path):
    root = grown(tmp_path / "store", 3).path
    one, two = sorted((root / "versions").iterdir())
    for part in ("model", "record"):
        (one / part).rename(tmp_path / "kept")
        (two / part).rename(one / part)
        (tmp_path / "kept").rename(two / part)
        assert "manifest.json" in fault_of(root)
        (one / part).rename(tmp_path / "kept")
        (two / part).rename(one / part)
        (tmp_path / "kept").rename(two / part)
    assert fault_of(root) == ""
    (two / "model.pkl").write_bytes(b"")
    assert "model.pkl" in fault_of(root)


def test_control_without_digests_a_flipped_weight_would_pass(tmp_path):
    root = grown(tmp_path / "store", 1).path
    weights = next(
        path
        for path in files_of(root)
        if path.name == "weights.safetensors" and path.parent.name == "model"
    )
    sound = weights.read_bytes()
    changed = sound[:-1] + bytes([sound[-1] ^ 1])
    assert not np.array_equal(
        unpack(changed)["w"], unpack(sound)["w"]
    )  # read without a word


@pytest.mark.parametrize(
    "name",
    ["model/weights.safetensors", "model/manifest.json", "record/manifest.json", "HEAD"],
)
def test_after_any_damage_to_what_is_current_a_rollback_works(tmp_path, name):
    store = grown(tmp_path / "store", 3, keep=5)
    current = max((store.path / "versions").iterdir())
    path = store.path / name if name == "HEAD" else current / name
    sound = path.read_bytes()
    path.write_bytes(sound[:9] + bytes([sound[9] ^ 4]) + sound[10:])
    again = LightStore(store.path, keep=5)
    assert Path(name).name in fault_of(store.path)
    if name in ("HEAD", "record/manifest.json"):
        with pytest.raises(StoreError, match="Name one with `--to`"):
            again.rollback()
        restored = again.rollback(to=2)
    else:
        restored = again.rollback()
    assert (restored.number, restored.restores, restored.rounds) == (4, 2, 2)
    assert fault_of(store.path) == ""
    assert again.step().rounds == 3  # the third window can be applied again
    assert again.number() == 5
    aside = [place.name for place in (store.path / "quarantine").iterdir()]
    assert aside == ([] if name == "HEAD" else [current.name])
