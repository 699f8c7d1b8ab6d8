"""Outcomes on a scale of order 1, and the loss that is least at their conditional mean.

real      z = (y − mean) / sd,  m = mean + sd·f,     (f − z)²
positive  z = y / mean,         m = mean·exp(f),     2·exp(−f/2)·(√z − exp(f/2))²
count     z = y / mean,         m = mean·exp(f),     z·(log z − f) − z + exp(f)

The second is the Tweedie deviance of power 3/2, between Poisson and Gamma. Like both, it is right
about the mean whatever the distribution. It allows zeros, which Gamma does not, and grows less with
large values than a squared error.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from realloc.learn.nuisances.sample import Floats

LARGEST_LOG = 12.0  # exp beyond it would only come from extrapolation
LARGEST_Z = 1e9
OBJECTIVES = {"positive": "tweedie", "count": "poisson"}  # the same losses in LightGBM


@dataclass(frozen=True)
class Link:
    """Scale of an outcome, learned from training rows: z = (y − shift) / spread."""

    kind: str
    shift: float
    spread: float  # 0 where the outcome is constant

    def forward(self, outcome: Floats) -> Floats:
        """z; cut where float32 would end, which only rows unlike all training rows reach."""
        if not self.spread:
            return np.zeros_like(outcome)
        return np.clip((outcome - self.shift) / self.spread, -LARGEST_Z, LARGEST_Z)

    def mean(self, z: Floats) -> Floats:
        """The outcome's mean from the mean of z."""
        return self.shift + self.spread * z


def fit_link(kind: str, outcome: Floats, weights: Floats) -> Link:
    """The scale of training rows."""
    mean = float(np.average(outcome, weights=weights))
    if kind != "real":
        return Link(kind, 0.0, mean)
    spread = float(np.sqrt(np.average((outcome - mean) ** 2, weights=weights)))
    return Link(kind, mean, spread if spread > 1e-12 * abs(mean) else 0.0)


def response(kind: str, f: Tensor) -> Tensor:
    """Mean of z from a network's output f."""
    return f if kind == "real" else f.clamp(-LARGEST_LOG, LARGEST_LOG).exp()


def deviance(kind: str, z: Tensor, f: Tensor) -> Tensor:
    """Loss per row."""
    if kind == "real":
        return (f - z).square()
    f = f.clamp(-LARGEST_LOG, LARGEST_LOG)
    if kind == "positive":
        return 2 * (-f / 2).exp() * (z.sqrt() - (f / 2).exp()).square()
    return torch.special.xlogy(z, z) - z * f - z + f.exp()
