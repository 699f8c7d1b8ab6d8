"""From request bodies to response bodies, by one version.

Whatever fails inside, every row keeps its mix and the reason says so.
"""

import logging
import uuid
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from typing import Any, ParamSpec, TypeVar

import numpy as np
import orjson
import pyarrow as pa

from realloc.base.errors import LedgerError, ReallocError
from realloc.base.simplex import Floats
from realloc.base.validation import from_table
from realloc.decide.constraints.constraints import Constraints
from realloc.decide.types import REASONS, Decision, answer_columns, keep, tabulate
from realloc.logs import Logs
from realloc.logs.plain import PlainLogs
from realloc.logs.reading.read import load_today
from realloc.model.realloc import ReAlloc
from realloc.serve.http.http_error import HttpError
from realloc.serve.http.json_reader import parse
from realloc.serve.http.json_writer import answer_plain_rows, answer_rows
from realloc.serve.http.records import Record
from realloc.serve.http.rows import bad_rows
from realloc.serve.http.versions import LoadedVersion, Versions
from realloc.storage.ledger.rows import Run, log_rows, pack_plain

log = logging.getLogger("realloc.serve.http")

P = ParamSpec("P")
T = TypeVar("T")
Rows = list[dict[str, Any]]

KEYS = {
    "recommend": {"rows"},
    "batch": {"rows"},
    "explain": {"rows"},
    "field": {"rows"},
    "whatif": {"rows", "to"},
}


@dataclass(frozen=True, eq=False)
class ParsedRequest:
    """A request whose JSON has been read, but not yet its rows."""

    route: str
    rows: list[Any]
    options: dict[str, Any]  # constraints, or the shares of a what-if

    @property
    def constraints(self) -> Any:
        """Those that the request brings, or None."""
        return self.options.get("constraints")


@dataclass(frozen=True, eq=False)
class PlainGiven:
    """Rows of a request that were read without a table."""

    rows: list[dict[str, Any]]
    logs: PlainLogs


Given = PlainGiven | pa.Table


class _UnwritableRecords(list[Record]):
    """Takes no record: the decision log cannot be written."""

    def append(self, record: Record) -> None:
        raise LedgerError("the decision log cannot be written")


UNWRITABLE = _UnwritableRecords()


