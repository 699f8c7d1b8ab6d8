"""From rows to answers, by one version; whatever fails inside, the mix is kept and the reason said."""

import json
import logging
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from realloc.base.errors import ReallocError
from realloc.decide.types import REASONS, Decision, keep, tabulate
from realloc.logs.reading.read import Today, load_today
from realloc.model.request import read_constraints
from realloc.serve.http.fast_json import parse
from realloc.serve.http.http_error import Refusal
from realloc.serve.http.json_writer import join_rows, list_rows
from realloc.serve.http.rows import check_rows
from realloc.serve.http.versions import Current, Versions
from realloc.serve.scorer import settings_of

log = logging.getLogger("realloc.serve.http")

Found = TypeVar("Found")
Rows = Sequence[bytes | None]  # answers as JSON; None: one that holds a number that is none

KEYS = {
    "recommend": {"rows"},
    "batch": {"rows"},
    "explain": {"row"},
    "field": {"rows"},
    "whatif": {"rows", "to"},
}


@dataclass(frozen=True)
class Opened:
    """A request whose rows are still as they came."""

    route: str
    rows: list[Any]
    further: dict[str, Any]


@dataclass(frozen=True, eq=False)
class Asked:
    """A request that can be answered: its route, where its rows stand in a table, and what else it says."""

    route: str
    read: pa.Table  # with the rows of others that were read together with it
    first: int
    rows: int
    further: dict[str, Any]

    @property
    def table(self) -> pa.Table:
        """Its own rows."""
        return (
            self.read if self.rows == self.read.num_rows else self.read.slice(self.first, self.rows)
        )

    @property
    def joins(self) -> bool:
        """Whether it may be scored together with others."""
        return self.route in ("recommend", "batch") and "constraints" not in self.further


def read(
    versions: Versions, current: Current, bodies: list[tuple[str, bytes]]
) -> list[Asked | Refusal]:
    """Read bodies as strictly as can be: all their rows at once, and each request alone where one of them cannot be read."""
    opened = [_or_refusal(lambda one=one: _open(versions, *one)) for one in bodies]
    rows = [row for one in opened if isinstance(one, Opened) for row in one.rows]
    table = _table_or_none(current, rows)
    found: list[Asked | Refusal] = []
    first = 0
    for one in opened:
        if isinstance(one, Refusal):
            found.append(one)
            continue
        found.append(
            _or_refusal(lambda one=one, first=first: _close(versions, current, one, table, first))
        )
        first += len(one.rows)
    return found


def _table_or_none(current: Current, rows: list[Any]) -> pa.Table | None:
    with suppress(Refusal):  # each alone will say it of its own row
        return current.columns.table(rows) if rows else None
    return None


def _or_refusal(work: Callable[[], Found]) -> Found | Refusal:
    try:
        return work()
    except Refusal as refusal:
        return refusal


def _open(versions: Versions, route: str, body: bytes) -> "Opened":
    """What a body says, before its rows are read."""
    told, config = parse(body), versions.config
    wanted = KEYS[route]
    allowed = wanted | ({"constraints"} if route not in ("field", "whatif") else set())
    if not wanted <= told.keys() <= allowed:
        raise Refusal(
            422, "bad_keys", f"Expected the keys {', '.join(sorted(wanted))} and no unknown one."
        )
    rows = [told["row"]] if route == "explain" else told["rows"]
    further = {name: value for name, value in told.items() if name not in ("row", "rows")}
    return Opened(
        route, check_rows(rows, config.batch_rows if route == "batch" else config.rows), further
    )


def _close(
    versions: Versions, current: Current, opened: "Opened", table: pa.Table | None, first: int
) -> Asked:
    """A request with its rows as a table, and what else it says checked."""
    further = opened.further
    if table is None:
        table, first = current.columns.table(opened.rows), 0
    if "constraints" in further:
        _check_constraints(current, versions.config.constraints, further["constraints"])
    if opened.route == "whatif":
        further = further | {"to": current.columns.shares(further["to"], len(opened.rows))}
    return Asked(opened.route, table, first, len(opened.rows), further)


