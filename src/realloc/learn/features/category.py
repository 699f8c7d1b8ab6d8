"""Categories without targets: a column per level where there are few, fixed random directions where
there are many.

A level's direction comes from a hash of its text, so it is the same in every fit and needs no
table; how often a level occurred in training is one more column. Missing and unseen levels have
flags of their own.
"""

import hashlib
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from realloc.learn.features.number import Block


@dataclass(frozen=True, kw_only=True)
class Levels:
    """The levels of training with their frequency; `width` > 0: hashed into so many columns."""

    levels: tuple[str, ...]
    frequency: tuple[float, ...]
    width: int


def fit(column: pa.DictionaryArray, one_hot: int, hash_width: int) -> Levels:
    """Learn the levels, most frequent first (ties by name)."""
    codes = column.indices.fill_null(-1).to_numpy()
    counts = np.bincount(codes[codes >= 0], minlength=len(column.dictionary))
    texts = column.dictionary.to_pylist()
    order = sorted(
        (i for i in range(len(texts)) if counts[i]), key=lambda i: (-counts[i], texts[i])
    )
    return Levels(
        levels=tuple(texts[i] for i in order),
        frequency=tuple(float(counts[i] / max(len(codes), 1)) for i in order),
        width=0 if len(order) <= one_hot else hash_width,
    )


def encode(column: pa.DictionaryArray, levels: Levels) -> Block:
    """One column per level, or hashed ones and the log frequency; then the flags `missing` and
    `unseen`.
    """
    texts = column.dictionary.to_pylist()
    place = {text: i for i, text in enumerate(levels.levels)}
    known = np.array(
        [*(place.get(text, -1) for text in texts), -2], dtype=np.int64
    )  # −1 unseen, −2 missing
    index = known[column.indices.fill_null(len(texts)).to_numpy()]
    table, suffixes = _hashed(levels) if levels.width else _one_hot(levels)
    flags = np.stack([index == -2, index == -1], axis=1).astype(np.float32)
    values = np.where((index >= 0)[:, None], table[np.maximum(index, 0)], 0.0).astype(np.float32)
    unseen = float(np.mean(index == -1)) if len(index) else 0.0
    return Block(
        np.concatenate([values, flags], axis=1), (*suffixes, " missing", " unseen"), unseen
    )


def _one_hot(levels: Levels) -> tuple[NDArray[np.float32], tuple[str, ...]]:
    size = max(len(levels.levels), 1)
    return np.eye(size, dtype=np.float32), tuple(f" = {name}" for name in levels.levels) or (" = ",)


def _hashed(levels: Levels) -> tuple[NDArray[np.float32], tuple[str, ...]]:
    """Unit-variance directions from 64 hash bits a column, and the standardised log frequency."""
    directions = np.stack([_direction(level, levels.width) for level in levels.levels])
    often = np.log(np.array(levels.frequency))
    often = (often - often.mean()) / (often.std() or 1.0)
    return (
        np.concatenate([directions, often[:, None]], axis=1).astype(np.float32),
        (*(f" # {i}" for i in range(levels.width)), " frequency"),
    )


def _direction(level: str, width: int) -> NDArray[np.float64]:
    digest = hashlib.shake_128(level.encode()).digest(8 * width)
    uniform = np.frombuffer(digest, dtype="<u8") / 2.0**64
    return (uniform - 0.5) * np.sqrt(12.0)
