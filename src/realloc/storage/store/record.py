"""The record of a round, made when its model becomes a version."""

import json
from dataclasses import asdict
from datetime import UTC, datetime

import numpy as np

from realloc.logs import Logs
from realloc.logs.summary import summary
from realloc.model.realloc import ReAlloc
from realloc.storage.store.versions import Kept, Version
from realloc.storage.store.windows import WindowId


def next_version(
    model: ReAlloc,
    window: Logs,
    windows: tuple[WindowId, ...],
    parent: Kept | None,
    now: datetime,
) -> Version:
    """Describe a model that has learned from `windows`, the last of which is `window`."""
    before = parent.version.number if parent else None
    learned = model.fitted.main
    metrics = {
        "significance": float(learned.committee.significance),
        "memory_rows": float(len(learned.memory)),
    }
    return Version(
        number=(before or 0) + 1,
        parent=before,
        parent_digest=parent.digest if parent else None,
        former=before,
        restores=None,
        created=stamp(now, parent.version.created if parent else None),
        rounds=model.fitted.rounds,
        windows=windows,
        metrics={name: value for name, value in metrics.items() if np.isfinite(value)},
        fingerprint={
            "units": window.unit_count,
            "shares": [float(share) for share in window.shares.mean(axis=0)],
            "budget": float(window.budget.mean()),
            "outcome": float(window.outcome.mean()),
            "states": summary(window).to_json(),  # what later rows are compared with
        },
        schema=json.loads(json.dumps(asdict(model.known_schema))),
        money_digits=model.config.money_digits,
        model="",
    )


def stamp(now: datetime, parent: str | None) -> str:
    """The time in UTC, or the parent's where the clock went back: times follow numbers."""
    text = now.astimezone(UTC).isoformat(timespec="seconds")
    return text if parent is None else max(text, parent)
