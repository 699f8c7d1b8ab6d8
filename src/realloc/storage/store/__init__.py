"""A folder that keeps every round of a deployment: whole versions, one pointer, one writer."""

from typing import TYPE_CHECKING

from realloc.base.imports import load_when_used

if TYPE_CHECKING:
    from realloc.storage.store.store import Store
    from realloc.storage.store.versions import Version
    from realloc.storage.store.windows import WindowId

__all__ = ["Store", "Version", "WindowId"]

__getattr__ = load_when_used(
    __name__, {"Store": "store", "Version": "versions", "WindowId": "windows"}
)
