"""Units that networks and kernels compute in: shares per channel, outcomes by their spread."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realloc.base.simplex import Floats

Floats32 = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Scaling:
    """z = (p − centre) · inverse per channel; y in units of `outcome`.

    A channel that never moved has inverse 0.
    """

    centre: Floats32  # (K,)
    inverse: Floats32  # (K,)
    outcome: float

    def shares(self, p: Floats) -> Floats32:
        """z of shares (…, K)."""
        return (p.astype(np.float32) - self.centre) * self.inverse

    def field(self, slopes: Floats32) -> Floats:
        """P₀∇_p in units of the outcome, from ∇_z (…, K)."""
        field = slopes * self.inverse * np.float32(self.outcome)
        return (field - field.mean(axis=-1, keepdims=True)).astype(np.float64)
