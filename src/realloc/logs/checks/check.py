"""The check of a log: everything found while reading it and by looking at it as a whole."""

from dataclasses import asdict, dataclass, replace
from datetime import date
from typing import Any

from realloc.base.errors import LogError
from realloc.base.version import __version__
from realloc.logs.checks.finding import Finding, Level
from realloc.logs.checks.limits import CheckConfig
from realloc.logs.checks.variation import Variation, measure
from realloc.logs.checks.whole_log import CHECKS
from realloc.logs.reading.read import Loaded, OnProgress, explain, load
from realloc.logs.schema import Schema
from realloc.logs.table import Logs

ORDER: tuple[Level, ...] = ("error", "warning", "info")


@dataclass(frozen=True)
class Check:
    """Findings, errors first, and what the log covers (None where it could not be read)."""

    findings: tuple[Finding, ...]
    variation: Variation | None
    features: tuple[str, ...] = ()
    schema: Schema | None = None

    @property
    def errors(self) -> tuple[Finding, ...]:
        """What stops a fit."""
        return tuple(finding for finding in self.findings if finding.level == "error")

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """What is risky."""
        return tuple(finding for finding in self.findings if finding.level == "warning")

    @property
    def ok(self) -> bool:
        """Whether a policy may be learned from the log."""
        return not self.errors

    def require(self) -> None:
        """Raise `LogError` with every error, if there is one."""
        if self.errors:
            raise LogError(explain(self.errors))

    def to_json(self) -> dict[str, Any]:
        """As plain values, for machines."""
        grouped = {
            f"{level}s": [f.to_json() for f in self.findings if f.level == level] for level in ORDER
        }
        variation = None if self.variation is None else self.variation.to_json()
        schema = None if self.schema is None else asdict(self.schema)
        return {
            "version": __version__,
            "ok": self.ok,
            **grouped,
            "schema": schema,
            "features": list(self.features),
            "variation": variation,
        }

    def __str__(self) -> str:
        lines = [f"errors: {len(self.errors)}, warnings: {len(self.warnings)}"]
        if self.variation:
            lines.insert(0, self.variation.sentence)
        return "\n".join(
            lines + [f"{finding.level}: {finding.sentence}" for finding in self.findings]
        )


def check_logs(logs: Logs, config: CheckConfig | None = None) -> Check:
    """Check a log that was read."""
    config = config or CheckConfig()
    if not len(logs):
        what = "Expected rows, but this part of the log is empty"
        empty = Finding(
            code="no_rows",
            level="error",
            what=what,
            meaning="Nothing can be learned.",
            advice="Choose another split.",
        )
        return Check((empty,), None, logs.features, logs.schema)
    variation = measure(logs)
    found = [
        *logs.notes,
        *(finding for check in CHECKS.values() for finding in check(logs, variation, config)),
    ]
    return Check(_sorted(found), variation, logs.features, logs.schema)


def check_source(
    source: Any,
    schema: Schema,
    config: CheckConfig | None = None,
    *,
    on_progress: OnProgress | None = None,
    today: date | None = None,
) -> Check:
    """Check anything that `read_logs` takes, without raising for what its rows hold."""
    return check_loaded(load(source, schema, on_progress=on_progress, today=today), schema, config)


def check_loaded(loaded: Loaded, schema: Schema, config: CheckConfig | None = None) -> Check:
    """Check what came of reading."""
    if loaded.logs is None:
        return Check(_sorted(loaded.findings), None, loaded.features, schema)
    return check_logs(replace(loaded.logs, notes=loaded.findings), config)


def _sorted(findings: Any) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=lambda finding: ORDER.index(finding.level)))
