"""What the reader did with a log, held against what it should have done."""

import json
import math
import re
from collections.abc import Callable, Sequence
from datetime import date, datetime
from typing import Any

import realloc
from realloc.logs import Finding
from tests.logs.reference import Row, Verdict

ASIDE = ("zero_budget", "missing_budget", "missing_outcome")
CLASS_NAME = re.compile(
    r"<class|\b[A-Za-z]\w*(Error|Exception|Warning)\b|\bArrow(Invalid|NotImplemented)\b|0x[0-9a-f]{8}"
)


Reader = Callable[..., realloc.Logs]


class Outcome:
    """A reading: logs or a message or something that should never happen."""

    def __init__(
        self,
        source: Any,
        schema: realloc.Schema,
        today: date,
        reader: Reader = realloc.read_logs,
    ) -> None:
        self.logs: realloc.Logs | None = None
        self.message: str | None = None
        self.crash: Exception | None = None
        try:
            self.logs = reader(source, schema, today=today)
        except realloc.LogError as problem:
            self.message = str(problem)
        except Exception as problem:  # a traceback is what this test looks for
            self.crash = problem

    def faults(self, verdict: Verdict | None) -> list[str]:
        """What is wrong with it; without a verdict, any rows will do."""
        if self.crash is not None:
            return [f"traceback: {type(self.crash).__name__}: {self.crash}"]
        if self.message is not None:
            return unclear(self.message)
        assert self.logs is not None
        if verdict is not None and verdict.refused:
            return [f"accepted, must be refused: {verdict.refused}"]
        findings, faults = _checked(self.logs)
        if verdict is None or faults:
            return faults
        return [
            *difference(rows_of(self.logs), verdict.rows),
            *_count_faults(findings, verdict),
        ]


def unclear(message: str) -> list[str]:
    """Why a message is not one clear sentence or list."""
    listed = re.match(r"\d+ problems in the log:\n", message)
    found = []
    if not message.strip() or not message.rstrip().endswith((".", "?", ".)")):
        found.append("does not end as a sentence")
    if not listed and not re.match(r"Expected |Ids in column |Unknown ", message):
        found.append("does not say what was expected")
    if not listed and "\n" in message:
        found.append("has several lines without being a list")
    if "Traceback" in message or CLASS_NAME.search(message):
        found.append("shows the inside of the program")
    if re.search(r"[^.]\.\.(\s|$)", message) or re.search(
        r"(got|converted)[^:]*: Expected ", message
    ):
        found.append("is one message wrapped in another")
    if len(message) > 4000:
        found.append(f"is {len(message)} characters long")
    return [f"unclear message ({', '.join(found)}): {message[:300]!r}"] if found else []


def rows_of(logs: realloc.Logs) -> list[Row]:
    """The rows of logs as plain values, sorted as the reference sorts them."""
    units = [str(value) for value in logs.units.to_pylist()]
    columns = zip(
        [units[code] for code in logs.unit_codes.tolist()],
        logs.times.astype("datetime64[us]").tolist(),
        map(tuple, logs.amounts.tolist()),
        logs.outcome.tolist(),
        logs.budget.tolist(),
        strict=True,
    )
    return sorted(
        (Row(*values) for values in columns), key=lambda row: (row.unit, row.time)
    )


def difference(got: list[Row], expected: tuple[Row, ...]) -> list[str]:
    """How rows differ from those of the reference."""
    if len(got) != len(expected):
        return [f"{len(got)} rows instead of {len(expected)}"]
    return [
        f"{a} instead of {b}" for a, b in zip(got, expected, strict=True) if not _same(a, b)
    ][:1]


def _same(a: Row, b: Row) -> bool:
    """The same key and the same numbers; only sums of spends may differ in the last digit."""
    keys = (a.unit, _as_moment(a.time)) == (b.unit, _as_moment(b.time))
    numbers = zip((*a.spends, a.outcome), (*b.spends, b.outcome), strict=True)
    close = all(math.isclose(x, y, rel_tol=3e-16) for x, y in numbers)
    signs = all(math.copysign(1, spend) > 0 for spend in a.spends)
    return keys and close and signs and math.isclose(a.budget, b.budget, rel_tol=1e-12)


def _as_moment(value: date) -> datetime:
    return (
        value
        if isinstance(value, datetime)
        else datetime(value.year, value.month, value.day)
    )


def _count_faults(findings: Sequence[Finding], verdict: Verdict) -> list[str]:
    """Rows set aside must be reported with their number, and a file that may be cut off, too."""
    counts = {finding.code: finding.rows for finding in findings if finding.code in ASIDE}
    faults = (
        []
        if counts == verdict.aside
        else [f"reports {counts} rows set aside instead of {verdict.aside}"]
    )
    if verdict.cut and "maybe_cut_off" not in {finding.code for finding in findings}:
        faults.append("does not say that the last line has no line end")
    return faults


def _checked(logs: realloc.Logs) -> tuple[Sequence[Finding], list[str]]:
    """The check and its views must work on whatever was accepted, without any warning."""
    try:
        check = logs.check()
        json.dumps(check.to_json()).encode()
        str(check).encode()
        logs.to_arrow().validate(full=True)
    except Exception as problem:
        return (), [f"traceback in the check: {type(problem).__name__}: {problem}"]
    return check.findings, []
