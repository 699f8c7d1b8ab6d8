"""What a teacher learns from, in the units it learns in."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from realloc.base.simplex import Floats
from realloc.learn.scaling import Scaling

# A share with a smaller standard deviation never moved: nothing can be learned about it.
STILL = 1e-4


@dataclass(frozen=True)
class TensorScaling:
    """z = (p − centre) · inverse, y in units of `outcome`; inverse 0 where no share ever moved."""

    centre: Tensor  # (K,)
    inverse: Tensor  # (K,)
    outcome: float

    def shares(self, p: Tensor) -> Tensor:
        """z of shares (…, K)."""
        return (p - self.centre) * self.inverse

    def field(self, slopes: Tensor) -> Tensor:
        """P₀∇_p in units of the outcome, from ∇_z (…, K)."""
        field = slopes * self.inverse * self.outcome
        return field - field.mean(-1, keepdim=True)

    def numpy(self) -> Scaling:
        """The same for whoever decides without torch."""
        return Scaling(
            np.array(self.centre.numpy()), np.array(self.inverse.numpy()), self.outcome
        )


def as_tensor(values: NDArray[Any], dtype: type[np.generic] = np.float32) -> Tensor:
    """A copy, by default in single precision."""
    return torch.from_numpy(np.array(values, dtype=dtype))


def scale(shares: Floats, outcome: Floats) -> TensorScaling:
    """The scaling of a window's shares (n, K) and outcomes (n,)."""
    spread = shares.std(axis=0)
    inverse = np.where(spread > STILL, 1 / np.maximum(spread, STILL), 0.0)
    centre = as_tensor(shares.mean(axis=0))
    return TensorScaling(centre, as_tensor(inverse), float(outcome.std()) or 1.0)


@dataclass(frozen=True)
class TeacherSample:
    """Rows of a window: states, scaled shares and outcomes, nuisances, folds by unit."""

    x: Tensor  # (n, d)
    z: Tensor  # (n, K) scaled shares
    y: Tensor  # (n,) scaled outcome, centred
    m: Tensor  # (n,) m̂ in the same units
    e: Tensor  # (n, K) ê in the units of z
    folds: Tensor  # (n,)
    units: Tensor  # (n,) codes
    weights: Tensor  # (n,) of mean 1
    scaling: TensorScaling

    @property
    def count(self) -> int:
        """The number of folds."""
        return int(self.folds.max()) + 1

    def groups(self, per_fold: int) -> Tensor:
        """Every row's group (n,): whole units, so many groups in each fold."""
        return self.folds * per_fold + self.units % per_fold
