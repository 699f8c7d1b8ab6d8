"""Checks on what a log explores: channels in use, shares that vary, and not only because the state does."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from realloc.logs.checks.finding import Finding
from realloc.logs.checks.limits import CheckConfig
from realloc.logs.checks.variation import Variation
from realloc.logs.table import Logs


def channels(logs: Logs, variation: Variation, config: CheckConfig) -> Iterator[Finding]:
    """Channels that are used, by more than one unit."""
    unused = [channel.channel for channel in variation.channels if channel.units_using == 0]
    used = len(variation.channels) - len(unused)
    if used < 2:
        yield Finding(
            code="one_channel",
            level="error",
            what=f"Expected at least 2 channels with budget, got {used}",
            meaning="There is nothing to move budget between.",
            advice="Check the schema's `channels`.",
        )
    elif unused:
        yield Finding(
            code="unused_channel",
            level="warning",
            what=f"Channels that no unit ever used: {', '.join(unused)}",
            meaning="The log holds no evidence about them, so no budget will be moved there.",
            advice="Take them off `channels`, or run a small test.",
            column=unused[0],
        )
    lonely = [
        channel
        for channel in variation.channels
        if channel.units_using == 1 and variation.units > 1
    ]
    for channel in lonely:
        user = logs.unit_codes[
            np.argmax(logs.amounts[:, logs.schema.channels.index(channel.channel)] > 0)
        ]
        yield Finding(
            code="one_unit_channel",
            level="warning",
            what=f"Channel {channel.channel!r} is used by one unit only",
            meaning="Its effect cannot be told apart from that unit.",
            advice="Expect no moves into it for other units.",
            column=channel.channel,
            unit=str(logs.units[int(user)].as_py()),
            rows=round(channel.rows_used * variation.rows),
        )
    yield from _rare(variation, config)


def _rare(variation: Variation, config: CheckConfig) -> Iterator[Finding]:
    used = [channel for channel in variation.channels if channel.units_using > 1]
    rare = [
        channel.channel
        for channel in used
        if channel.rows_used * variation.rows < config.few_rows_per_channel
    ]
    if rare:
        yield Finding(
            code="rare_channel",
            level="warning",
            what=f"Channels with budget in fewer than {config.few_rows_per_channel} rows: {', '.join(rare[:12])}",
            meaning="Their effect will be noise.",
            advice="Expect no moves into them, or merge them with a related channel.",
            column=rare[0],
        )
    if variation.rows < config.few_rows_per_channel * len(variation.channels):
        yield Finding(
            code="few_rows_per_channel",
            level="warning",
            what=f"There are {variation.rows:,} rows for {len(variation.channels)} channels",
            meaning="Every channel needs evidence of its own; most effects will be noise.",
            advice="Log longer, or merge channels.",
        )


def variation(logs: Logs, variation: Variation, config: CheckConfig) -> Iterator[Finding]:
    """Shares that vary, and within units."""
    if all(channel.spread < 1e-9 for channel in variation.channels):
        yield Finding(
            code="no_variation",
            level="error",
            what="Expected shares that vary, got the same split in every row",
            meaning="The effect of moving budget is not identified: no other split was ever tried.",
            advice="Vary the split on purpose for a while, at random and a little.",
        )
        return
    if variation.within_variance < 0.01 and variation.rows > 1.5 * variation.units:
        yield Finding(
            code="little_variation",
            level="warning",
            what=f"Only {variation.within_variance:.1%} of the variation of shares is within units",
            meaning="Effects rest on comparing units with each other, which differ in more than their split.",
            advice="Vary splits within units, at random and a little.",
        )
    if variation.zero_cells > 0:
        patterns = "; ".join(
            f"{name or 'none'}: {count:,}" for name, count in variation.patterns[:3]
        )
        yield Finding(
            code="zeros",
            level="info",
            what=f"{variation.zero_cells:.0%} of share cells are zero, in {variation.rows_with_zero:.0%} of the rows, "
            f"{variation.structural_zeros:.0%} of them in channels the unit never uses; {variation.pattern_count:,} "
            f"patterns of active channels (most frequent: {patterns})",
            meaning="Zeros are normal, but log-ratios are undefined there: only closed-simplex geometry is right here.",
            advice="Channels that a unit never used stay closed for it unless you open them.",
        )


LEAST_LEFT_OVER = 0.005  # half a point of the budget


def overlap(logs: Logs, variation: Variation, config: CheckConfig) -> Iterator[Finding]:
    """Shares that are not a function of the state: what the state leaves over is all that can be learned from."""
    explained, left_over = explained_by_state(logs) or (0.0, 1.0)
    if explained > 0.98 and left_over < LEAST_LEFT_OVER:
        yield Finding(
            code="no_overlap",
            level="warning",
            what=f"The features and the budget explain {explained:.1%} of the variation of shares; what they leave over moves "
            f"{left_over:.2%} of the budget",
            meaning="Units in the same state got the same split, so its effect cannot be told from the state's.",
            advice="Vary the split on purpose for a while, at random and a little.",
        )
    values = logs.table[logs.schema.outcome].to_numpy()
    spread = np.bincount(logs.unit_codes, weights=values**2) - np.bincount(
        logs.unit_codes, weights=values
    ) ** 2 / np.maximum(np.bincount(logs.unit_codes), 1)
    if (
        variation.rows > 1.5 * variation.units
        and np.ptp(values) > 0
        and np.all(spread <= 1e-9 * (1 + np.abs(values).max() ** 2))
    ):
        yield Finding(
            code="constant_within_units",
            level="warning",
            what="The outcome never changes within a unit",
            meaning="It looks like a property of the unit, not a result of the period.",
            advice=f"Check that {logs.schema.outcome!r} is the outcome of each row's period.",
            column=logs.schema.outcome,
        )


def explained_by_state(logs: Logs, most: int = 20_000) -> tuple[float, float] | None:
    """R² of the shares on numeric features and log budget by least squares, and the root mean square that is left over.

    Learned on every other row, judged on the rest. Shares that are carried over from day to day have an R² near 1 on
    yesterday's; what counts is whether the moves that are left over are more than noise.
    """
    stride = max(1, len(logs) // most)
    rows = np.arange(0, len(logs), stride)
    design = [np.ones(len(rows)), np.log(logs.budget[rows])]
    for name in logs.features:
        column = logs.table[name].take(pa.array(rows))
        if pa.types.is_floating(column.type):
            values = np.nan_to_num(column.to_numpy().astype(np.float64))
            spread = values.std()
            if spread > 0:
                scaled = (values - values.mean()) / spread
                design += [scaled, np.square(scaled)]
    matrix, shares = np.stack(design, axis=1), logs.shares[rows]
    if len(rows) < 4 * matrix.shape[1]:
        return None
    train = np.arange(len(rows)) % 2 == 0
    weights = np.linalg.lstsq(matrix[train], shares[train], rcond=None)[0]
    left = np.square(shares[~train] - matrix[~train] @ weights).sum()
    total = np.square(shares[~train] - shares[~train].mean(axis=0)).sum()
    return (
        (float(1 - left / total), float(np.sqrt(left / shares[~train].size))) if total > 0 else None
    )