def answer(versions: Versions, current: Current, asked: list[Asked]) -> list[bytes]:
    """The answers to some requests as JSON; those that join are scored together, and each alone where that fails."""
    found: dict[Asked, Rows] = {}
    for group in _groups(current, [one for one in asked if one.joins]):
        if len(group) > 1:
            with suppress(
                Exception
            ):  # one of them may be poison: alone it spoils nothing but itself
                rows = _decide(versions, current, _together(group), None)
                ends = np.cumsum([one.rows for one in group]).tolist()
                found |= {
                    one: rows[end - one.rows : end] for one, end in zip(group, ends, strict=True)
                }
    return [_body(versions, current, one, found.get(one)) for one in asked]


def _groups(current: Current, asked: list[Asked]) -> list[list[Asked]]:
    """Requests of the same types of columns; each alone where its rows see each other."""
    if _alone(current):
        return [[one] for one in asked]
    types = {id(one.read): one.read for one in asked}  # once for all that were read together
    types = {place: read.schema.to_string() for place, read in types.items()}
    groups: dict[str, list[Asked]] = {}
    for one in asked:
        groups.setdefault(types[id(one.read)], []).append(one)
    return list(groups.values())


def _together(group: list[Asked]) -> pa.Table:
    """The rows of some requests one after the other, in one piece: else each would be read alone."""
    read = group[0].read
    if all(one.read is read for one in group) and sum(one.rows for one in group) == read.num_rows:
        return read  # they were read together, and nobody else was
    return pa.concat_tables([one.table for one in group]).combine_chunks()


def _alone(current: Current) -> bool:
    """Whether rows of one request see each other: with lags, or under a cap over all rows."""
    if current.scorer is None:
        return False
    capped = current.scorer.config.constraints.largest_move_per_day is not None
    return capped or current.scorer.state.encoder.history is not None


def _body(versions: Versions, current: Current, one: Asked, rows: Rows | None) -> bytes:
    named = {"version": current.version.number, "model": current.version.model[:16]}
    if one.route in ("recommend", "batch"):
        return join_rows(json.dumps(named).encode(), _finite(versions, current, one, rows))
    return json.dumps(
        named | _other(versions, current, one), ensure_ascii=False, allow_nan=False
    ).encode()


def _finite(versions: Versions, current: Current, one: Asked, rows: Rows | None) -> list[bytes]:
    """One answer a row, whatever happens; nothing is moved where a number is none."""
    if rows is None:
        rows = _recommend(versions, current, one.table, one.further.get("constraints"))
    told = [row for row in rows if row is not None]
    if len(told) < len(rows):
        _note_failure(versions, ArithmeticError("no number"))
        told = [
            row
            for row in _keep(versions, current, one.table, "internal_failure")
            if row is not None
        ]
    return told


def _recommend(versions: Versions, current: Current, table: pa.Table, constraints: Any) -> Rows:
    """One answer a row, whatever happens."""
    try:
        return _decide(versions, current, table, constraints)
    except Exception as problem:
        _note_failure(versions, problem)
        return _keep(versions, current, table, "internal_failure")


def _decide(versions: Versions, current: Current, table: pa.Table, constraints: Any) -> Rows:
    """The model's answers, or the mix as it is where the model may not answer."""
    reason, scorer = kept_because(versions, current), current.scorer
    if scorer is None or reason is not None:
        return _keep(versions, current, table, reason or "no_model")
    wanted, today = read_constraints(constraints, scorer.config), load_today(table, current.schema)
    decision = scorer.decide(today.logs, wanted)
    settings = (
        current.settings
        if constraints is None
        else settings_of(replace(scorer.config, constraints=wanted))
    )
    return _told(versions, current, today, decision, settings | {"by_request": _alone(current)})


def _told(
    versions: Versions, current: Current, today: Today, decision: Decision, settings: dict[str, Any]
) -> Rows:
    """A decision as it is answered, written down before."""
    answers = tabulate(today, decision, current.money_digits)
    versions.records.keep(current.version, today, answers, settings, versions.clock())
    for reason, count in Counter(answers["reason"].to_pylist()).items():
        versions.metrics.answers.labels(reason if reason in REASONS else "other").inc(count)
    return list_rows(answers, current.schema)


def kept_because(versions: Versions, current: Current) -> str | None:
    """Why every mix is kept for now: frozen, no model, too old; None where the model may answer."""
    if versions.why_frozen() is not None:
        return "frozen"
    if current.scorer is None:
        return "no_model"
    return "stale_model" if versions.is_stale() else None


