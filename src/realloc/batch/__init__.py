"""Recommendations for files of any length: streamed, resumable, limited, logged, published in one step."""

from typing import TYPE_CHECKING

from realloc.base.imports import load_when_used

if TYPE_CHECKING:
    from realloc.batch.run import Done, Options, recommend_file

__all__ = ["Done", "Options", "recommend_file"]

__getattr__ = load_when_used(__name__, {"Done": "run", "Options": "run", "recommend_file": "run"})
