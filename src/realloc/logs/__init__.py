"""Logs: schema, reading, the validated table, splits and the check."""

from realloc.logs.checks.check import Check, check_logs, check_source
from realloc.logs.checks.finding import Finding
from realloc.logs.checks.limits import CheckConfig
from realloc.logs.guess import guess_schema
from realloc.logs.reading.options import ReadOptions
from realloc.logs.reading.read import read_logs
from realloc.logs.schema import Schema
from realloc.logs.split import split_by_time, split_by_unit, unit_folds
from realloc.logs.table import Logs

__all__ = [
    "Check",
    "CheckConfig",
    "Finding",
    "Logs",
    "ReadOptions",
    "Schema",
    "check_logs",
    "check_source",
    "guess_schema",
    "read_logs",
    "split_by_time",
    "split_by_unit",
    "unit_folds",
]
