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
REMEDY = (
    "Find out whether the data or the business has changed; then learn from newer rows "
    "(`realloc update`)."
)


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
        columns = "1 column has" if len(drifted) == 1 else f"{len(drifted)} columns have"
        yield (
            f"{columns} drifted further than `max_drift` of [publish] allows ({max_drift:g}), most "
            f"{drifted[0]['name']!r}: {drifted[0]['change']}. {REMEDY}"
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


def _drift_lines(drifts: list[dict[str, Any]]) -> Iterator[str]:
    """Which columns have changed and how; the others in one sentence."""
    drifted = [one for one in drifts if one["drifted"]]
    for one in drifted[:SHOWN]:
        yield f"{one['name']} has changed: {one['change']}."
    if len(drifted) > SHOWN:
        yield f"{len(drifted) - SHOWN} further columns have changed as clearly (`--json`)."
    calm = f"{len(drifts) - len(drifted)} of {len(drifts)} columns"
    if any(one["usual"] is None for one in drifts):
        yield (
            f"{calm} look like the training window. How far its periods differ is not known: "
            "it had only one."
        )
    elif drifts:
        yield f"{calm} differ from the training window no more than its own periods do."


def lines(told: dict[str, Any]) -> Iterator[str]:
    """For the console."""
    age = f"{told['age']['days']:.1f} days old"
    yield (
        f"Version {told['version']}, {age}; {told['usable']:,} of {told['rows']:,} rows can "
        "be read."
    )
    if told["drift"] is None:
        yield "Drift against training: not known (the version keeps no summary of its window)."
    else:
        yield from _drift_lines(told["drift"])
    coverage = told["coverage"]
    if coverage:
        verdict = (
            "Mixes are not those of training any more"
            if coverage["fell"]
            else "As expected"
        )
        yield (
            f"Support: {coverage['now']:.1%} of the rows hold a mix like those that were "
            f"logged. {verdict}; {coverage['expected']:.0%} would be usual."
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
