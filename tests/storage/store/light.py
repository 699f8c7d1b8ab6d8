"""A store whose rounds cost nothing: the real protocol around a model of three numbers, without
torch.
"""

import os
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from realloc.base.artifact import pack_artifact, read_artifact
from realloc.base.errors import StoreError
from realloc.storage.store.head import read_head
from realloc.storage.store.record import stamp
from realloc.storage.store.store import Store
from realloc.storage.store.versions import MODEL, Version, find_faults
from realloc.storage.store.windows import WindowId

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)
SCHEMA = {
    "unit": "item",
    "time": "date",
    "outcome": "orders",
    "channels": ["ads", "coupon"],
    "features": [],
}


class LightStore(Store):
    """Learns by counting; everything that touches the disk is the real thing."""

    def __init__(self, path, keep=2, clock=lambda: NOON):
        super().__init__(path, keep=keep, clock=clock)

    def _gate(self, folder, expected):
        read_artifact(folder, MODEL)
        return expected

    def step(self, window: int | None = None) -> Version:
        """One more round, or none where the window was applied."""
        with self.writer():
            parent = self._read_current()
            number = parent.version.number + 1 if parent else 1
            digest = f"window {window or number}"
            known = parent.version.windows if parent else ()
            if digest in {old.digest for old in known}:
                return parent.version
            version = Version(
                number=number,
                parent=parent.version.number if parent else None,
                parent_digest=parent.digest if parent else None,
                former=parent.version.number if parent else None,
                restores=None,
                created=stamp(self.clock(), parent.version.created if parent else None),
                rounds=len(known) + 1,
                windows=(*known, WindowId("2026-01-01", "2026-01-02", 2, digest, 86400)),
                metrics={},
                fingerprint={},
                schema=SCHEMA,
                money_digits=2,
                model="",
            )
            weights = np.arange(3.0) + len(known)
            return self._publish(
                version, pack_artifact(self.path / MODEL, MODEL, {"w": weights}, {}), {}
            )

    def number(self) -> int:
        """The current version, 0 where there is none; every version on the way must be whole."""
        current = self.current()
        if current is None:
            return 0
        faults = find_faults(self.path, read_head(self.path))
        if faults:
            raise StoreError(faults[0])
        return current.number


def grown(path: Path, rounds: int, keep: int = 2) -> LightStore:
    """A store after some rounds."""
    store = LightStore(path, keep=keep)
    for _ in range(rounds):
        store.step()
    return store


def snapshot(root: Path) -> dict[str, bytes]:
    """All that counts of a store, byte by byte: HEAD, FORMAT and the versions. The decision log
    has tests of its own.
    """
    found = {}
    for place, _, files in os.walk(root):
        for name in files:
            path = Path(place, name)
            relative = str(path.relative_to(root))
            if not relative.startswith(("tmp", "quarantine", "LOCK", "decisions")):
                found[relative] = path.read_bytes()
    return found