@dataclass(frozen=True)
class Answers:
    """Answers requests with one version."""

    versions: Versions
    current: LoadedVersion
    # of answers that are still to be written to the decision log
    records: list[Record] = field(default_factory=list[Record])
    reasons: Counter[str] = field(default_factory=Counter[str])

    def respond(
        self, bodies: list[tuple[str, bytes]], decided: Callable[[], None] = lambda: None
    ) -> list[bytes | HttpError]:
        """Answer requests, given as route and body; rows are decided on together where possible.

        `decided` is called before the answers are written to the decision log, which waits for the
        disk.
        """
        results = self._respond_all(bodies)
        decided()
        if self._write():
            return results
        unwritable = replace(self, records=UNWRITABLE, reasons=Counter())
        results = unwritable._respond_all(bodies)
        unwritable._count()
        return results

    def _write(self) -> bool:
        """Write down what was decided; whether that was possible."""
        try:
            now = self.versions.clock()
            self.versions.records.keep(self.current.record, self.records, now)
        except Exception as problem:
            self._note_failure(problem)
            return False
        self._count()
        return True

    def _count(self) -> None:
        for reason, count in self.reasons.items():
            label = reason if reason in REASONS else "other"
            self.versions.metrics.answers.labels(label).inc(count)

    def _respond_all(self, bodies: list[tuple[str, bytes]]) -> list[bytes | HttpError]:
        requests = [_or_error(self._parse, route, body) for route, body in bodies]
        joint = [
            request
            for request in requests
            if isinstance(request, ParsedRequest)
            and request.route in ("recommend", "batch")
            and not request.options
        ]
        decided: dict[ParsedRequest, Rows] = {}
        if len(joint) > 1 and not self.current.rows_interact:
            decided = self._decide_together(joint)
        return [
            request
            if isinstance(request, HttpError)
            else _or_error(self._respond, request, decided.get(request))
            for request in requests
        ]

    def _parse(self, route: str, body: bytes) -> ParsedRequest:
        table = parse(body)
        if "rows" not in table and "row" in table:  # the other spelling
            table["rows"] = [table.pop("row")]
        config = self.versions.config
        required = KEYS[route]
        optional = set() if route in ("field", "whatif") else {"constraints"}
        if not required <= table.keys() <= required | optional:
            keys = ", ".join(sorted(required))
            raise HttpError(
                422, "bad_keys", f"Expected the keys {keys} and no unknown one."
            )
        rows = table.pop("rows")
        if type(rows) is not list or not rows:
            raise bad_rows("Expected `rows` to be a list of at least one row.")
        limit = config.batch_rows if route == "batch" else config.rows
        if len(rows) > limit:
            sentence = (
                f"Expected at most {limit} rows in a request. Split it, or use /v1/batch."
            )
            raise HttpError(413, "too_many_rows", sentence)
        if route == "explain" and len(rows) > 1:
            raise bad_rows(f"Expected one row to explain, got {len(rows)}.")
        if "constraints" in table:
            self._check_constraints(table["constraints"])
        return ParsedRequest(route, rows, table)

    def _check_constraints(self, constraints: Any) -> None:
        if not self.versions.config.constraints:
            raise HttpError(
                403,
                "constraints_closed",
                "Requests may not set constraints here; those of the model's config hold "
                "([serve] constraints = false).",
            )
        try:
            wanted = from_table(Constraints, constraints, "`constraints`")
            wanted.check_channels(self.current.schema.channels)
        except ReallocError as problem:
            raise HttpError(422, "bad_constraints", str(problem)) from None
        except (AttributeError, LookupError, TypeError, ValueError, ArithmeticError):
            sentence = "Expected `constraints` as an object of floors, caps and limits."
            raise HttpError(422, "bad_constraints", sentence) from None

    def _decide_together(self, requests: list[ParsedRequest]) -> dict[ParsedRequest, Rows]:
        """Decide on the rows of several requests at once; a request left out is tried alone."""
        decided: dict[ParsedRequest, Rows] = {}
        for given, group in self._read_together(requests):
            with suppress(Exception):  # one bad row must spoil its own request only
                rows = iter(self._decide(given, None))
                decided |= {
                    request: list(islice(rows, len(request.rows))) for request in group
                }
        return decided

    def _read_together(
        self, requests: list[ParsedRequest]
    ) -> list[tuple[Given, list[ParsedRequest]]]:
        """Read rows into one table, or into one per set of column types."""
        read = self.current.columns.table
        with suppress(HttpError):
            return [(self._read([row for one in requests for row in one.rows]), requests)]
        groups: dict[str, list[tuple[pa.Table, ParsedRequest]]] = {}
        for request in requests:
            with suppress(HttpError):  # its client is told when it is answered alone
                table = read(request.rows)
                groups.setdefault(str(table.schema), []).append((table, request))
        return [
            (
                pa.concat_tables([table for table, _ in group]).combine_chunks(),
                [request for _, request in group],
            )
            for group in groups.values()
        ]

    def _respond(self, request: ParsedRequest, decided: Rows | None) -> bytes:
        version = self.current.record
        answer: dict[str, Any] = {"version": version.number, "model": version.model[:16]}
        if request.route == "explain":
            answer |= self._explain(request)
        elif request.route in ("field", "whatif"):
            answer |= self._measure(request)
        else:
            answer["answers"] = decided or self._recommend(request)
        return orjson.dumps(answer, option=orjson.OPT_SERIALIZE_NUMPY)

    def _recommend(self, request: ParsedRequest) -> Rows:
        """Return one answer per row, whatever happens."""
        given = self._read(request.rows, alone=request.constraints is None)
        try:
            return self._decide(given, request.constraints)
        except Exception as problem:
            self._note_failure(problem)
            return self._keep(given, "internal_failure")

    def _read(self, rows: list[Any], alone: bool = True) -> Given:
        """Rows without a table, where they need none and do not change each other's answers."""
        if alone and not self.current.rows_interact:
            logs = self.current.columns.plain(rows)
            if logs is not None:
                return PlainGiven(rows, logs)
        return self.current.columns.table(rows)

    def _decide(self, given: Given, constraints: Any) -> Rows:
        """Return the model's answers, or the current mix where the model may not answer."""
        reason = self.versions.kept_because(self.current)
        if reason is not None:
            return self._keep(given, reason)
        return self._answer(
            given, lambda logs: self.current.decide_request(logs, constraints)
        )

    def _answer(
        self, given: Given, decide: Callable[[Logs], tuple[Decision, dict[str, Any]]]
    ) -> Rows:
        """Decide, note it for the decision log, and return it as it is answered."""
        schema = self.current.schema
        digits = self.current.record.money_digits
        run = Run(uuid.uuid4().hex, self.versions.clock(), self.current.record.number)
        if isinstance(given, PlainGiven):
            logs = given.logs
            decision, settings = decide(logs)
            answers = answer_columns(logs, decision, digits)
            rows = answer_plain_rows(given.rows, answers, schema)
            written = pack_plain(answers, logs, run)
        else:
            today = load_today(given, schema)
            logs = today.logs
            decision, settings = decide(logs)
            table = tabulate(today, decision, digits)
            rows = answer_rows(table, schema)
            written = log_rows(table, today, 0, run)
        self.records.append(Record(logs.schema, settings, written))
        self.reasons.update(row["reason"] for row in rows)
        return rows

    def _keep(self, given: Given, reason: str) -> Rows:
        """Answer every row with the mix that it has."""
        schema = self.current.schema
        try:
            return self._answer(given, lambda logs: (keep(logs, reason), {"kept": reason}))
        except Exception as problem:
            self._note_failure(problem)
        table = given.logs.to_arrow() if isinstance(given, PlainGiven) else given
        self.reasons[reason] += table.num_rows
        return [
            {
                "unit": row[schema.unit],
                "time": row[schema.time],
                "moved": False,
                "reason": reason,
                "gain": 0.0,
                "given": {name: row[name] for name in schema.channels},
            }
            for row in table.to_pylist()
        ]

    def _explain(self, request: ParsedRequest) -> dict[str, Any]:
        rows = self._recommend(request)
        if "limited_by" in rows[0]:  # the model has answered
            table = self.current.columns.table(request.rows)
            unit = table[self.current.schema.unit][0].as_py()
            explanation, _ = self._ask(
                lambda model: model.explain(table, unit, request.constraints)
            )
            if explanation is not None:
                transfers = [asdict(transfer) for transfer in explanation.transfers]
                return {
                    "answers": rows,
                    "transfers": transfers,
                    "lines": explanation.lines(),
                }
        reason = rows[0]["reason"]
        line = f"{reason}: {REASONS.get(reason, 'nothing is moved')}"
        return {"answers": rows, "transfers": [], "lines": [line]}

    def _measure(self, request: ParsedRequest) -> dict[str, Any]:
        """The field at rows, or what it is worth to move them."""
        table = self.current.columns.table(request.rows)
        if request.route == "field":
            values, reason = self._ask(lambda model: _finite(model.field(table)))
            channels = self.current.schema.channels
            fields = values and [dict(zip(channels, row, strict=True)) for row in values]
            return {"fields": fields, "reason": reason}
        to = self.current.columns.shares(request.options["to"], len(request.rows))
        gains, reason = self._ask(lambda model: _finite(model.gain(table, to)))
        return {"gains": gains, "reason": reason}

    def _ask(self, ask: Callable[[ReAlloc], T]) -> tuple[T | None, str | None]:
        """Return what the model says, or None and the reason why it says nothing."""
        reason = self.versions.kept_because(self.current)
        model = self.current.model
        if model is None or reason is not None:
            return None, reason
        try:
            return ask(model), None
        except ReallocError:
            raise bad_rows(
                "Expected rows that can be read: spends of at least 0, shares that sum to 1."
            ) from None
        except Exception as problem:
            self._note_failure(problem)
            return None, "internal_failure"

    def _note_failure(self, problem: Exception) -> None:
        self.versions.metrics.failures.inc()
        debug = log.isEnabledFor(logging.DEBUG)
        name = type(problem).__name__
        log.error("the mix is kept after an internal failure: %s", name, exc_info=debug)


def _finite(values: Floats) -> list[Any]:
    if not np.isfinite(values).all():
        raise ArithmeticError("a number that is not finite")
    return values.tolist()


def _or_error(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | HttpError:
    try:
        return call(*args, **kwargs)
    except HttpError as error:
        return error
