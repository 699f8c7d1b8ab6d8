"""What every surface of a teacher offers: members of r, as differences of f(state, shares)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from realloc.learn.teacher.covariance import GainCovariance
from realloc.learn.teacher.sample import TeacherSample


class Surface(Protocol):
    """M members of f(x, z); r(x, z − e) = f(x, z) − f(x, e) vanishes at z = e by construction."""

    @property
    def members(self) -> int:
        """M."""
        ...

    def values(self, x: Tensor, z: Tensor) -> Tensor:
        """f at states (n, d) and scaled shares (n, q, K), up to a function of state: (M, n, q)."""
        ...

    def slopes(self, x: Tensor, z: Tensor) -> Tensor:
        """∇_z f at scaled shares (n, K) or (n, q, K), of the shape (M, …)."""
        ...


@dataclass(frozen=True)
class Fit:
    """A fitted surface and its out-of-fold contrasts."""

    surface: Surface
    # (n,) f(x, z) − f(x, e) by members that never saw the row's unit; NaN where there are none
    contrast: Tensor
    covariance: GainCovariance | None = None  # of its gains, where the surface knows it


def contrast_of(surface: Surface, sample: TeacherSample, rows: Tensor) -> Tensor:
    """f(x, z) − f(x, e) of some rows, by every member: (M, rows)."""
    places = torch.stack([sample.z[rows], sample.e[rows]], dim=1)
    values = surface.values(sample.x[rows], places)
    return values[..., 0] - values[..., 1]


def in_chunks(rows: int, size: int, compute: Callable[[slice], Tensor]) -> Tensor:
    """Rows of (M, n, …) computed `size` at a time, so that memory does not grow with n."""
    parts = [compute(slice(first, first + size)) for first in range(0, rows, size)]
    return torch.cat(parts, dim=1) if len(parts) > 1 else parts[0]
