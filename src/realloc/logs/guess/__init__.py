"""A first schema from the data alone, and how the data's text is written."""

from realloc.logs.guess.schema import Hints, doubts, guess_schema

__all__ = ["Hints", "doubts", "guess_schema"]
