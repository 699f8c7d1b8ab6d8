"""The columns of a recommendation in their order: what to do, how sure it is, and why.

Tables carry these words in the metadata of their fields, so a Parquet file explains itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import pyarrow as pa

from realloc.base.errors import LogError
from realloc.logs import Schema

DO = "what to do"
SURE = "how sure"
WHY = "why"


@dataclass(frozen=True)
class AdviceColumn:
    """A column of a recommendation."""

    group: str
    kind: pa.DataType
    meaning: str


SHARE = AdviceColumn(DO, pa.float64(), "recommended part of the budget, from 0 to 1")
SPEND = AdviceColumn(DO, pa.float64(), "recommended money; the channels sum to the budget")
ROW_COLUMNS = {
    "moved": AdviceColumn(DO, pa.bool_(), "whether the split changes"),
    "moved_share": AdviceColumn(DO, pa.float64(), "part of the budget that changes hands"),
    "steps": AdviceColumn(DO, pa.int64(), "number of transfers between two channels"),
    "gain": AdviceColumn(
        SURE, pa.float64(), "expected extra outcome; 0 where nothing moves"
    ),
    "gain_lower": AdviceColumn(
        SURE, pa.float64(), "lower bound of this row's gain; do not add these up"
    ),
    "gain_error": AdviceColumn(
        SURE, pa.float64(), "standard deviation of this row's gain; 0 where nothing moves"
    ),
    "common_error": AdviceColumn(
        SURE, pa.float64(), "how far all gains may be off together, in parts of them"
    ),
    "worth": AdviceColumn(SURE, pa.float64(), "money per unit of the outcome, if given"),
    "money_gain": AdviceColumn(
        SURE, pa.float64(), "the gain in money, less what the move costs; if worth is given"
    ),
    "money_gain_lower": AdviceColumn(
        SURE, pa.float64(), "lower bound of money_gain; do not add these up"
    ),
    "robustness": AdviceColumn(
        SURE,
        pa.float64(),
        "part of unexplained outcome and move that a hidden cause must explain to undo the gain",
    ),
    "support": AdviceColumn(
        SURE, pa.float64(), "how well the logs cover the whole move, from 0 to 1"
    ),
    "calibration": AdviceColumn(
        SURE, pa.string(), "what the lower bound was calibrated on"
    ),
    "reason": AdviceColumn(WHY, pa.string(), "why the split was changed or kept"),
    "limited_by": AdviceColumn(WHY, pa.string(), "the rule that stood in the way, if any"),
    "best_move": AdviceColumn(
        WHY, pa.string(), "most promising first transfer, allowed or not"
    ),
    "best_move_gain": AdviceColumn(
        WHY, pa.float64(), "expected extra outcome of best_move"
    ),
    "best_move_error": AdviceColumn(
        WHY, pa.float64(), "standard deviation of best_move_gain"
    ),
    "directional_support": AdviceColumn(
        WHY, pa.float64(), "how near logged moves like best_move lie, from 0 to 1"
    ),
    "similar_moves": AdviceColumn(WHY, pa.int64(), "how many logged moves are like it"),
    "similar_rows": AdviceColumn(WHY, pa.string(), "unit and time of the nearest of them"),
}

IN_MONEY = ("worth", "money_gain", "money_gain_lower")  # only where an outcome has a worth


def check_names(schema: Schema) -> None:
    """Refuse keys that are named like a column of the answer."""
    own = {*ROW_COLUMNS, *schema.share_columns, *schema.spend_columns}
    keys = [schema.unit, schema.time]
    if schema.channel_column is not None:
        own |= {"share", "spend"}
        keys.append(schema.channel_column)
    taken = next((name for name in keys if name in own), None)
    if taken is not None:
        raise LogError(
            f"Expected other names for the columns of units and dates than those of a "
            f"recommendation, got {taken!r}. Rename that column, in the log and in [schema]."
        )


def arrange(answers: pa.Table, schema: Schema) -> pa.Table:
    """Columns in their order and with their words: keys, shares and spends, the others."""
    known = known_columns(schema)
    answers = answers.select(in_order(tuple(answers.column_names), schema))
    fields = [_with_words(field, known.get(field.name)) for field in answers.schema]
    return answers.cast(pa.schema(fields, metadata=answers.schema.metadata))


@lru_cache(maxsize=32)
def in_order(names: tuple[str, ...], schema: Schema) -> tuple[str, ...]:
    """The names of an answer's columns in their order."""
    known = known_columns(schema)
    others = [name for name in names if name not in known]
    return (*others, *(name for name in known if name in names))


def complete(answers: pa.Table, schema: Schema) -> pa.Table:
    """Bring answers to the same columns, whoever gave them; those in money stay as they are."""
    for name, column in ROW_COLUMNS.items():
        if name not in (*answers.column_names, *IN_MONEY):
            answers = answers.append_column(name, pa.nulls(answers.num_rows, column.kind))
    return arrange(answers, schema)


def known_columns(schema: Schema) -> dict[str, AdviceColumn]:
    """Every column that a recommendation can have beside its keys, in order."""
    shares = dict.fromkeys((*schema.share_columns, "share"), SHARE)
    spends = dict.fromkeys((*schema.spend_columns, "spend"), SPEND)
    keys = {schema.unit, schema.time, schema.channel_column}
    known = shares | spends | ROW_COLUMNS
    return {name: column for name, column in known.items() if name not in keys}


def _with_words(field: pa.Field, column: AdviceColumn | None) -> pa.Field:
    if column is None:
        return field
    return field.with_metadata({"group": column.group, "description": column.meaning})


def names_of(answers: Sequence[str], schema: Schema) -> list[str]:
    """The share columns of answers, whether or not prefixes of channels were left out."""
    full = [f"share_{channel}" for channel in schema.channels]
    pairs = zip(schema.share_columns, full, strict=True)
    return [short if short in answers else long for short, long in pairs]
