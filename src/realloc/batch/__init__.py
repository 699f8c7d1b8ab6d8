"""Recommendations for files of any length: streamed, resumable, logged, published in one step."""

from realloc.batch.run import BatchResult, Options, recommend_file

__all__ = ["BatchResult", "Options", "recommend_file"]
