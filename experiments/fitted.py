"""ReAlloc fitted once for each world, kept outside the repository for every experiment that needs
it.

A model is found again only by the very code that learned it: its folder is named after a digest of
all that learns.
"""

import hashlib
import os
import tempfile
from dataclasses import asdict
from functools import cache
from pathlib import Path

import realloc
from realloc.world import World

SOURCE = Path(realloc.__file__).parent
LEARNING = ("learn", "base/artifact.py", "model/round.py")
TRAIN = {"units": 2000, "periods": 10, "seed": 0}
TEST = {"units": 400, "periods": 5, "seed": 1}


def fitted(
    regime: str,
    seed: int,
    config: realloc.Config | None = None,
    train: dict[str, int] | None = None,
) -> realloc.ReAlloc:
    """With the public defaults and the world's seed, unless a config says otherwise."""
    config = config or realloc.Config(seed=seed)
    train = train or TRAIN
    learned = {"train": train} | {
        name: table
        for name, table in asdict(config).items()
        if name not in ("decision", "constraints")
    }
    name = f"{regime}-{seed}-{hashlib.sha256(repr(learned).encode()).hexdigest()[:12]}"
    path = kept_in() / digest() / name
    if path.exists():
        model = realloc.load(path)
        model.config = config
        return model
    model = realloc.ReAlloc(config, quiet=True).fit(World(regime, seed).sample(**train))
    path.parent.mkdir(parents=True, exist_ok=True)
    model.save(path)
    return model


def kept_in() -> Path:
    return Path(
        os.environ.get("REALLOC_MODELS", Path(tempfile.gettempdir()) / "realloc-models")
    )


@cache
def digest() -> str:
    """Of all files that learn."""
    files = sorted(
        path
        for name in LEARNING
        for path in [SOURCE / name, *(SOURCE / name).rglob("*.py")]
    )
    return hashlib.sha256(
        b"".join(path.read_bytes() for path in files if path.is_file())
    ).hexdigest()[:12]
