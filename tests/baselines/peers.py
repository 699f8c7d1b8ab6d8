"""Confounded rows that the peers are fitted on."""

import numpy as np

from realloc.baselines import LinearDMLPolicy
from realloc.baselines.peers_linear_dml import LinearDMLConfig
from realloc.baselines.response import Task
from realloc.learn.window import Window
from tests.small import CONFIG

PLACES = np.array([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8], [0.0, 1.0, 0.0]])
QUICK = {"models": ("products",), "config": CONFIG}


def linear_dml(degree: int, search: str = "ascent") -> LinearDMLPolicy:
    """With the quick nuisances."""
    return LinearDMLPolicy(
        search, CONFIG, LinearDMLConfig(degree=degree, models=("products",))
    )


def confounded(rows: int = 1500, seed: int = 0) -> tuple[Task, np.ndarray]:
    """Rows whose shares and outcome both follow the state; the effect is −8‖p − c‖², c = (0.5, 0.3,
    0.2).
    """
    random = np.random.default_rng(seed)
    x = random.normal(size=(rows, 2))
    logits = np.stack(
        [0.6 * x[:, 0], np.zeros(rows), 0.3 * x[:, 1]], axis=1
    ) + random.normal(0, 0.6, (rows, 3))
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    y = (
        3 * x[:, 0]
        + x[:, 1] ** 2
        - 8 * np.square(p - PLACES[0]).sum(axis=1)
        + random.normal(0, 0.1, rows)
    )
    units = np.arange(rows) // 3
    rows_ = Window(
        x.astype(np.float32), p, y, units % 3, units, np.ones(rows), np.arange(rows) % 3
    )
    return Task(rows_, CONFIG, 0), p
