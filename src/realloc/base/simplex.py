"""Geometry of the closed simplex Δ = {p ≥ 0, Σp = 1}: directions, coordinates, transfers, money.

Arrays have channels last: (..., K). Results keep the input's float dtype. Letters as in the paper:
p shares, Q an orthonormal basis of the tangent space T = {v : Σv = 0}, u log-ratio coordinates,
k → l a transfer.
"""

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from realloc.base.errors import LogError

Floats = NDArray[np.floating]
Integers = NDArray[np.int64]
Rows = NDArray[np.integer]
Mask = NDArray[np.bool_]

LARGEST_MINOR = 2**53  # integers above it are not exact in float64


def project_tangent(v: Floats) -> Floats:
    """Orthogonal projection onto the tangent space, P₀v = (I − 11ᵀ/K)v.

    >>> project_tangent(np.array([3.0, 0.0, 0.0])).tolist()
    [2.0, -1.0, -1.0]
    """
    return v - v.mean(axis=-1, keepdims=True)


@lru_cache(maxsize=64)
def tangent_basis(channels: int) -> Floats:
    """Q (K, K−1) with QᵀQ = I, QQᵀ = P₀, Qᵀ1 = 0: the normalised Helmert contrasts, read-only."""
    if channels < 2:
        raise LogError(
            f"Expected at least 2 channels to move budget between, got {channels}."
        )
    Q = np.zeros((channels, channels - 1))
    for j in range(1, channels):
        Q[:j, j - 1] = 1.0
        Q[j, j - 1] = -j
        Q[:, j - 1] /= np.sqrt(j * (j + 1.0))
    Q.setflags(write=False)
    return Q


def softmax(logits: Floats) -> Floats:
    """Softmax over the last axis, safe for large logits."""
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def channels_first(shares: Floats) -> Floats:
    """Shares (..., K) as (K, ...), each channel along memory: sums over few are much faster."""
    last = shares.ndim - 1
    return np.ascontiguousarray(shares.transpose(last, *range(last)))


def total_variation(p: Floats, q: Floats) -> Floats:
    """Half the L1 distance: the part of the budget that changes hands, from 0 to 1."""
    return np.abs(p - q).sum(axis=-1) / 2


def active_pattern(p: Floats) -> Mask:
    """Which channels carry budget; the pattern is part of the action where zeros are structural."""
    return p > 0


def close(amounts: Floats, out: Floats | None = None) -> Floats:
    """Shares of non-negative amounts; rows that total 0 get NaN. `out` may be the input."""
    # Scaled by the largest amount first, so that neither huge nor denormal amounts spoil the sum.
    with np.errstate(invalid="ignore"):
        shares = np.divide(amounts, amounts.max(axis=-1, keepdims=True), out=out)
        shares /= shares.sum(axis=-1, keepdims=True)
    return shares


def edges(channels: int) -> Integers:
    """All directed transfers (k, l), k ≠ l, as rows (K(K−1), 2) in lexicographic order."""
    k, l = np.nonzero(~np.eye(channels, dtype=bool))
    return np.stack([k, l], axis=-1)


def edge_directions(channels: int) -> Floats:
    """The directions e_l − e_k of `edges`, (K(K−1), K)."""
    pairs = edges(channels)
    eye = np.eye(channels)
    return eye[pairs[:, 1]] - eye[pairs[:, 0]]


def project(v: Floats) -> Floats:
    """Euclidean projection onto the simplex: max(v − θ, 0) with the one θ that makes the sum 1."""
    K = v.shape[-1]
    largest = v.max(axis=-1, keepdims=True)
    # the projection does not change, and huge inputs keep their digits
    centred = v - largest
    falling = -np.sort(-centred, axis=-1)
    excess = np.cumsum(falling, axis=-1) - 1
    rank = np.arange(1, K + 1, dtype=v.dtype)
    kept = (falling * rank > excess).sum(axis=-1, keepdims=True)
    theta = np.take_along_axis(excess, kept - 1, axis=-1) / kept.astype(v.dtype)
    p = np.maximum(centred - theta, 0)
    return p / p.sum(axis=-1, keepdims=True)


def round_money(
    shares: Floats, budget: ArrayLike, digits: int = 2, order: ArrayLike | None = None
) -> Integers:
    """Shares × budget in integer minor units that sum to the rounded budget (largest remainder).

    `order` ranks the channels for ties (default: as they stand). A share of zero never gets a unit.

    >>> round_money(np.array([[1.0, 1.0, 1.0]]) / 3, [100.0]).tolist()
    [[3334, 3333, 3333]]
    """
    p = np.asarray(shares, dtype=np.float64)
    # Float32 shares are off by 1e-7, which is whole units of a large budget.
    p = p / p.sum(axis=-1, keepdims=True)
    total = np.rint(np.asarray(budget, dtype=np.float64) * 10.0**digits)
    if not np.all((total >= 0) & (total <= LARGEST_MINOR)):
        raise LogError(
            f"Expected budgets from 0 to {LARGEST_MINOR} minor units (10^-{digits}), "
            "got one outside."
        )
    quota = p * total[..., None]
    units = np.floor(quota)
    left = (total - units.sum(axis=-1)).astype(np.int64)
    # Rounded, so that float noise does not break ties by the order of the columns.
    remainder = np.where(p > 0, np.round(quota - units, 6), -1.0)
    rank = np.arange(p.shape[-1]) if order is None else np.asarray(order)
    # lexsort sorts by its last key first: largest remainder, then the given order.
    queue = np.lexsort((np.broadcast_to(rank, p.shape), -remainder), axis=-1)
    place = np.argsort(queue, axis=-1)
    units += place < left[..., None]
    minor = units.astype(np.int64)
    # What float error left over (a few units at 10¹⁴ and above) goes to the largest channel.
    rest = total.astype(np.int64) - minor.sum(axis=-1)
    if np.any(rest):
        largest = minor.argmax(axis=-1, keepdims=True)
        settled = np.take_along_axis(minor, largest, -1) + rest[..., None]
        np.put_along_axis(minor, largest, settled, -1)
    return minor
