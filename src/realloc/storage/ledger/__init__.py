"""The decision log: every recommendation with its inputs, version, gain, bounds and reason."""

from realloc.storage.ledger.entry import Entry, Segment
from realloc.storage.ledger.fingerprint import fingerprint
from realloc.storage.ledger.join import join
from realloc.storage.ledger.journal import Recorder, recover
from realloc.storage.ledger.ledger import Ledger
from realloc.storage.ledger.rows import Run, log_rows

__all__ = [
    "Entry",
    "Ledger",
    "Recorder",
    "Run",
    "Segment",
    "fingerprint",
    "join",
    "log_rows",
    "recover",
]
