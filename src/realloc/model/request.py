"""What a user asks a model about: rows of today, and the constraints to keep."""

from typing import Any

import numpy as np

from realloc.base.errors import LogError
from realloc.base.simplex import Integers
from realloc.base.validation import from_table
from realloc.decide.constraints.constraints import Constraints
from realloc.logs import Logs, Schema
from realloc.logs.reading.read import load_today
from realloc.model.config import Config


def read_today(today: Any, schema: Schema) -> tuple[Logs, Integers]:
    """Rows to look at, and for each row handed in its place in them."""
    if isinstance(today, Logs):
        return today, np.arange(len(today))
    found = load_today(today, schema)
    if len(found.logs) < found.keys.num_rows:
        first = f": {found.findings[0].what}" if found.findings else ""
        raise LogError(
            f"Expected {found.keys.num_rows:,} rows that can be read, but "
            f"{found.keys.num_rows - len(found.logs):,} "
            f"cannot{first}. Leave them out."
        )
    return found.logs, np.argsort(found.positions, kind="stable")


def read_constraints(given: Any, config: Config) -> Constraints:
    """A `Constraints`, or a mapping with its keys; None: those of the config."""
    if given is None:
        return config.constraints
    return (
        given
        if isinstance(given, Constraints)
        else from_table(Constraints, given, "`constraints`")
    )
