"""Reading a log for the report: with the columns that `[report]` names, and even if its propensities are wrong."""

from dataclasses import dataclass, replace
from typing import Any

from realloc.base.errors import LogError
from realloc.evaluate.report.config import ReportConfig
from realloc.logs import Check, CheckConfig, Logs, Schema
from realloc.logs.checks.check import check_logs
from realloc.logs.reading.read import Loaded, OnProgress, explain, load


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
    """Read and check; propensities that are no probabilities cost the report its randomized rows, nothing else."""
    if isinstance(source, Logs):
        return Taken(source, check_logs(source, check))
    loaded, spoiled = _load(source, schema, config, on_progress), ""
    if loaded.logs is None and schema.propensity is not None:
        errors = [finding for finding in loaded.findings if finding.level == "error"]
        if errors and all(finding.column == schema.propensity for finding in errors):
            spoiled = explain(errors)
            loaded = _load(source, replace(schema, propensity=None), config, on_progress)
    if loaded.logs is None:
        raise LogError(explain(loaded.findings))
    features = tuple(
        name for name in loaded.logs.features if name in (schema.features or loaded.logs.features)
    )
    logs = replace(loaded.logs, features=features, notes=loaded.findings)
    return Taken(logs, check_logs(logs, check), spoiled)


def _load(
    source: Any, schema: Schema, config: ReportConfig, on_progress: OnProgress | None
) -> Loaded:
    """Further columns ride along as features that nobody uses."""
    if schema.features is not None:
        taken = {*schema.fixed_columns, *schema.features}
        schema = replace(
            schema,
            features=(*schema.features, *(name for name in config.columns if name not in taken)),
        )
    return load(source, schema, on_progress=on_progress)
