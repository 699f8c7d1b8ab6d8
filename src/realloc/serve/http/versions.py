"""The version that answers: read from the store, checked to the last byte and by its canary, and swapped as one reference."""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from realloc.base.errors import ReallocError, StoreError
from realloc.base.validation import from_table
from realloc.logs import Schema
from realloc.serve.canary import check
from realloc.serve.http.config import ServeConfig
from realloc.serve.http.metrics import Metrics
from realloc.serve.http.records import Records
from realloc.serve.http.rows import Columns
from realloc.serve.scorer import Scorer, open_model, settings_of
from realloc.storage.store.frozen import newest_record, why_frozen
from realloc.storage.store.head import Head, read_head
from realloc.storage.store.place import is_store
from realloc.storage.store.versions import MODEL, Version, check_model, list_versions, read_version

log = logging.getLogger("realloc.serve.http")

AGAIN_SECONDS = 60.0  # until a version that could not be used is tried again


@dataclass(frozen=True, eq=False)
class Current:
    """A version in service; `scorer` is None where only its record can be read."""

    version: Version
    digest: str
    schema: Schema
    scorer: Scorer | None

    @cached_property
    def columns(self) -> Columns:
        """How rows are read."""
        columns = (self.version.fingerprint.get("states") or {}).get("columns", {})
        types = {
            name: columns.get(f"feature {name}", {}).get("type")
            for name in self.schema.features or ()
        }
        return Columns(self.schema, self.scorer.state.encoder if self.scorer else None, types)

    @cached_property
    def settings(self) -> dict[str, Any]:
        """What decides, as the decision log says it, for requests that bring no constraints."""
        return {} if self.scorer is None else settings_of(self.scorer.config)

    @cached_property
    def times(self) -> tuple[datetime, datetime | None]:
        """When the version was made, and when its last window ended."""
        made = datetime.fromisoformat(self.version.created)
        if not self.version.windows:
            return made, None
        last = max(np.datetime64(window.last, "s") for window in self.version.windows)
        return made, datetime.fromtimestamp(int(last.astype(np.int64)), UTC)

    @property
    def money_digits(self) -> int:
        """Of amounts."""
        return self.version.money_digits

    def ages(self, now: datetime) -> tuple[float, float]:
        """Days since the version was made, and since its last window ended (0 where it has none)."""
        made, ended = self.times
        since = (
            0.0 if ended is None else (now - ended).total_seconds() / 86400 - 1
        )  # a window's last day belongs to it
        return (now - made).total_seconds() / 86400, since


def fetch(root: Path, head: Head) -> Current:
    """The version that HEAD names, with a scorer that answers its canary."""
    folders = list_versions(root)
    if head.number not in folders:
        raise StoreError(
            f"Expected version {head.number} in the store, as HEAD says, but there is none."
        )
    kept = read_version(folders[head.number], head.digest)
    check_model(kept)
    scorer = open_model(kept.folder / MODEL)
    check(scorer, kept.canary)
    return Current(kept.version, head.digest, scorer.schema, scorer)


class Versions:
    """Follows HEAD in a thread of its own; whoever answers takes `current` once and uses nothing else."""

    def __init__(
        self,
        root: Path,
        config: ServeConfig,
        metrics: Metrics,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.root, self.config, self.metrics, self.clock = root, config, metrics, clock
        self.records = Records(root, config.record, metrics)
        self.current: Current | None = None
        self.problem: str | None = None  # why the newest version is not the one that answers
        self._failed: tuple[Head | None, float] | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="versions", daemon=True)

    def start(self) -> None:
        """Load what there is, then follow."""
        self.look()
        if self.current is None:
            self._stand_in()
        self._thread.start()

    def stop(self) -> None:
        """Follow no longer."""
        self._stop.set()

    def look(self) -> bool:
        """Take the version that HEAD names into service, if it is a new one and sound; True where that happened."""
        head = None
        try:
            if not is_store(self.root):
                raise StoreError(
                    f"Expected a store at {str(self.root)!r}, but there is none. `realloc fit` makes one."
                )
            head = read_head(self.root)
            if head is None:
                raise StoreError(
                    f"Expected a version in {str(self.root)!r}, but there is none yet."
                )
            self.metrics.newest.set(head.number)
            if self._is_current(head):
                self.problem = None
                return False
            if (
                self._failed
                and self._failed[0] == head
                and time.monotonic() - self._failed[1] < AGAIN_SECONDS
            ):
                return False
            self._take(fetch(self.root, head))
            return True
        except Exception as problem:  # a bad version never takes the service down
            self._put_up_with(head, problem)
            return False

    def why_frozen(self) -> str | None:
        """Since when and why the store is frozen; looked up at every call."""
        return why_frozen(self.root)

    def is_stale(self) -> bool:
        """Whether the version in service is too old to move anything."""
        if self.current is None:
            return False
        made, ended = self.current.ages(self.clock())
        most, most_window = self.config.max_age_days, self.config.max_window_age_days
        return bool((most and made > most) or (most_window and ended > most_window))

    def _is_current(self, head: Head) -> bool:
        return (
            self.current is not None and self.current.digest == head.digest
        )  # what stands in has none

    def _take(self, found: Current) -> None:
        _ = found.columns
        self.current, self.problem, self._failed = (
            found,
            None,
            None,
        )  # one reference: no answer sees half of it
        self.metrics.version.set(found.version.number)
        self.metrics.swaps.inc()
        log.info("version %d is in service", found.version.number)

    def _put_up_with(self, head: Head | None, problem: Exception) -> None:
        told = (
            str(problem)
            if isinstance(problem, ReallocError | OSError)
            else f"unexpected {type(problem).__name__}"
        )
        self.problem = (
            f"version {head.number} cannot be used" if head else "the store cannot be read"
        )
        if not self._failed or self._failed[0] != head:
            self.metrics.bad_versions.inc()
            kept = (
                f"version {self.current.version.number} stays"
                if self.current
                else "every mix is kept"
            )
            log.error("%s; %s. %s", self.problem, kept, told)
        self._failed = head, time.monotonic()

    def _stand_in(self) -> None:
        """Without a model every mix is kept; which columns hold it, the newest record says."""
        try:
            record = newest_record(self.root)
            schema = from_table(Schema, record.schema, "the version's record")
            self.current = Current(record, "", schema, None)
        except Exception as problem:  # not even that: answers are 503 until a version can be read
            log.error("no record can be read: %s", type(problem).__name__)

    def _follow(self) -> None:
        while not self._stop.wait(self.config.poll_seconds):
            self.look()
            if self.current is None:
                self._stand_in()
            self._look_at_records()

    def _look_at_records(self) -> None:
        try:
            self.records.look()
        except (
            Exception
        ) as problem:  # the journal still holds what was written, and nothing may end this thread
            log.error("the decision log cannot be added to: %s", type(problem).__name__)
