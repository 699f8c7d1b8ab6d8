"""What a whole batch is expected to bring, with the interval of the sum (`decide.totals`)."""

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from realloc.base.errors import LogError
from realloc.decide.totals import GainSum
from realloc.evaluate.result import Estimate

COLUMNS = ("gain", "gain_error", "common_error")


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
    if "share" in frame.columns:
        # The long layout repeats a gain in the row of every channel.
        frame = frame.unique(frame.columns[:2], keep="first")
    columns = (frame[name].to_numpy().astype(np.float64) for name in COLUMNS)
    total = GainSum.of(*columns)
    return Estimate.around("total gain", total.gain, total.half, len(frame))
