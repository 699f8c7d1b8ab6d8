"""The service's decision log: an answer is on the disk before it is given. One `fsync` for all that is scored together."""

import json
import os
import threading
import uuid
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa

from realloc.base.errors import ConfigError, LedgerError
from realloc.logs.reading.read import Today
from realloc.serve.http.metrics import Metrics
from realloc.storage.ledger import Entry, Ledger, Recorder, Run, log_rows, recover
from realloc.storage.ledger.journal import JOURNAL
from realloc.storage.store.versions import Version


class Records:
    """Writes down every answer, with what it was made from and by; off where nobody wants it."""

    def __init__(self, root: Path, on: bool, metrics: Metrics) -> None:
        self.ledger, self.on, self.metrics = Ledger(root / "decisions"), on, metrics
        self._lock = threading.Lock()
        self._recorder: Recorder | None = None
        self._said: tuple[int, bytes] | None = (
            None  # the version and settings of the entry that is being written
        )

    def open(self) -> None:
        """Make entries of what a service that was stopped has left; refused where the log cannot be written."""
        if not self.on or not self.ledger.path.parent.is_dir():
            return
        try:
            self.ledger.make(self.ledger.path / JOURNAL)
            if not os.access(self.ledger.path / JOURNAL, os.W_OK):
                raise PermissionError("no permission")
            recover(self.ledger)
        except (OSError, LedgerError) as problem:
            raise ConfigError(
                f"Expected to write the decision log in {str(self.ledger.path)!r}, but it failed: {problem}. Let the user of the "
                "service write there, or set `record = false` in [serve]: answers are then written down nowhere."
            ) from problem

    def keep(
        self,
        version: Version,
        today: Today,
        answers: pa.Table,
        settings: dict[str, Any],
        now: datetime,
    ) -> None:
        """Write the answers down; raises where that fails, and then nothing may be moved by them."""
        if not self.on:
            return
        said = version.number, orjson.dumps(settings, option=orjson.OPT_SORT_KEYS)
        rows = log_rows(
            answers, today.logs, today.positions, 0, Run(uuid.uuid4().hex, now, version.number)
        )
        with self._lock:  # no other thread may change the entry before these rows are in it
            if self._recorder is None or self._said != said:
                self._begin(version, today, settings, now)
                self._said = said
            assert self._recorder is not None  # noqa: S101
            self._recorder.write(rows)
        self.metrics.recorded.inc(answers.num_rows)

    def look(self) -> None:
        """Make an entry of what has waited long enough."""
        if self._recorder is not None:
            self._recorder.flush_if_old()

    def close(self) -> None:
        """Make an entry of all that was written."""
        if self._recorder is not None:
            self._recorder.close()

    def _begin(
        self, version: Version, today: Today, settings: dict[str, Any], now: datetime
    ) -> None:
        entry = Entry(
            number=0,
            previous=None,
            run="",
            kind="service",
            made=now.isoformat(timespec="seconds"),
            version=version.number,
            model=version.model,
            segments=(),
            rows=0,
            schema=json.loads(json.dumps(asdict(today.logs.schema))),
            settings=settings,
        )
        if self._recorder is None:
            self._recorder = Recorder(self.ledger, entry, aside=True)
        else:
            self._recorder.change(entry)
