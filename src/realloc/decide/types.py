"""What a policy is and what it answers: two verbs, one table."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from realloc.base import simplex
from realloc.base.errors import LogError
from realloc.base.imports import need
from realloc.base.simplex import Floats, Integers, Mask
from realloc.decide.columns import arrange, in_order
from realloc.logs import Logs, Schema
from realloc.logs.plain import PlainLogs, PlainRow, read_plain
from realloc.logs.reading.read import Today, load_today

REASONS = {
    "moved": "budget was moved",
    "no_gain": "no move is predicted to gain",
    "unsupported": "the best move leads where the logs hold no evidence",
    "uncertain": "a gain was found, but it is within the uncertainty margin",
    "constrained": "a constraint forbids the best move",
    "required": "the current shares break a constraint; moved no further than it demands",
    "guardrail": "the best move may cost another outcome more than is tolerated",
    "infeasible": "the constraints contradict each other for this row (see `limited_by`)",
    "pooled": "the best move was given up to keep a cap over all rows",
    "frozen": "the store is frozen (`realloc freeze`); nothing may be moved",
    "stale_model": "the model is older than the service allows; nothing may be moved",
    "no_model": "no version of the model can be used; nothing may be moved",
    "internal_failure": "the decision failed inside the service; nothing is moved",
    "bad_input": "the row could not be read (see the warnings); nothing is recommended",
}

# What `limited_by` says, beside the names of constraints and guardrails.
PENALTY = "uncertainty penalty (beta)"
THRESHOLD = "smallest gain (threshold)"
WEAK = "weak evidence (min_significance)"
LOWER_BOUND = "lower bound below 0 (fallback)"
TOO_LITTLE = "worth less than it costs (worth, move_cost, threshold)"
HIDDEN_CAUSE = "hidden cause (min_robustness)"
STARTS_OUTSIDE = "the current split lies outside the logs"
LEADS_OUTSIDE = "the best move leads outside the logs"
SMALL_MOVE = "smallest move"
POOL = "cap over all rows"


@dataclass(frozen=True, kw_only=True)
class Decision:
    """Decisions on n rows: new shares, and why."""

    shares: Floats  # (n, K)
    gain: Floats
    gain_lower: Floats
    support: Floats
    steps: Integers
    reason: NDArray[np.str_]
    # (n, K) minor units; None: shares are rounded by their largest remainders
    money: Integers | None = None
    # more columns
    further: dict[str, NDArray[Any]] = field(default_factory=dict[str, NDArray[Any]])
    # rows by the search that decided them: "compiled", or "numpy: " and why it was not
    searches: dict[str, int] = field(default_factory=dict[str, int])


MOVED = ("moved", "required")


def is_moved(reason: NDArray[np.str_]) -> Mask:
    """Whether shares change for a reason (n,)."""
    return (reason == MOVED[0]) | (reason == MOVED[1])


def describe_searches(searches: dict[str, int]) -> str:
    """Say in words which search decided how many rows, the most frequent first."""
    parts: list[str] = []
    for search, rows in sorted(searches.items(), key=lambda pair: -pair[1]):
        kind, _, why = search.partition(": ")
        name = f"the {kind} search" + (f" ({why})" if why else "")
        parts.append(f"{rows:,} {'row' if rows == 1 else 'rows'} by {name}")
    return ", ".join(parts) or "no row was searched"


class Policy(Protocol):
    """Everything that recommends, ours or a baseline."""

    def fit(self, logs: Logs, /) -> Self:
        """Learn from logs."""
        ...

    def recommend(self, frame: Any, /) -> Any:
        """Recommend for each row of `frame`, in its order and as the same kind of frame."""
        ...


def keep(logs: Logs, reason: str) -> Decision:
    """Keep all shares as they are."""
    n = len(logs)
    zero = np.zeros(n)
    return Decision(
        shares=logs.shares,
        gain=zero,
        gain_lower=zero,
        support=np.ones(n),
        steps=np.zeros(n, dtype=np.int64),
        reason=np.full(n, reason),
    )


def recommend(
    decide: Callable[[Logs], Decision],
    frame: Any,
    schema: Schema,
    money_digits: int = 2,
    *,
    one_by_one: bool = False,
) -> Any:
    """Read rows, decide, and return the contract's columns; unreadable rows get `bad_input`.

    `one_by_one` says that no row's answer depends on another's, nor on their order.
    """
    if isinstance(frame, Mapping):
        return recommend(decide, [frame], schema, money_digits, one_by_one=one_by_one)[0]
    if isinstance(frame, list) and all(isinstance(row, Mapping) for row in frame) and frame:
        logs = read_plain(frame, schema) if one_by_one else None
        if logs is not None:
            return answer_plain(frame, logs, decide(logs), money_digits)
        return recommend(decide, _to_table(frame), schema, money_digits).to_pylist()
    if isinstance(frame, Logs):
        frame = frame.to_arrow()
    today = load_today(frame, schema)
    answers = tabulate(today, decide(today.logs), money_digits)
    return _as_given(as_handed_in(answers, today), frame)


def answer_plain(
    rows: Sequence[PlainRow], logs: PlainLogs, decision: Decision, money_digits: int
) -> list[dict[str, Any]]:
    """The contract's columns as one dictionary per row."""
    schema = logs.schema
    columns = {name: [row[name] for row in rows] for name in (schema.unit, schema.time)}
    for name, values in answer_columns(logs, decision, money_digits).items():
        columns[name] = values.tolist()
    names = in_order(tuple(columns), schema)
    values = zip(*(columns[name] for name in names), strict=True)
    return [dict(zip(names, row, strict=True)) for row in values]


