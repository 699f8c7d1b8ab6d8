"""The service's decision log: an answer is on disk before it is sent, with one `fsync` per turn."""

import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa

from realloc.base.errors import ConfigError, LedgerError
from realloc.logs import Schema
from realloc.serve.http.metrics import Metrics
from realloc.storage.ledger import Ledger
from realloc.storage.ledger.entry import Entry
from realloc.storage.ledger.journal import JOURNAL, Recorder, recover
from realloc.storage.ledger.rows import PackedRows
from realloc.storage.store.versions import Version


@dataclass(frozen=True, eq=False)
class Record:
    """Answers as the decision log keeps them."""

    schema: Schema
    settings: dict[str, Any]  # that decided
    rows: pa.Table | PackedRows


class Records:
    """Writes every answer to the decision log, unless it is off."""

    def __init__(self, root: Path, on: bool, metrics: Metrics) -> None:
        self.ledger = Ledger(root / "decisions")
        self.on = on
        self.metrics = metrics
        self._lock = threading.Lock()
        self._recorder: Recorder | None = None
        # Version and settings of the open entry.
        self._entry: tuple[int, bytes] | None = None

    def open(self) -> None:
        """Make entries of what a stopped service has left; raises where the log is not writable."""
        if not self.on or not self.ledger.path.parent.is_dir():
            return
        try:
            self.ledger.make(self.ledger.path / JOURNAL)
            if not os.access(self.ledger.path / JOURNAL, os.W_OK):
                raise PermissionError("no permission")
            recover(self.ledger)
        except (OSError, LedgerError) as problem:
            raise ConfigError(
                f"Expected to write the decision log in {str(self.ledger.path)!r}, but it failed: "
                f"{problem}. Let the user of the service write there, or set `record = false` in "
                "[serve]: answers are then written nowhere."
            ) from problem

    def keep(self, version: Version, records: Sequence[Record], now: datetime) -> None:
        """Write records, with one `fsync` for all that were decided by the same settings.

        Where that raises, nothing may be moved by them.
        """
        if not self.on:
            return
        with self._lock:  # no other thread may change the entry before these rows are in it
            for settings, group in groupby(records, key=attrgetter("settings")):
                alike = list(group)
                key = orjson.dumps(settings, option=orjson.OPT_SORT_KEYS)
                if self._recorder is None or self._entry != (version.number, key):
                    self._recorder = self._begin(version, alike[0], now)
                    self._entry = (version.number, key)
                self._recorder.write(*(record.rows for record in alike))
                self.metrics.recorded.inc(sum(record.rows.num_rows for record in alike))

    def look(self) -> None:
        """Make an entry of rows that have waited long enough."""
        if self._recorder is not None:
            self._recorder.flush_if_old()

    def close(self) -> None:
        """Make an entry of all that was written."""
        if self._recorder is not None:
            self._recorder.close()

    def _begin(self, version: Version, record: Record, now: datetime) -> Recorder:
        entry = Entry(
            run="",
            kind="service",
            made=now.isoformat(timespec="seconds"),
            version=version.number,
            model=version.model,
            schema=orjson.loads(orjson.dumps(record.schema)),
            settings=record.settings,
        )
        if self._recorder is None:
            return Recorder(self.ledger, entry, aside=True)
        self._recorder.change(entry)
        return self._recorder
