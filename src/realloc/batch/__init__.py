"""Recommendations for files of any length: streamed, resumable, logged, published in one step."""

from typing import TYPE_CHECKING

from realloc.base.imports import load_when_used

if TYPE_CHECKING:
    from realloc.batch.run import BatchResult, Options, recommend_file

__all__ = ["BatchResult", "Options", "recommend_file"]

__getattr__ = load_when_used(__name__, dict.fromkeys(__all__, "run"))
