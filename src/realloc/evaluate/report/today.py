"""What the model would do with every unit's last row: where it has support, how much it moves, and the biggest moves."""

from collections import Counter

import numpy as np

from realloc.decide.types import REASONS
from realloc.evaluate.report.advice import Advice
from realloc.evaluate.report.section import Section, plain, signed
from realloc.evaluate.result import Estimate, mean_estimate
from realloc.model.realloc import ReAlloc

NAN = float("nan")
BIGGEST = 10
NOTICEABLE = 0.01  # part of the rows with values that training never saw


def support_section(model: ReAlloc, advice: Advice) -> Section:
    """Where the logs that the model learned from hold evidence."""
    logs, config = advice.logs, model.config.support
    inside = mean_estimate("supported", advice.supported.astype(np.float64))
    unseen = {
        name: part
        for name, part in model.fitted.encoder.encode(logs).report.items()
        if part >= NOTICEABLE
    }
    lines = [
        f"For {inside.value:.1%} of {len(logs):,} units the logs hold evidence for where they stand and for the way they would "
        f"be moved (support of at least {1 - config.level:.2g})."
    ]
    if advice.moved.any():
        outside = int((advice.moved & ~advice.supported).sum())
        lines.append(
            f"Of {int(advice.moved.sum()):,} recommended moves {outside:,} leave the support."
        )
    if unseen:
        named = ", ".join(
            f"{name} ({part:.0%})"
            for name, part in sorted(unseen.items(), key=lambda item: -item[1])
        )
        lines.append(f"Values that training never saw, by part of the rows: {named}.")
    quantiles = np.quantile(advice.support, [0.05, 0.25, 0.5, 0.75])
    lines.append(
        f"Support at the 5th, 25th, 50th and 75th percentile: {', '.join(f'{q:.2f}' for q in quantiles)}."
    )
    return Section(title="Support coverage", lines=tuple(lines), figures=(inside,))


def action_section(advice: Advice) -> Section:
    """How many rows are moved, why the others are not, and where the money goes."""
    logs = advice.logs
    rate = mean_estimate("action_rate", advice.moved.astype(np.float64))
    budget = np.asarray(logs.budget)
    before, after = (
        (budget[:, None] * logs.shares).sum(axis=0),
        (budget[:, None] * advice.shares).sum(axis=0),
    )
    flows = ", ".join(
        f"{name} {signed(100 * change)} %"
        for name, change in zip(
            logs.schema.channels, after / np.maximum(before, 1e-300) - 1, strict=True
        )
    )
    moved_money = float((advice.moved_share * budget).sum() / max(budget.sum(), 1e-300))
    lines = (
        f"{rate.value:.1%} of {rate.n:,} units are moved (each as of its last row); {moved_money:.2%} of all money changes "
        "hands.",
        f"Money by channel: {flows}.",
    )
    reasons = Counter(advice.reason.tolist()).most_common()
    return Section(
        title="Action rate",
        lines=lines,
        heads=("reason", "units", "meaning"),
        rows=tuple((reason, f"{count:,}", REASONS[reason]) for reason, count in reasons),
        figures=(rate, Estimate("moved_money", moved_money, NAN, NAN, rate.n)),
    )


def moves_section(advice: Advice) -> Section:
    """The moves of most money."""
    logs = advice.logs
    if not advice.moved.any():
        return Section(title="Biggest moves", lines=("The model moves nothing.",))
    money = np.where(advice.moved, advice.moved_share * logs.budget, 0.0)
    top = np.argsort(-money, kind="stable")[: min(BIGGEST, int(advice.moved.sum()))]
    units = logs.units.take(
        logs.table[logs.schema.unit].combine_chunks().indices.take(top)
    ).to_pylist()
    rows = tuple(
        (
            str(unit),
            _change(advice, int(row)),
            f"{money[row]:,.2f}",
            signed(float(advice.gain[row])),
            signed(float(advice.gain_lower[row])),
            plain(float(advice.support[row])),
        )
        for unit, row in zip(units, top, strict=True)
    )
    return Section(
        title="Biggest moves",
        heads=(logs.schema.unit, "shares", "money moved", "gain", "at least", "support"),
        rows=rows,
    )


def _change(advice: Advice, row: int) -> str:
    """The channels that change, e.g. `ads 40.0 → 45.0 %`."""
    start, end = advice.logs.shares[row], advice.shares[row]
    return ", ".join(
        f"{name} {100 * start[k]:.1f} → {100 * end[k]:.1f} %"
        for k, name in enumerate(advice.logs.schema.channels)
        if abs(end[k] - start[k]) > 5e-4
    )
