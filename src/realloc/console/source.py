"""What the pages read: a store, its decision log and, if given, a folder of evaluations.

Entries and versions never change, so what was read of one is kept. The store's state (which
version is current, frozen or not) is read again for every page.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pyarrow import ArrowException

from realloc.base.errors import LedgerError, ReallocError
from realloc.console.run_rows import RunRows
from realloc.model.realloc import ReAlloc
from realloc.monitor.age import Age, age_of
from realloc.monitor.redecide import rules_of
from realloc.report.run import BATCH, RunFigures, figures_of_run, newest_run
from realloc.storage.ledger.entry import Entry
from realloc.storage.ledger.ledger import DECISIONS, Ledger
from realloc.storage.store import Store, Version

RUNS_KEPT = 2  # in memory
MODELS_KEPT = 3

T = TypeVar("T")


@dataclass(frozen=True)
class Freshness:
    """What every page says at the top; what is not known is None, and `problem` says why."""

    version: int | None
    age: Age | None
    last_window: str | None
    frozen: str | None
    problem: str | None = None


class Recent:
    """The last few things that were made, by name; each is made once."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._lock = threading.Lock()
        self._made: OrderedDict[Any, Any] = OrderedDict()

    def get(self, name: Any, make: Callable[[], T]) -> T:
        """What goes by a name; made, if it is not there."""
        with self._lock:
            if name not in self._made:
                self._made[name] = make()
                while len(self._made) > self.most:
                    self._made.popitem(last=False)
            self._made.move_to_end(name)
            return self._made[name]


class ConsoleSource:
    """Everything that pages read."""

    def __init__(
        self, store: Store, decisions: Path | None = None, runs: Path | None = None
    ) -> None:
        self.store = store
        self.ledger = Ledger(decisions or store.path / DECISIONS)
        self.runs = runs
        self._entries: dict[int, Entry] = {}
        self._rows = Recent(RUNS_KEPT)
        self._figures = Recent(2 * RUNS_KEPT)
        self._models = Recent(MODELS_KEPT)
        self._found = Recent(2 * RUNS_KEPT)

    def freshness(self) -> Freshness:
        """The state of the store now; a damaged one is said, not raised."""
        frozen = self.store.frozen
        try:
            record = self.store.current()
        except ReallocError as problem:
            return Freshness(None, None, None, frozen, str(problem))
        if record is None:
            text = "The store holds no model yet: `realloc fit` makes one."
            return Freshness(None, None, None, frozen, text)
        last = record.windows[-1].last
        age = age_of(record.created, last, self.store.clock())
        return Freshness(record.number, age, last[:10], frozen)

    def entries(self) -> list[Entry]:
        """Every entry of the decision log, the oldest first; each is read once."""
        found: list[Entry] = []
        for number in self.ledger.numbers():
            if number not in self._entries:
                self._entries[number] = self.ledger.entry(number)
            found.append(self._entries[number])
        return found

    def batches(self) -> list[Entry]:
        """Runs that can be looked at, the newest first: batches, and entries of services."""
        return [entry for entry in reversed(self.entries()) if entry.segments]

    def run(self, name: str = "") -> Entry:
        """A run by its id, or the newest."""
        if not name:
            entry = newest_run(self.ledger)
            if entry is None:
                raise LedgerError(
                    "No batch has been decided with this store yet. Run `realloc recommend "
                    "today.parquet --store … --out recs.parquet`, then load this page again."
                )
            return entry
        for entry in self.batches():
            if entry.run == name:
                return entry
        raise LedgerError(f"Expected a run of the decision log, got {name[:80]!r}.")

    def is_newest(self, entry: Entry) -> bool:
        """Whether no later batch was decided."""
        return not any(
            other.kind == BATCH and other.number > entry.number for other in self.entries()
        )

    def rows(self, entry: Entry) -> RunRows:
        """The rows of a run, ready to be asked."""
        return self._rows.get(entry.digest, lambda: RunRows(self.ledger, entry))

    def figures(self, entry: Entry) -> RunFigures:
        """A run in a few numbers."""
        try:
            return self._figures.get(
                entry.digest, lambda: figures_of_run(self.ledger, entry)
            )
        except (OSError, ArrowException) as problem:
            raise LedgerError(
                f"Cannot read the rows of run {entry.run!r}: a file of entry {entry.number} is "
                "missing or damaged. `realloc audit` names it."
            ) from problem

    def model(self, number: int | None) -> tuple[ReAlloc, Version]:
        """A version's model and record."""
        if number is None:
            raise LedgerError("The store was frozen during this run: no model was asked.")
        model, record = self._models.get(number, lambda: self.store.open(number))
        return model, record

    def model_of(self, entry: Entry) -> ReAlloc:
        """The model that decided a run, with the rules that the run was decided by."""
        if "decision" not in entry.settings:
            raise LedgerError("No model was asked in this run: every mix was kept.")
        model, _ = self.model(entry.version)
        return copy(model).decide_with(*rules_of(entry))

    def remember(self, name: Any, make: Callable[[], T]) -> T:
        """Something about a run that takes long to find; found once."""
        return self._found.get(name, make)

    def warm(self) -> None:
        """Read the newest run, so that the first page need not wait; what fails is said later."""
        try:
            entry = self.run()
            self.rows(entry)
            self.figures(entry)
            self.model(entry.version)
        except ReallocError:
            pass
