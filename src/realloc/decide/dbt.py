"""A dbt `schema.yml` for logs and recommendations: columns in words, and tests that dbt runs.

Texts are written as JSON, which YAML reads as it is.
"""

import json
from collections.abc import Iterator

from realloc.decide.columns import DO, IN_MONEY, known_columns
from realloc.decide.types import REASONS
from realloc.logs import Schema

NOT_NULL = "not_null"
Test = str | dict[str, dict[str, list[str]]]


def dbt_schema(
    schema: Schema, logs: str, recommendations: str, in_money: bool = False
) -> str:
    """The file's text, for a model of the log and one of the recommendations.

    `in_money`: whether an outcome has a worth, so that gains stand in money too.

    >>> schema = Schema(unit="item", time="date", outcome="orders", channels=("ads", "coupon"))
    >>> print(dbt_schema(schema, "logs", "recs").splitlines()[3])
      - name: "logs"
    """
    lines = ["version: 2", "", "models:"]
    lines += _model(logs, "One row per unit and time, as ReAlloc learns from it.", schema)
    lines += ["    columns:"]
    lines += [line for column in log_columns(schema) for line in _column(*column)]
    lines += _model(recommendations, "What ReAlloc recommends, one row per row.", schema)
    lines += ["    columns:"]
    lines += [
        line for column in advice_columns(schema, in_money) for line in _column(*column)
    ]
    return "\n".join(lines) + "\n"


def log_columns(schema: Schema) -> Iterator[tuple[str, str, list[Test]]]:
    """Name, meaning and tests of every column of a log that has a part of its own."""
    yield schema.unit, "the unit", [NOT_NULL]
    yield schema.time, "the period", [NOT_NULL]
    if schema.channel_column and schema.spend_column:
        channels: Test = {"accepted_values": {"values": list(schema.channels)}}
        yield schema.channel_column, "the channel", [NOT_NULL, channels]
        yield schema.spend_column, "what the channel got", [NOT_NULL]
    else:
        kind = "share of the budget" if schema.budget else "spend"
        for channel in schema.channels:
            yield channel, f"{kind} of this channel", [NOT_NULL]
    if schema.budget:
        yield schema.budget, "the budget that is split", [NOT_NULL]
    yield schema.outcome, "the outcome", [NOT_NULL]
    for name in schema.guardrails:
        yield name, "a guardrail: an outcome that must not suffer", [NOT_NULL]
    if schema.propensity:
        yield schema.propensity, "probability of the logged split", []
    for name in schema.features or ():
        yield name, "a feature, known before the decision", []


def advice_columns(schema: Schema, in_money: bool) -> Iterator[tuple[str, str, list[Test]]]:
    """Name, meaning and tests of every column of a recommendation."""
    yield schema.unit, "the unit", [NOT_NULL]
    yield schema.time, "the period", [NOT_NULL]
    if schema.channel_column:
        yield schema.channel_column, "the channel", [NOT_NULL]
    reasons: Test = {"accepted_values": {"values": sorted(REASONS)}}
    spread = {"share", "spend", schema.channel_column}
    wide = {*schema.share_columns, *schema.spend_columns}
    for name, column in known_columns(schema).items():
        if name in (wide if schema.long else spread) or (name in IN_MONEY and not in_money):
            continue
        tests: list[Test] = [NOT_NULL, reasons] if name == "reason" else []
        if name in ("moved", "steps") and column.group == DO:
            tests = [NOT_NULL]
        yield name, column.meaning, tests


def _model(name: str, meaning: str, schema: Schema) -> list[str]:
    keys = [schema.unit, schema.time]
    return [
        f"  - name: {json.dumps(name)}",
        f"    description: {json.dumps(meaning)}",
        f"    meta: {{keys: {json.dumps(keys, ensure_ascii=False)}}}",
    ]


def _column(name: str, meaning: str, tests: list[Test]) -> list[str]:
    lines = [
        f"      - name: {json.dumps(name, ensure_ascii=False)}",
        f"        description: {json.dumps(meaning)}",
    ]
    if tests:
        lines.append(f"        data_tests: {json.dumps(tests, ensure_ascii=False)}")
    return lines
