"""The decision log: every recommendation with its inputs, version, gain, bounds and reason."""

from realloc.storage.ledger.join import join
from realloc.storage.ledger.ledger import Ledger

__all__ = ["Ledger", "join"]
