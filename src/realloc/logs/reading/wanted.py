"""Shares that a user asks about: an array, or a frame with a column per channel."""

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from realloc.base.errors import LogError

OFF = 1e-6  # how far shares may be from summing to 1


def read_shares(to: Any, channels: tuple[str, ...], rows: int) -> NDArray[np.float64]:
    """Shares (n, K) from an array in the channels' order, or from a frame by `<channel>` or `share_<channel>`."""
    native = nw.from_native(to, eager_only=True, pass_through=True)
    if isinstance(native, nw.DataFrame):
        twice = [
            name
            for name in channels
            if name in native.columns and f"share_{name}" in native.columns
        ]
        if twice:
            raise LogError(
                f"Expected one column for each channel in `to`, but both {twice[0]!r} and 'share_{twice[0]}' are there. "
                "Leave out the ones that are not wanted."
            )
        named = [name if name in native.columns else f"share_{name}" for name in channels]
        missing = [name for name in named if name not in native.columns]
        if missing:
            raise LogError(
                f"Expected a column for each of the channels {list(channels)} in `to`, but {missing[0]!r} is missing."
            )
        to = native.select(named).to_numpy()
    try:
        shares = np.asarray(to, dtype=np.float64)
    except (TypeError, ValueError) as problem:
        raise LogError("Expected numbers in `to`, got something else.") from problem
    expected = (rows, len(channels))
    if shares.shape != expected:
        raise LogError(
            f"Expected `to` of shape {expected}, a row for each row and a column per channel, got {shares.shape}."
        )
    bad = ~(np.isfinite(shares) & (shares >= 0)).all(axis=1) | (
        np.abs(shares.sum(axis=1) - 1) > OFF
    )
    if bad.any():
        first = int(np.argmax(bad))
        raise LogError(
            f"Expected shares of at least 0 that sum to 1 in `to`, but {int(bad.sum())} of {rows} rows have others; "
            f"row {first} is {shares[first].tolist()}."
        )
    return shares
