"""What an outcome is worth in money, row by row: `worth` and `move_cost` of `[decision]`."""

import numpy as np
import pyarrow as pa

from realloc.base.errors import LogError
from realloc.base.simplex import Floats
from realloc.base.validation import nearest
from realloc.decide.config import DecisionConfig
from realloc.logs import Logs
from realloc.logs.table import as_floats


def worth_of(logs: Logs, config: DecisionConfig) -> Floats | None:
    """Money per unit of the outcome (n,); None where gains stay in units of the outcome.

    A row whose worth is missing or negative gets 0, so nothing is moved there.
    """
    if config.worth is None:
        return np.ones(len(logs)) if config.move_cost else None
    if not isinstance(config.worth, str):
        return np.full(len(logs), float(config.worth))
    if config.worth not in logs.features:
        raise LogError(
            f"Expected `worth` of [decision] to be a number or one of the log's features, got "
            f"{config.worth!r}.{nearest(config.worth, logs.features)}"
        )
    column = logs.table[config.worth]
    if pa.types.is_dictionary(column.type):
        raise LogError(
            f"Expected numbers in {config.worth!r}, the `worth` of an outcome, got categories."
        )
    worth = as_floats(column)
    return np.where(worth >= 0, worth, 0.0)  # NaN compares as False
