"""Reading a log for the report: with the columns of `[report]`,
and even if its propensities are wrong.
"""

from dataclasses import dataclass, replace
from typing import Any

from realloc.base.errors import LogError
from realloc.evaluate.report.config import ReportConfig
from realloc.logs import Check, CheckConfig, Logs, Schema
from realloc.logs.checks.check import check_logs
from realloc.logs.reading.read import OnProgress, explain, load


@dataclass(frozen=True, eq=False)
class Taken:
    """The log, its check, and why its propensities cannot be used where that is so."""

    logs: Logs
    check: Check
    spoiled: str = ""


def take_logs(
    source: Any,
    schema: Schema,
    config: ReportConfig,
    check: CheckConfig,
    on_progress: OnProgress | None = None,
) -> Taken:
    """Read and check; wrong propensities cost the report its randomized rows, nothing else."""
    if isinstance(source, Logs):
        return Taken(source, check_logs(source, check))
    features = schema.features
    if features is not None:  # columns of [report] ride along as features that nobody uses
        known = {*schema.fixed_columns, *features}
        further = [name for name in config.columns if name not in known]
        schema = replace(schema, features=(*features, *further))
    loaded = load(source, schema, on_progress=on_progress)
    spoiled = ""
    errors = [finding for finding in loaded.findings if finding.level == "error"]
    columns = {finding.column for finding in errors}
    if (
        loaded.logs is None
        and schema.propensity is not None
        and columns == {schema.propensity}
    ):
        spoiled = explain(errors)
        loaded = load(source, replace(schema, propensity=None), on_progress=on_progress)
    if loaded.logs is None:
        raise LogError(explain(loaded.findings))
    logs = replace(loaded.logs, notes=loaded.findings)
    if features is not None:
        used = tuple(name for name in logs.features if name in features)
        logs = replace(logs, features=used)
    return Taken(logs, check_logs(logs, check), spoiled)
