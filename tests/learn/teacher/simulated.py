"""Confounded windows whose field is known, and nuisances that know the truth."""

from dataclasses import dataclass

import numpy as np
import torch

from realloc.learn.nuisances.crossfit import Nuisances
from realloc.learn.teacher.config import FactualConfig, KernelConfig, NetworkConfig
from realloc.learn.teacher.fit import SurfaceConfigs, draw_sample
from realloc.learn.window import Window

QUICK = SurfaceConfigs(
    kernel=KernelConfig(inducing=60, steps=20, rows=200, rate=0.2),
    network=NetworkConfig(least_steps=0, epochs=8, width=16, trunk=8),
    factual=FactualConfig(least_steps=0, epochs=8, width=16),
)


@dataclass(frozen=True)
class Simulated:
    """A window, its true nuisances and its true field P₀∇μ (n, K)."""

    window: Window
    nuisances: Nuisances
    field: np.ndarray


def simulate(n=600, channels=3, noise=0.3, seed=0, folds=3):
    """y = 3 sin(x0) + 2 x1 (p0 − p1) + noise; x0 and x1 decide about shares too.

    Units of four rows each.
    """
    random = np.random.default_rng(seed)
    x = random.normal(size=(n, 3)).astype(np.float32)
    logits = np.zeros((n, channels))
    logits[:, 0], logits[:, 1] = 0.7 * x[:, 0], 0.5 * x[:, 1]
    e = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    gamma = random.gamma(2 * channels * e)
    p = gamma / gamma.sum(1, keepdims=True)

    def mean(shares):
        return 3 * np.sin(x[:, 0]) + 2 * x[:, 1] * (shares[:, 0] - shares[:, 1])

    field = np.zeros((n, channels))
    field[:, 0], field[:, 1] = 2 * x[:, 1], -2 * x[:, 1]
    units = np.arange(n) // 4
    window = Window(
        x,
        p,
        mean(p) + noise * random.normal(size=n),
        units % folds,
        units // folds,
        np.ones(n),
        np.zeros(n, np.int64),
    )
    return Simulated(window, known(mean(e), e), field)


def known(outcome, shares):
    """Nuisances that nobody fitted."""
    return Nuisances(outcome, shares, None)


def sample_of(simulated):
    return draw_sample(simulated.window, simulated.nuisances)


def tensors(window):
    return torch.from_numpy(np.array(window.x)), torch.from_numpy(
        np.array(window.shares)
    ).float()
