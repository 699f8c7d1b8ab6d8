"""Logs of the common test frame."""

from dataclasses import replace
from datetime import date

from realloc import read_logs
from tests.conftest import SPENDS


def logs_of(frame, **changes):
    return read_logs(frame, replace(SPENDS, **changes), today=date(2100, 1, 1))
