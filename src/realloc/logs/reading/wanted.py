"""Shares that a user asks about: an array, or a frame with a column per channel."""

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from realloc.base.errors import LogError
from realloc.base.simplex import Floats
from realloc.logs.names import short_channels

OFF = 1e-6  # how far shares may be from summing to 1


def read_shares(to: Any, channels: tuple[str, ...], rows: int) -> Floats:
    """Shares (n, K) from an array in the channels' order, or from a frame.

    A frame has a column `<channel>`, or one named as in recommendations, for each channel.
    """
    native = nw.from_native(to, eager_only=True, pass_through=True)
    if isinstance(native, nw.DataFrame):
        pairs = zip(channels, short_channels(channels), strict=True)
        named = [_column_of(name, short, native.columns) for name, short in pairs]
        to = native.select(named).to_numpy()
    try:
        shares = np.asarray(to, dtype=np.float64)
    except (TypeError, ValueError) as problem:
        raise LogError("Expected numbers in `to`, got something else.") from problem
    expected = (rows, len(channels))
    if shares.shape != expected:
        raise LogError(
            f"Expected `to` of shape {expected}, a row for each row and a column per channel, "
            f"got {shares.shape}."
        )
    positive = (np.isfinite(shares) & (shares >= 0)).all(axis=1)
    bad = ~positive | (np.abs(shares.sum(axis=1) - 1) > OFF)
    if bad.any():
        first = int(np.argmax(bad))
        raise LogError(
            f"Expected shares of at least 0 that sum to 1 in `to`, but {int(bad.sum())} of {rows} "
            f"rows have others; row {first} is {shares[first].tolist()}."
        )
    return shares


def _column_of(channel: str, short: str, present: list[str]) -> str:
    advised = f"share_{short}"
    named = [name for name in dict.fromkeys((channel, advised)) if name in present]
    if not named:
        raise LogError(
            f"Expected a column of shares for channel {channel!r} in `to`, but {advised!r} is "
            "missing."
        )
    if len(named) == 2 and channel == f"spend_{short}":
        return advised  # the other is the money of a recommendation
    if len(named) == 2:
        raise LogError(
            f"Expected one column for each channel in `to`, but both {channel!r} and "
            f"{advised!r} are there. Leave out the ones that are not wanted."
        )
    return named[0]
