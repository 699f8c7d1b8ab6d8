"""Recommendations for files of any length: streamed, resumable, logged, published in one step."""

from realloc.batch.job import Options
from realloc.batch.run import BatchResult, recommend_file
from realloc.batch.shard import (
    Committed,
    Shard,
    ShardResult,
    commit_shards,
    recommend_shard,
)

__all__ = [
    "BatchResult",
    "Committed",
    "Options",
    "Shard",
    "ShardResult",
    "commit_shards",
    "recommend_file",
    "recommend_shard",
]
