"""Logs: schema, reading, the validated table, splits and the audit."""

from realloc.logs.checks.check import Audit, audit_logs, audit_source
from realloc.logs.checks.finding import Finding
from realloc.logs.checks.limits import AuditConfig
from realloc.logs.reading.read import read_logs
from realloc.logs.schema import Schema
from realloc.logs.split import split_by_time, split_by_unit, unit_folds
from realloc.logs.table import Logs

__all__ = [
    "Audit",
    "AuditConfig",
    "Finding",
    "Logs",
    "Schema",
    "audit_logs",
    "audit_source",
    "read_logs",
    "split_by_time",
    "split_by_unit",
    "unit_folds",
]
