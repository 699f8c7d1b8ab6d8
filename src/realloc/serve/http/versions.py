"""The version that answers: loaded from the store, checked, and swapped as one reference.

The only file of the service that knows how a model is opened and asked.
"""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from realloc.base.errors import ReallocError, StoreError
from realloc.decide.types import Decision
from realloc.logs import Logs
from realloc.model.request import read_constraints
from realloc.serve.http.config import ServeConfig
from realloc.serve.http.metrics import Metrics
from realloc.serve.http.records import Records
from realloc.serve.http.rows import RequestColumns
from realloc.serve.load import LoadedModel, ModelRequest, load_model, settings_of
from realloc.storage.store import Store
from realloc.storage.store.frozen import why_frozen
from realloc.storage.store.head import Head

log = logging.getLogger("realloc.serve.http")

RETRY_SECONDS = 60.0  # until a version that could not be used is tried again
DAY = 86400.0  # seconds


@dataclass(frozen=True, eq=False)
class LoadedVersion(LoadedModel):
    """A version in service; `model` is None where only its record can be read."""

    digest: str = ""

    @cached_property
    def types(self) -> dict[str, str]:
        """Type of each feature as it was learned: number, flag, date or text."""
        columns = self.record.fingerprint["states"]["columns"]
        names = self.schema.features or ()
        return {name: columns[f"feature {name}"].get("type", "text") for name in names}

    @cached_property
    def columns(self) -> RequestColumns:
        """How rows of a request are read."""
        return RequestColumns(self.schema, self.types)

    @property
    def rows_interact(self) -> bool:
        """Whether rows of a request change each other's answers: by lags, or a cap on all rows."""
        return self.needs_all_rows or self.looks_back

    def decide_request(
        self, logs: Logs, constraints: Any
    ) -> tuple[Decision, dict[str, Any]]:
        """Decide on rows; also return the settings that decided, for the decision log."""
        if self.model is None:
            raise StoreError("Expected a version with a model, got only its record.")
        config = self.model.config
        wanted = read_constraints(constraints, config)
        settings = self.settings
        if constraints is not None:
            settings = settings_of(replace(config, constraints=wanted))
        return self.model.decide(logs, wanted), settings | {
            "by_request": self.rows_interact
        }

    def ages(self, now: datetime) -> tuple[float, float]:
        """Return the days since the version was made, and since its last window ended."""
        made = datetime.fromisoformat(self.record.created)
        last = max(np.datetime64(window.last, "s") for window in self.record.windows)
        # A window's last day belongs to it.
        since_window = (now.timestamp() - float(last.astype(np.int64))) / DAY - 1
        return (now - made).total_seconds() / DAY, since_window


def load_version(root: Path, head: Head) -> LoadedVersion:
    """Load the version that HEAD names, with a model that answers its canary."""
    model, record = Store(root).open(head.number)
    return LoadedVersion(record, model.known_schema, model, head.digest)


class Versions:
    """Follows HEAD in a thread of its own; a request uses one `current` from start to end."""

    def __init__(
        self,
        root: Path,
        config: ServeConfig,
        metrics: Metrics,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.root = root
        self.config = config
        self.metrics = metrics
        self.clock = clock
        self.records = Records(root, config.record, metrics)
        self.current: LoadedVersion | None = None
        # Why the newest version is not the one that answers.
        self.problem: str | None = None
        # What could not be used, and when.
        self._failed: tuple[Head | None, float] | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="versions", daemon=True)

    def start(self) -> None:
        """Load the current version, then follow HEAD."""
        self.look()
        self._thread.start()

    def stop(self) -> None:
        """Stop following HEAD."""
        self._stop.set()

    def look(self) -> bool:
        """Swap to the version that HEAD names if it is new and sound; True where that happened.

        Without any version that can be used, one that keeps every mix takes its place.
        """
        head = None
        try:
            head = Store(self.root).head()
            self.metrics.newest.set(head.number)
            if self.current is not None and self.current.digest == head.digest:
                self.problem = None
                return False
            failed, since = self._failed or (None, 0.0)
            if failed == head and time.monotonic() - since < RETRY_SECONDS:
                return False
            loaded = load_version(self.root, head)
            _ = loaded.columns  # before it is in service
        except Exception as problem:  # a bad version never takes the service down
            self._report(head, problem)
            if self.current is None:
                self._stand_in()
            return False
        self.current = loaded
        self.problem = None
        self._failed = None
        self.metrics.version.set(head.number)
        self.metrics.swaps.inc()
        log.info("version %d is in service", head.number)
        return True

    def kept_because(self, current: LoadedVersion) -> str | None:
        """Return why every mix is kept: frozen, no model, or one too old; None where none is."""
        if self.is_frozen():
            return "frozen"
        if current.model is None:
            return "no_model"
        return "stale_model" if self.is_stale() else None

    def is_frozen(self) -> bool:
        """Whether the store is frozen; looked up at every call."""
        return why_frozen(self.root) is not None

    def is_stale(self) -> bool:
        """Whether the version in service is too old to move anything."""
        if self.current is None:
            return False
        limits = (self.config.max_age_days, self.config.max_window_age_days)
        ages = self.current.ages(self.clock())
        return any(limit and age > limit for age, limit in zip(ages, limits, strict=True))

    def _report(self, head: Head | None, problem: Exception) -> None:
        is_ours = isinstance(problem, ReallocError | OSError)
        why = str(problem) if is_ours else f"unexpected {type(problem).__name__}"
        self.problem = (
            f"version {head.number} cannot be used" if head else "the store cannot be read"
        )
        if not self._failed or self._failed[0] != head:
            self.metrics.bad_versions.inc()
            kept = "every mix is kept"
            if self.current:
                kept = f"version {self.current.record.number} stays in service"
            log.error("%s; %s. %s", self.problem, kept, why)
        self._failed = head, time.monotonic()

    def _stand_in(self) -> None:
        """Without a model every mix is kept; the newest record says which columns hold it."""
        try:
            kept = load_model(ModelRequest(self.root, frozen=True))
            self.current = LoadedVersion(kept.record, kept.schema, None)
        except Exception as problem:  # answers are 503 until a version can be read
            log.error("no record can be read: %s", type(problem).__name__)

    def _follow(self) -> None:
        while not self._stop.wait(self.config.poll_seconds):
            self.look()
            try:
                self.records.look()
            except (
                Exception
            ) as problem:  # nothing may end this thread; the journal holds the rows
                log.error("the decision log cannot be written: %s", type(problem).__name__)