def _keep(versions: Versions, current: Current, table: pa.Table, reason: str) -> Rows:
    """The mix of every row as it is."""
    try:
        today = load_today(table, current.schema)
        return _told(versions, current, today, keep(today.logs, reason), {"kept": reason})
    except Exception as problem:
        _note_failure(versions, problem)
    channels = current.schema.channels
    asked = table.select([current.schema.unit, current.schema.time, *channels]).to_pylist()
    versions.metrics.answers.labels(reason).inc(len(asked))
    kept = {"moved": False, "reason": reason, "gain": 0.0}
    return [
        json.dumps(
            {"unit": row[current.schema.unit], "time": row[current.schema.time]}
            | kept
            | {"given": {name: row[name] for name in channels}},
            ensure_ascii=False,
        ).encode()
        for row in asked
    ]


def _other(versions: Versions, current: Current, one: Asked) -> dict[str, Any]:
    """Explanations, fields and gains of wanted shares; where the model may not answer, the reason."""
    reason, scorer = kept_because(versions, current), current.scorer
    if one.route == "explain":
        rows = [json.loads(row) for row in _finite(versions, current, one, None)]
        if (
            scorer is not None and "binding" in rows[0]
        ):  # a model has answered: no mix that is kept has this
            unit = one.table[current.schema.unit][0].as_py()
            told = _try(
                versions, lambda: scorer.explain(one.table, unit, one.further.get("constraints"))
            )
            if told is not None:
                return {
                    "answers": rows,
                    "transfers": [asdict(step) for step in told.transfers],
                    "lines": told.lines(),
                }
        why = rows[0]["reason"]
        return {
            "answers": rows,
            "transfers": [],
            "lines": [f"{why}: {REASONS.get(why, 'nothing is moved')}"],
        }
    name = "fields" if one.route == "field" else "gains"
    if scorer is None or reason is not None:
        return {name: None, "reason": reason or "no_model"}
    if one.route == "field":
        found = _try(versions, lambda: scorer.field(one.table))
        channels = current.schema.channels
        values = (
            None
            if found is None
            else [dict(zip(channels, row, strict=True)) for row in found.tolist()]
        )
    else:
        found = _try(versions, lambda: scorer.gain(one.table, one.further["to"]))
        values = None if found is None else found.tolist()
    return {name: values, "reason": None if values is not None else "internal_failure"}


def _try(versions: Versions, ask: Callable[[], Any]) -> Any:
    """What the model says; None where it fails or says no numbers. Rows that cannot be read are a refusal."""
    try:
        found = ask()
        if isinstance(found, np.ndarray) and not np.isfinite(found).all():
            raise ArithmeticError("no number")
        return found
    except ReallocError:
        raise Refusal(
            422,
            "bad_rows",
            "Expected rows that can be read: spends of at least 0, shares that sum to 1.",
        ) from None
    except Exception as problem:
        _note_failure(versions, problem)
        return None


def _check_constraints(current: Current, allowed: bool, given: Any) -> None:
    """Refuse constraints that cannot be kept, or where requests may bring none."""
    if not allowed:
        sentence = "Requests may not bring constraints here; those of the model's config hold ([serve] constraints = false)."
        raise Refusal(403, "constraints_closed", sentence)
    from realloc.base.validation import from_table
    from realloc.decide.constraints.constraints import Constraints

    try:
        from_table(Constraints, given, "`constraints`").check_channels(current.schema.channels)
    except ReallocError as problem:
        raise Refusal(422, "bad_constraints", str(problem)) from None
    except (AttributeError, LookupError, TypeError, ValueError, ArithmeticError):
        raise Refusal(
            422,
            "bad_constraints",
            "Expected `constraints` as an object of floors, caps and limits.",
        ) from None


def _note_failure(versions: Versions, problem: Exception) -> None:
    versions.metrics.failures.inc()
    log.error(
        "the mix is kept after an internal failure: %s",
        type(problem).__name__,
        exc_info=log.isEnabledFor(logging.DEBUG),
    )


def timed(versions: Versions, work: Callable[[], Any]) -> Any:
    """Count what deciding takes."""
    begun = time.thread_time()
    try:
        return work()
    finally:
        versions.metrics.scoring.inc(time.thread_time() - begun)
