"""Checks on what a log explores: channels in use, and shares that vary, not only with the state."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from realloc.logs.checks.finding import Finding
from realloc.logs.checks.limits import CheckConfig
from realloc.logs.checks.variation import Variation
from realloc.logs.table import Logs

LEAST_LEFT_OVER = 0.005  # half a point of the budget


def channels(logs: Logs, variation: Variation, config: CheckConfig) -> Iterator[Finding]:
    """Channels that are used, by more than one unit, in enough rows."""
    few = config.few_rows_per_channel
    unused = [channel.channel for channel in variation.channels if channel.units_using == 0]
    used = len(variation.channels) - len(unused)
    if used < 2:
        yield Finding(
            "one_channel",
            "error",
            f"Expected at least 2 channels with budget, got {used}",
            "There is nothing to move budget between.",
            "Check the schema's `channels`.",
        )
    elif unused:
        yield Finding(
            "unused_channel",
            "warning",
            f"Channels that no unit ever used: {', '.join(unused)}",
            "The log holds no evidence about them, so no budget will be moved there.",
            "Take them off `channels`, or run a small test.",
            column=unused[0],
        )
    rare: list[str] = []
    for k, channel in enumerate(variation.channels):
        rows = round(channel.rows_used * variation.rows)
        if channel.units_using > 1 and rows < few:
            rare.append(channel.channel)
        if channel.units_using == 1 and variation.units > 1:
            yield Finding(
                "one_unit_channel",
                "warning",
                f"Channel {channel.channel!r} is used by one unit only",
                "Its effect cannot be told apart from that unit.",
                "Expect no moves into it for other units.",
                column=channel.channel,
                unit=logs.unit_of(int(np.argmax(logs.amounts[:, k] > 0))),
                rows=rows,
            )
    if rare:
        yield Finding(
            "rare_channel",
            "warning",
            f"Channels with budget in fewer than {few} rows: {', '.join(rare[:12])}",
            "Their effect will be noise.",
            "Expect no moves into them, or merge them with a related channel.",
            column=rare[0],
        )
    if variation.rows < few * len(variation.channels):
        yield Finding(
            "few_rows_per_channel",
            "warning",
            f"There are {variation.rows:,} rows for {len(variation.channels)} channels",
            "Every channel needs evidence of its own; most effects will be noise.",
            "Log longer, or merge channels.",
        )


def shares(logs: Logs, variation: Variation, config: CheckConfig) -> Iterator[Finding]:
    """Shares that vary, and within units."""
    if all(channel.spread < 1e-9 for channel in variation.channels):
        yield Finding(
            "no_variation",
            "error",
            "Expected shares that vary, got the same split in every row",
            "The effect of moving budget is not identified: no other split was ever tried.",
            "Vary the split on purpose for a while, at random and a little.",
        )
        return
    if variation.within_variance < 0.01 and variation.rows > 1.5 * variation.units:
        yield Finding(
            "little_variation",
            "warning",
            f"Only {variation.within_variance:.1%} of the variation of shares is within units",
            "Effects rest on comparing units with each other, which differ in more than their "
            "split.",
            "Vary splits within units, at random and a little.",
        )
    if variation.zero_cells > 0:
        frequent = [
            f"{name or 'none'}: {count:,}" for name, count in variation.patterns[:3]
        ]
        yield Finding(
            "zeros",
            "info",
            f"{variation.zero_cells:.0%} of share cells are zero, in "
            f"{variation.rows_with_zero:.0%} of the rows, {variation.structural_zeros:.0%} of them "
            f"in channels the unit never uses; {variation.pattern_count:,} patterns of active "
            f"channels (most frequent: {'; '.join(frequent)})",
            "Zeros are normal, but log-ratios are undefined there: only closed-simplex geometry "
            "is right here.",
            "Channels that a unit never used stay closed for it unless you open them.",
        )


def overlap(logs: Logs, variation: Variation, config: CheckConfig) -> Iterator[Finding]:
    """Shares that are not a function of the state: only what it leaves over can be learned from."""
    explained, left_over = explained_by_state(logs) or (0.0, 1.0)
    if explained > 0.98 and left_over < LEAST_LEFT_OVER:
        yield Finding(
            "no_overlap",
            "warning",
            f"The features and the budget explain {explained:.1%} of the variation of shares; "
            f"what they leave over moves {left_over:.2%} of the budget",
            "Units in the same state got the same split, so its effect cannot be told from the "
            "state's.",
            "Vary the split on purpose for a while, at random and a little.",
        )


def explained_by_state(logs: Logs) -> tuple[float, float] | None:
    """R² of the shares on numeric features and log budget, and the root mean square left over.

    Least squares, learned on every other row, judged on the rest. Shares that are carried over from
    day to day have an R² near 1 on yesterday's; what counts is whether the moves that are left over
    are more than noise.
    """
    rows = np.arange(0, len(logs), max(1, len(logs) // 20_000))
    design = [np.ones(len(rows)), np.log(logs.budget[rows])]
    for name in logs.features:
        column = logs.table[name].take(pa.array(rows))
        if pa.types.is_floating(column.type):
            values = np.nan_to_num(column.to_numpy().astype(np.float64))
            if values.std() > 0:
                scaled = (values - values.mean()) / values.std()
                design += [scaled, np.square(scaled)]
    matrix = np.stack(design, axis=1)
    shares = logs.shares_at(rows)
    if len(rows) < 4 * matrix.shape[1]:
        return None
    weights = np.linalg.lstsq(matrix[::2], shares[::2], rcond=None)[0]
    held_out = shares[1::2]
    left = np.square(held_out - matrix[1::2] @ weights).sum()
    total = np.square(held_out - held_out.mean(axis=0)).sum()
    if total == 0:
        return None
    return float(1 - left / total), float(np.sqrt(left / held_out.size))
