"""Categories without targets: a column per level, or fixed random directions for many levels.

A level's direction comes from a hash of its text, so it is the same in every fit and needs no
table; how often a level occurred in training is one more column. Missing and unseen levels have
flags of their own.
"""

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from realloc.base.simplex import Floats
from realloc.learn.features.number import Block
from realloc.learn.scaling import Floats32
from realloc.logs.table import Words

UNSEEN = -1
MISSING = -2


@dataclass(frozen=True, kw_only=True)
class Levels:
    """The levels of training with their frequency; `width` > 0: hashed into so many columns."""

    levels: tuple[str, ...]
    frequency: tuple[float, ...]
    width: int

    @cached_property
    def place(self) -> dict[str, int]:
        """The place of each level."""
        return {text: place for place, text in enumerate(self.levels)}

    @cached_property
    def table(self) -> tuple[Floats32, tuple[str, ...]]:
        """The columns of each level, and how their names end."""
        return _hashed(self) if self.width else _one_hot(self)


def fit(words: Words, one_hot: int, hash_width: int) -> Levels:
    """Learn the levels, most frequent first (ties by name)."""
    texts, codes = words
    counts = np.bincount(codes[codes >= 0], minlength=len(texts)).tolist()
    pairs = zip(counts, texts, strict=True)
    seen = sorted(((-count, text) for count, text in pairs if count))
    return Levels(
        levels=tuple(text for _, text in seen),
        frequency=tuple(-count / max(len(codes), 1) for count, _ in seen),
        width=0 if len(seen) <= one_hot else hash_width,
    )


def encode(words: Words, levels: Levels) -> Block:
    """One column per level, or hashed ones and the log frequency; then the flags."""
    texts, codes = words
    places = [levels.place.get(text, UNSEEN) for text in texts]
    index = np.array([*places, MISSING])[codes]
    table, suffixes = levels.table
    unseen = index == UNSEEN
    flags = np.stack([index == MISSING, unseen], axis=1).astype(np.float32)
    values = np.where((index >= 0)[:, None], table[np.maximum(index, 0)], 0.0).astype(
        np.float32
    )
    return Block(
        np.concatenate([values, flags], axis=1),
        (*suffixes, " missing", " unseen"),
        float(unseen.mean()) if len(index) else 0.0,
    )


def _one_hot(levels: Levels) -> tuple[Floats32, tuple[str, ...]]:
    names = levels.levels or ("",)
    return np.eye(len(names), dtype=np.float32), tuple(f" = {name}" for name in names)


def _hashed(levels: Levels) -> tuple[Floats32, tuple[str, ...]]:
    """Unit-variance directions from 64 hash bits a column, and the standardised log frequency."""
    directions = np.stack([_direction(level, levels.width) for level in levels.levels])
    often = np.log(np.array(levels.frequency))
    often = (often - often.mean()) / (often.std() or 1.0)
    table = np.column_stack([directions, often]).astype(np.float32)
    return table, (*(f" # {i}" for i in range(levels.width)), " frequency")


def _direction(level: str, width: int) -> Floats:
    digest = hashlib.shake_128(level.encode()).digest(8 * width)
    uniform = np.frombuffer(digest, dtype="<u8") / 2.0**64
    return (uniform - 0.5) * np.sqrt(12.0)
