"""Uniform: the same share for every channel."""

from dataclasses import replace

import numpy as np

from realloc.baselines.fitted import Fitted
from realloc.decide.types import Decision, keep
from realloc.logs import Logs


class Uniform(Fitted):
    """Split every budget evenly; a reference, not advice."""

    def learn(self, logs: Logs) -> None:
        """Nothing to learn."""

    def decide(self, logs: Logs) -> Decision:
        """1/K each; the gain is unknown, so it is 0 and no support is claimed."""
        K = len(logs.schema.channels)
        even = np.full((len(logs), K), 1.0 / K)
        moved = np.any(np.abs(logs.shares - even) > 1e-12, axis=1)
        kept = keep(logs, "no_gain")
        return replace(
            kept,
            shares=even,
            support=np.where(moved, 0.0, 1.0),
            steps=moved.astype(np.int64),
            reason=np.where(moved, "moved", "no_gain"),
        )
