"""`realloc monitor`: one look at a deployment with a window of logs.

Drift, support, age, switch, realised gains.
"""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa

from realloc.base.errors import LogError
from realloc.logs import Logs, read_logs
from realloc.logs.reading.read import load_today
from realloc.logs.reading.source import open_source
from realloc.monitor.age import age_of
from realloc.monitor.coverage import measure_coverage
from realloc.monitor.drift import count_columns, measure
from realloc.monitor.realised import CONTROL, TREATMENT, measure_realised
from realloc.serve.load import LoadedModel, ModelRequest, load_model
from realloc.storage.ledger.join import join
from realloc.storage.ledger.ledger import DECISIONS, Ledger
from realloc.storage.store import Store

SHOWN = 8  # columns


def watch(
    store: Store, window: Any, arm: str | None = None, decisions: Path | None = None
) -> dict[str, Any]:
    """What a window says about the current version, as plain values.

    What is not known is None, never 0.
    """
    loaded = load_model(ModelRequest(store.path, allow_network=store.allow_network))
    record = loaded.record
    states = loaded.states
    limits = loaded.limits
    today = load_today(window, loaded.schema)
    logs = today.logs
    drifts = None
    if states is not None and len(logs):
        drifts = [
            asdict(one)
            for one in measure(
                states, count_columns(states, logs), len(logs) / logs.unit_count
            )
        ]
    age = age_of(record.created, record.windows[-1].last, store.clock())
    coverage = measure_coverage(loaded.model.fitted, logs) if loaded.model else None
    told: dict[str, Any] = {
        "version": record.number,
        "frozen": store.frozen,
        "age": asdict(age),
        "rows": today.keys.num_rows,
        "usable": len(logs),
        "drift": drifts,
        "coverage": asdict(coverage) if coverage else None,
        "realised": _realised(store, window, loaded, arm, decisions),
    }
    return told | {"alarms": list(_alarms(told, limits.max_drift, limits.max_age_days))}


def _realised(
    store: Store, window: Any, loaded: LoadedModel, arm: str | None, decisions: Path | None
) -> dict[str, Any] | str:
    """Decisions against outcomes, or the reason why there is nothing to say."""
    schema = loaded.schema
    ledger = Ledger(decisions or store.path / DECISIONS)
    if not ledger.numbers():
        return "no decisions are logged yet"
    if schema.outcome not in open_source(window, schema.read).columns.names:
        return "the window has no outcome yet"
    logs = read_logs(window, schema)
    joined = join(ledger, logs)
    if not joined.num_rows:
        return "no decision was made on these units and times"
    rules = loaded.model.config.decision if loaded.model else None
    arms = None if arm is None else _arms(window, logs, joined, arm)
    found = measure_realised(
        joined, arms, rules.beta if rules else 0.0, rules.threshold if rules else 0.0
    )
    return asdict(found)


def _arms(window: Any, logs: Logs, joined: pa.Table, arm: str) -> pa.Array:
    """The arm of every joined decision, by its unit."""
    source = open_source(window, logs.schema.read)
    unit = logs.schema.unit
    if arm not in source.columns.names:
        raise LogError(
            f"Expected a column {arm!r} with the arm of each row, but the window has none."
        )
    table = pa.concat_tables(
        [pa.Table.from_batches([piece.batch]) for piece in source.pieces([unit, arm])]
    )
    names = table[unit].cast(pa.string()).to_pylist()
    arms = table[arm].cast(pa.string()).to_pylist()
    strange = sorted({str(name) for name in arms} - {CONTROL, TREATMENT})
    if strange:
        raise LogError(
            f"Expected {CONTROL!r} or {TREATMENT!r} in column {arm!r}, got {strange[0]!r}."
        )
    of_unit = dict(zip(names, arms, strict=True))
    return pa.array([of_unit[name] for name in joined["unit"].to_pylist()], pa.string())


def _alarms(told: dict[str, Any], max_drift: float, max_age: float) -> Iterator[str]:
    if told["frozen"]:
        yield f"The store is frozen since {told['frozen']}."
    drifted = [
        one for one in told["drift"] or () if one["drifted"] and one["excess"] > max_drift
    ]
    if drifted:
        yield (
            f"{len(drifted)} columns have drifted beyond `max_drift` {max_drift:g}, the worst "
            f"{drifted[0]['name']!r}."
        )
    if told["coverage"] and told["coverage"]["fell"]:
        found = told["coverage"]
        yield (
            f"Only {found['now']:.1%} of the rows have shares that the logs support, "
            f"expected {found['expected']:.0%}."
        )
    if told["age"]["days"] > max_age:
        yield f"The version is {told['age']['days']:.0f} days old, `max_age_days` is {max_age:g}."
    realised = told["realised"]
    if (
        isinstance(realised, dict)
        and realised["calibration"]
        and realised["calibration"]["change"] in ("stop", "unranked")
    ):
        yield f"Gains: {realised['calibration']['sentence']}"


def lines(told: dict[str, Any]) -> Iterator[str]:
    """For the console."""
    age = f"{told['age']['days']:.1f} days old"
    yield (
        f"Version {told['version']}, {age}; {told['usable']:,} of {told['rows']:,} rows can "
        "be read."
    )
    if told["drift"] is None:
        yield "Drift against training: not known (the version keeps no summary of its window)."
    for one in (told["drift"] or ())[:SHOWN]:
        usual = "not known" if one["usual"] is None else f"{one['usual']:.3f}"
        mark = "  drifted" if one["drifted"] else ""
        yield (
            f"{one['name']:32} PSI {one['psi']:.3f}, usual up to {usual}, beyond "
            f"{one['excess']:.3f}{mark}"
        )
    coverage = told["coverage"]
    if coverage:
        expected = f"expected {coverage['expected']:.0%}"
        yield (
            f"Support: {coverage['now']:.1%} of the rows hold a mix like those that were "
            f"logged, {expected}."
        )
    realised = told["realised"]
    if isinstance(realised, str):
        yield f"Realised gains: not known, {realised}."
        return
    followed = (
        "not known" if realised["followed"] is None else f"{realised['followed']:.0%}"
    )
    yield (
        f"{realised['joined']:,} decisions have an outcome; advice to move was followed in "
        f"{followed} of them."
    )
    calibration = realised["calibration"]
    why = realised["why_not"]
    yield f"Realised gains: {calibration['sentence'] if calibration else f'not known, {why}.'}"
