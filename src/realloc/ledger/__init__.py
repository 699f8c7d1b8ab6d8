"""The decision log: every recommendation with its inputs, version, gain, bounds and reason; only ever added to."""

from realloc.ledger.entry import Entry, Segment
from realloc.ledger.fingerprint import fingerprint
from realloc.ledger.ledger import Ledger

__all__ = ["Entry", "Ledger", "Segment", "fingerprint"]
