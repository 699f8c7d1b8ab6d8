"""Rows whose conditional means are known."""

from dataclasses import dataclass

import numpy as np

from realloc.learn.nuisances.config import NuisanceConfig

QUICK = {"width": 16, "epochs": 6, "trees": 100, "repeats": 1, "shrinkage": 0.1}


def quick(**changes):
    return NuisanceConfig(**{**QUICK, **changes})


@dataclass(frozen=True)
class Rows:
    x: np.ndarray
    shares: np.ndarray
    outcome: np.ndarray
    folds: np.ndarray
    m: np.ndarray
    e: np.ndarray

    @property
    def inputs(self):
        return self.x, self.shares, self.outcome, self.folds


def softmax(logits):
    raised = np.exp(logits - logits.max(axis=1, keepdims=True))
    return raised / raised.sum(axis=1, keepdims=True)


def draw(n=4000, kind="smooth", channels=3, noise=0.7, seed=0, folds=5):
    """Units of four rows each; `kind`: smooth, linear, step, count, positive, constant."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 5)).astype(np.float32)
    line = x[:, 0] - 0.5 * x[:, 1]
    m = {
        "smooth": 5 + 2 * np.sin(1.5 * x[:, 0]) + x[:, 1] * x[:, 2],
        "linear": 5 + 2 * line,
        "step": 5 + 3 * ((x[:, 0] > 0.3) & (x[:, 1] > -0.2)) + 2 * (x[:, 2] > 0.8),
        "count": np.exp(0.7 * line),
        "positive": 100 * np.exp(0.7 * line),
        "constant": np.full(n, 7.0),
    }[kind]
    y = {
        "count": lambda: rng.poisson(m).astype(float),
        "positive": lambda: np.where(
            rng.random(n) < 0.5, 0, rng.gamma(2, m)
        ),  # mean m, half of it zeros
        "constant": lambda: m,
    }.get(kind, lambda: m + noise * rng.normal(size=n))()
    logits = np.zeros((n, channels))
    logits[:, 0], logits[:, 1] = x[:, 3], 0.8 * np.tanh(2 * x[:, 4])
    e = softmax(logits)
    gamma = rng.gamma(6 * e)  # Dirichlet(6 e): conditional mean e
    return Rows(
        x, gamma / gamma.sum(axis=1, keepdims=True), y, np.arange(n) // 4 % folds, m, e
    )


def r2(truth, predicted):
    return 1 - np.mean((truth - predicted) ** 2) / np.var(truth)
