"""The check of a log: everything found while reading it and by looking at it as a whole."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

from realloc.base.errors import LogError
from realloc.base.numbers import counted, percent
from realloc.base.numerics.blas import one_blas_thread
from realloc.base.version import __version__
from realloc.draw import Bullets, DataTable, PagePiece, Shown, VerdictBox
from realloc.logs.checks.finding import Finding, Level
from realloc.logs.checks.limits import CheckConfig
from realloc.logs.checks.variation import Variation, measure
from realloc.logs.checks.whole_log import CHECKS
from realloc.logs.reading.read import Loaded, explain, load
from realloc.logs.schema import Schema
from realloc.logs.table import Logs

ORDER: tuple[Level, ...] = ("error", "warning", "info")


@dataclass(frozen=True)
class Check(Shown):
    """Findings, errors first, and how the log varies (None where it could not be read)."""

    findings: tuple[Finding, ...]
    variation: Variation | None
    features: tuple[str, ...] = ()
    schema: Schema | None = None

    @property
    def errors(self) -> tuple[Finding, ...]:
        """What stops a fit."""
        return self._of_level("error")

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """What is risky."""
        return self._of_level("warning")

    def _of_level(self, level: Level) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.level == level)

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
        return {
            "version": __version__,
            "ok": self.ok,
            **{f"{level}s": [asdict(f) for f in self._of_level(level)] for level in ORDER},
            "schema": asdict(self.schema) if self.schema else None,
            "features": list(self.features),
            "variation": asdict(self.variation) if self.variation else None,
        }

    def pieces(self) -> list[PagePiece]:
        """The verdict, every finding with what to do, and how the channels vary."""
        errors = counted(len(self.errors), "error")
        warnings = counted(len(self.warnings), "warning")
        verdict = "Ready to learn from" if self.ok else "Not ready to learn from"
        tone = "bad" if self.errors else "wait" if self.warnings else "good"
        pieces: list[PagePiece] = [VerdictBox(f"{verdict}: {errors}, {warnings}.", tone)]
        if self.findings:
            pieces.append(Bullets([f"{f.level}: {f.sentence}" for f in self.findings]))
        if self.variation:
            pieces.append(_channels_table(self.variation))
        return pieces

    def __str__(self) -> str:
        lines = [self.variation.sentence] if self.variation else []
        lines.append(f"errors: {len(self.errors)}, warnings: {len(self.warnings)}")
        lines += [f"{finding.level}: {finding.sentence}" for finding in self.findings]
        return "\n".join(lines)


def _channels_table(variation: Variation) -> DataTable:
    heads = ("channel", "rows used", "mean share", "5 to 95 % of rows", "within units")
    rows = [
        (
            channel.channel,
            percent(channel.rows_used),
            percent(channel.mean_share),
            f"{percent(channel.p05)} to {percent(channel.p95)}",
            f"{100 * channel.spread_within:.1f} points",
        )
        for channel in variation.channels
    ]
    note = "Within units: the standard deviation of a unit's share over time."
    return DataTable(heads, rows, variation.sentence, note)


def check_logs(logs: Logs, config: CheckConfig | None = None) -> Check:
    """Check a log that was read."""
    if not len(logs):
        empty = Finding(
            "no_rows",
            "error",
            "Expected rows, but this part of the log is empty",
            "Nothing can be learned.",
            "Choose another split.",
        )
        return Check((empty,), None, logs.features, logs.schema)
    findings = list(logs.notes)
    with one_blas_thread:  # products are too small to gain from more
        variation = measure(logs)
        for check in CHECKS:
            findings += check(logs, variation, config or CheckConfig())
    return Check(_sorted(findings), variation, logs.features, logs.schema)


def check_source(source: Any, schema: Schema, config: CheckConfig | None = None) -> Check:
    """Check anything that `read_logs` takes, without raising for what its rows hold."""
    return check_loaded(load(source, schema), schema, config)


def check_loaded(
    loaded: Loaded, schema: Schema, config: CheckConfig | None = None
) -> Check:
    """Check what came of reading."""
    if loaded.logs is None:
        return Check(_sorted(loaded.findings), None, loaded.features, schema)
    return check_logs(replace(loaded.logs, notes=loaded.findings), config)


def _sorted(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=lambda finding: ORDER.index(finding.level)))
