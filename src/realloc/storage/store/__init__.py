"""A folder that keeps every round of a deployment: whole versions, one pointer, one writer."""

from realloc.storage.store.store import Store
from realloc.storage.store.versions import Version

__all__ = ["Store", "Version"]
