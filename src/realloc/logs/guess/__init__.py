"""A first schema from the data alone, and how the data's text is written."""

from realloc.logs.guess.schema import Hints, guess_schema

__all__ = ["Hints", "guess_schema"]
