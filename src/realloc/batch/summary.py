"""What a run did, in plain values for JSON and in a few lines for people."""

from collections.abc import Iterator
from dataclasses import asdict
from datetime import datetime
from typing import Any

from realloc.batch.tally import Tally
from realloc.decide.types import REASONS
from realloc.monitor.age import age_of
from realloc.monitor.drift import measure, worst
from realloc.storage.store import Version

UNKNOWN = "not known"


def summarise(
    tally: Tally,
    channels: tuple[str, ...],
    record: Version,
    states: dict[str, Any] | None,
    now: datetime,
) -> dict[str, Any]:
    """The figures of a run; what cannot be told is None, never 0."""
    usable = max(tally.usable, 1)
    flows = {
        f"{a} → {b}": round(tally.flows[i][j], 2)
        for i, a in enumerate(channels)
        for j, b in enumerate(channels)
        if tally.flows and tally.flows[i][j] > 0
    }
    return {
        "rows": tally.rows,
        "usable": tally.usable,
        "bad_rows": tally.rows - tally.usable,
        "bad_rows_share": (tally.rows - tally.usable) / max(tally.rows, 1),
        "duplicates": tally.duplicates,
        "moved": tally.moved,
        "action_rate": tally.moved / usable if tally.usable else None,
        "money": round(tally.money, 2),
        "moved_money": round(tally.moved_money, 2),
        "moved_share": tally.moved_money / tally.money if tally.money else None,
        "moved_by_pair": dict(sorted(flows.items(), key=lambda pair: -pair[1])),
        "gain": tally.gain,
        "gain_lower": tally.gain_lower,
        "reasons": dict(sorted(tally.reasons.items(), key=lambda pair: -pair[1])),
        "support_coverage": tally.supported / usable
        if tally.usable and tally.supported is not None
        else None,
        "bad_input": {
            code: {"rows": tally.findings[code], "first": tally.first[code]}
            for code in tally.findings
        },
        "drift": _drift(tally, states),
        "version": record.number,
        "age": asdict(age_of(record.created, record.windows[-1].last, now)),
    }


def _drift(tally: Tally, states: dict[str, Any] | None) -> dict[str, Any] | None:
    """Of states and shares against the training window; None where its summary is not there."""
    if states is None or not tally.states:
        return None
    found = measure(states, tally.states)
    told: dict[str, Any] = {}
    for group in ("state", "shares"):
        one = worst(found, group)
        told[group] = asdict(one) if one else None
    told["drifted"] = [drift.name for drift in found if drift.drifted]
    told["columns"] = {drift.name: round(drift.psi, 6) for drift in found}
    return told


def largest_drift(told: dict[str, Any]) -> tuple[str, float] | None:
    """The column that is farthest beyond what is usual, and by how much; None where it is not known."""
    drift = told["drift"]
    if drift is None:
        return None
    found = [one for one in (drift["state"], drift["shares"]) if one]
    one = max(found, key=lambda drift: drift["excess"])
    return one["name"], one["excess"]


def lines(told: dict[str, Any]) -> Iterator[str]:
    """For the console."""
    money, moved = told["money"], told["moved_share"]
    yield (
        f"Expected gain {told['gain']:,.4g} in all (at least {told['gain_lower']:,.4g}); "
        f"{told['moved_money']:,.2f} of {money:,.2f} change hands{f' ({moved:.1%})' if moved is not None else ''}."
    )
    for pair, amount in list(told["moved_by_pair"].items())[:6]:
        yield f"{pair:24}{amount:16,.2f}"
    for reason, count in told["reasons"].items():
        yield f"{reason:12}{count:9,}  {REASONS[reason]}"
    for code, found in told["bad_input"].items():
        yield f"{code}: {found['first']}"
    coverage, largest, age = told["support_coverage"], largest_drift(told), told["age"]
    supported = UNKNOWN if coverage is None else f"{coverage:.1%} of the rows"
    drift = UNKNOWN if largest is None else f"{largest[1]:.3f} beyond usual at most ({largest[0]})"
    yield f"Own mix supported: {supported}. Drift of states against training: {drift}."
    yield f"Version {told['version']}, made {age['days']:.1f} days ago."