def _to_table(rows: Sequence[PlainRow]) -> pa.Table:
    try:
        return pa.Table.from_pylist([dict(row) for row in rows])
    except (pa.ArrowException, OverflowError) as problem:
        detail = " ".join(str(problem).split())[:200]
        raise LogError(
            f"Expected rows whose values are of one type for each key, but one is not: {detail}."
        ) from problem


def tabulate(today: Today, decision: Decision, money_digits: int = 2) -> pa.Table:
    """One row per row that was read: its keys, then the columns of the contract."""
    keys = today.keys
    n = keys.num_rows
    answers = answer_columns(today.logs, decision, money_digits)
    columns = {
        name: _spread(values, today.positions, n, "bad_input" if name == "reason" else "")
        for name, values in answers.items()
    }
    answers = pa.table(
        [*keys.columns, *columns.values()], names=[*keys.column_names, *columns]
    )
    return arrange(answers, today.logs.schema)


def as_handed_in(answers: pa.Table, today: Today) -> pa.Table:
    """Answers in the layout of the rows that were read: in the long one, a row per channel."""
    long = today.long
    if long is None:
        return answers
    columns = dict(zip(long.keys.column_names, long.keys.columns, strict=True))
    wide = set(today.keys.column_names)
    schema = today.logs.schema
    for kind, names in (("share", schema.share_columns), ("spend", schema.spend_columns)):
        values = np.stack([answers[name].to_numpy() for name in names], axis=1)
        own = values[long.day, long.channel]
        columns[kind] = pa.chunked_array([pa.array(own, mask=np.isnan(own))])
        wide |= {*names}
    others = [name for name in answers.column_names if name not in wide]
    repeated = answers.select(others).take(long.day)
    answers = pa.table(columns | dict(zip(others, repeated.columns, strict=True)))
    return arrange(answers, schema)


def answer_columns(
    logs: Logs, decision: Decision, money_digits: int
) -> dict[str, NDArray[Any]]:
    """The columns of the contract for readable rows."""
    channels = logs.schema.channels
    start = logs.shares
    shares = decision.shares
    if (
        decision.money is None
    ):  # else shares keep every constraint to the last digit already
        shares = shares / shares.sum(axis=1, keepdims=True)
    if not np.all(np.isfinite(shares)) or np.any(shares < 0):
        raise LogError(
            "Expected shares on the simplex from the policy, got negative or non-finite ones. "
            "Nothing was written."
        )
    moved = is_moved(decision.reason)
    shares = np.where(moved[:, None], shares, start)
    minor = decision.money
    if minor is None:
        # Ties go by the channel's name, whatever the columns' order.
        by_name = np.argsort(np.argsort(channels))
        minor = simplex.round_money(shares, logs.budget, money_digits, by_name)
    money = minor / 10.0**money_digits
    columns = dict(zip(logs.schema.share_columns, shares.T, strict=True))
    columns |= dict(zip(logs.schema.spend_columns, money.T, strict=True))
    columns["moved"] = moved
    columns["gain"] = np.where(moved, decision.gain, 0.0)
    columns["gain_lower"] = np.where(moved, decision.gain_lower, 0.0)
    columns["support"] = decision.support
    columns["moved_share"] = np.where(moved, simplex.total_variation(shares, start), 0.0)
    columns["steps"] = np.where(moved, decision.steps, 0)
    columns["reason"] = decision.reason
    return columns | decision.further


def _spread(
    values: NDArray[Any], positions: Integers, n: int, absent_text: str
) -> pa.Array:
    """Values in the order of the rows handed in; rows that could not be read stay empty."""
    absent = np.ones(n, dtype=bool)
    absent[positions] = False
    if values.dtype.kind == "U":
        texts = np.full(n, absent_text, dtype=object)
        texts[positions] = values
        return pa.array(texts, pa.string())
    spread = np.zeros(n, dtype=values.dtype)
    spread[positions] = values
    is_float = values.dtype.kind == "f"
    return pa.array(spread, mask=absent) if is_float and absent.any() else pa.array(spread)


def _as_given(table: pa.Table, frame: Any) -> Any:
    native = nw.from_native(frame, pass_through=True)
    if not isinstance(native, nw.DataFrame | nw.LazyFrame):
        return table
    kind = native.implementation
    if kind.is_pandas():
        # With the index of the rows handed in, so that both can be joined.
        return table.to_pandas().set_index(frame.index)
    if kind.is_polars():
        answer = need("polars").from_arrow(table)
        return answer.lazy() if isinstance(native, nw.LazyFrame) else answer
    return table
