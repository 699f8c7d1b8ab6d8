"""The rows of one window as arrays: what every learner of a round is handed."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Window:
    """States (n, d), shares (n, K), outcome, folds and units (n,), weights of mean 1."""

    x: NDArray[np.float32]
    shares: Floats
    outcome: Floats
    folds: NDArray[np.int64]
    units: NDArray[np.integer[Any]]
    weights: Floats
    # The units themselves, where `units` are blocks of their time.
    owners: NDArray[np.integer[Any]] | None = None
