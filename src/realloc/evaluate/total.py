"""What a whole batch is expected to bring, with the interval of the sum.

A sum of lower bounds would say that every unit is unlucky at once. Errors of single units average
out; what all gains have in common does not.

Var(Σ g) = (c Σ g)² + Σ (σ̂² − c² g²),   c the common error of all gains, in parts of them
"""

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from realloc.base.errors import LogError
from realloc.evaluate.result import NORMAL_QUANTILE, Estimate

COLUMNS = ("gain", "sigma", "common_error")


def total_gain(result: Any) -> Estimate:
    """The expected gain of all rows of `recommend`'s answer together, with its 95 % interval."""
    frame = nw.from_native(result)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    missing = [name for name in COLUMNS if name not in frame.columns]
    if missing:
        raise LogError(
            f"Expected the answer of a fitted model's `recommend`, but column {missing[0]!r} "
            "is missing."
        )
    if (
        "share" in frame.columns
    ):  # the long layout repeats a gain in the row of every channel
        frame = frame.unique(frame.columns[:2], keep="first")
    gain, sigma, common = (
        np.nan_to_num(frame[name].to_numpy().astype(np.float64)) for name in COLUMNS
    )
    total = float(gain.sum())
    shared = float((common * gain).sum())
    alone = np.maximum(np.square(sigma) - np.square(common * gain), 0.0).sum()
    error = float(np.sqrt(shared**2 + alone))
    return Estimate.around("total gain", total, NORMAL_QUANTILE * error, len(gain))
