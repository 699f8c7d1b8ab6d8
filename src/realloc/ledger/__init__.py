"""The decision log: every recommendation with its inputs, version, gain, bounds and reason; only ever added to."""

from realloc.ledger.entry import Entry, Segment
from realloc.ledger.fingerprint import fingerprint
from realloc.ledger.join import join
from realloc.ledger.journal import Recorder, recover
from realloc.ledger.ledger import Ledger
from realloc.ledger.rows import Run, log_rows

__all__ = ["Entry", "Ledger", "Recorder", "Run", "Segment", "fingerprint", "join", "log_rows", "recover"]
