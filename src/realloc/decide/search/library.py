"""The C code of the search (`c/`), if it was compiled when the package was installed."""

from functools import cache
from pathlib import Path

from realloc.base.numerics.clib import Library, open_library

SOURCE = Path(__file__).with_name("c")
# What the code has room for: the same names in c/problem.h.
MOST_CHANNELS = 64
MOST_INTERVALS = 16
MOST_AXES = 12


@cache
def search_library() -> Library | None:
    """The fastest that this processor can run; None where there is none of this very source."""
    return open_library(SOURCE)
