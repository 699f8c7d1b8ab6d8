"""What the model would do with rows, at the shares they stand at."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from realloc.base.progress import Progress, silent
from realloc.base.simplex import Floats, total_variation
from realloc.decide.types import MOVED
from realloc.logs import Logs
from realloc.model.realloc import ReAlloc
from realloc.model.recommend import recommend_rows

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Advice:
    """Recommended shares (n, K) of rows, and what the model says about them."""

    logs: Logs
    shares: Floats
    moved: Mask
    gain: Floats  # 0 where not moved
    gain_lower: Floats
    support: Floats
    reason: NDArray[np.str_]
    supported: Mask  # whether the logs hold evidence for all of the way

    @property
    def moved_share(self) -> Floats:
        """The part of each budget that changes hands."""
        return total_variation(self.logs.shares, self.shares)


def advise(model: ReAlloc, logs: Logs, progress: Progress = silent) -> Advice:
    """Decide on every row as `recommend` does."""
    config = model.config
    found = recommend_rows(model.fitted, logs, config, config.constraints, None, progress)
    moved = np.isin(found.reason, MOVED)
    return Advice(
        logs=logs,
        shares=np.where(moved[:, None], found.shares, logs.shares),
        moved=moved,
        gain=np.where(moved, found.gain, 0.0),
        gain_lower=np.where(moved, found.gain_lower, 0.0),
        support=found.support,
        reason=found.reason,
        supported=found.support >= 1 - config.support.level,
    )


def last_rows(logs: Logs) -> Logs:
    """Every unit's last row: what the model would be asked about first."""
    order = np.lexsort((logs.times, logs.unit_codes))
    codes = logs.unit_codes[order]
    return logs.take(np.sort(order[np.append(codes[1:] != codes[:-1], True)[: len(codes)]]))
