"""What the policy would do with every unit's last row: support, action rate,
and the biggest moves.
"""

from collections import Counter

import numpy as np

from realloc.base.numbers import plain, signed
from realloc.decide.types import REASONS, Policy
from realloc.evaluate.report.advice import Advice, config_of
from realloc.evaluate.report.section import Section
from realloc.evaluate.result import Estimate, mean_estimate
from realloc.model.realloc import ReAlloc

BIGGEST = 10
NOTICEABLE = 0.01  # part of the rows with values that training never saw


def support_section(policy: Policy, advice: Advice) -> Section:
    """Where the logs that the policy learned from hold evidence."""
    inside = mean_estimate("supported", advice.supported.astype(np.float64))
    least = 1 - config_of(policy).support.level
    lines = [
        f"For {inside.value:.1%} of {inside.n:,} units the logs support the current shares "
        f"and the whole recommended move (support of at least {least:.2g})."
    ]
    if advice.moved.any():
        outside = int((advice.moved & ~advice.supported).sum())
        lines.append(
            f"Of {int(advice.moved.sum()):,} recommended moves {outside:,} leave the support."
        )
    if isinstance(policy, ReAlloc):
        unseen = policy.fitted.encoder.encode(advice.logs).report
        often = sorted(
            (-part, f"{name} ({part:.0%})")
            for name, part in unseen.items()
            if part >= NOTICEABLE
        )
        if often:
            names = ", ".join(name for _, name in often)
            lines.append(f"Values that training never saw, by part of the rows: {names}.")
    quantiles = [f"{q:.2f}" for q in np.quantile(advice.support, [0.05, 0.25, 0.5, 0.75])]
    lines.append(
        f"Support at the 5th, 25th, 50th and 75th percentile: {', '.join(quantiles)}."
    )
    return Section(title="Support coverage", lines=tuple(lines), figures=(inside,))


def action_section(advice: Advice) -> Section:
    """How many rows are moved, why the others are not, and where the money goes."""
    logs = advice.logs
    rate = mean_estimate("action_rate", advice.moved.astype(np.float64))
    budget = np.asarray(logs.budget)
    change = budget @ advice.shares / np.maximum(budget @ logs.shares, 1e-300) - 1
    flows = [
        f"{name} {signed(100 * part)} %"
        for name, part in zip(logs.schema.channels, change, strict=True)
    ]
    moved_money = float(advice.moved_share @ budget / max(budget.sum(), 1e-300))
    reasons = Counter(advice.reason.tolist()).most_common()
    return Section(
        title="Action rate",
        lines=(
            f"{rate.value:.1%} of {rate.n:,} units are moved (each as of its last row); "
            f"{moved_money:.2%} of all money changes hands.",
            f"Money by channel: {', '.join(flows)}.",
        ),
        heads=("reason", "units", "meaning"),
        rows=tuple((reason, f"{count:,}", REASONS[reason]) for reason, count in reasons),
        figures=(rate, Estimate.point("moved_money", moved_money, rate.n)),
    )


def moves_section(advice: Advice) -> Section:
    """The moves of most money."""
    logs = advice.logs
    if not advice.moved.any():
        return Section(title="Biggest moves", lines=("The model moves nothing.",))
    money = np.where(advice.moved, advice.moved_share * logs.budget, 0.0)
    top = np.argsort(-money, kind="stable")[: min(BIGGEST, int(advice.moved.sum()))]
    rows = [
        (
            str(logs.units[int(logs.unit_codes[row])].as_py()),
            _change(advice, row),
            f"{money[row]:,.2f}",
            signed(float(advice.gain[row])),
            signed(float(advice.gain_lower[row])),
            plain(float(advice.support[row])),
        )
        for row in top.tolist()
    ]
    return Section(
        title="Biggest moves",
        heads=(logs.schema.unit, "shares", "money moved", "gain", "at least", "support"),
        rows=tuple(rows),
    )


def _change(advice: Advice, row: int) -> str:
    """The channels that change, e.g. `ads 40.0 → 45.0 %`."""
    start = advice.logs.shares[row]
    end = advice.shares[row]
    return ", ".join(
        f"{name} {100 * start[k]:.1f} → {100 * end[k]:.1f} %"
        for k, name in enumerate(advice.logs.schema.channels)
        if abs(end[k] - start[k]) > 5e-4
    )
