"""What a whole batch is expected to bring, with the interval of the sum (`decide.totals`)."""

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from realloc.base.errors import LogError
from realloc.decide.totals import GainSum
from realloc.evaluate.result import Estimate

COLUMNS = ("gain", "gain_error", "common_error")


def total_gain(result: Any, money: bool = False) -> Estimate:
    """The expected gain of all rows of `recommend`'s answer together, with its 95 % interval.

    In `money`, less what moves cost, where `worth` or `move_cost` of [decision] are given.
    """
    frame = nw.from_native(result)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if money and "money_gain" not in frame.columns:
        raise LogError(
            "Expected answers with gains in money, but column 'money_gain' is missing. Give "
            "`worth` in [decision] and recommend again."
        )
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
    gain, error, common = columns
    if money:
        worth, net = (frame[name].to_numpy() for name in ("worth", "money_gain"))
        total = GainSum.of(worth * gain, worth * error, common)
        return Estimate.around("gain in money", float(net.sum()), total.half, len(frame))
    total = GainSum.of(gain, error, common)
    return Estimate.around("total gain", total.gain, total.half, len(frame))
