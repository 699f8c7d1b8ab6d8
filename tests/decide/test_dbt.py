"""The dbt schema is YAML, and names the columns that logs and recommendations really have."""

import doctest
from dataclasses import replace

import pytest
import yaml

from realloc import Schema
from realloc.decide import dbt
from realloc.decide.columns import IN_MONEY
from realloc.decide.types import REASONS
from tests.small import fitted, schema_of, today, window

LONG = Schema(
    unit='item "é"',
    time="date",
    outcome="orders",
    channels=("ads", "tv: prime"),
    channel_column="channel",
    spend_column="spend",
)


def columns(schema: Schema, number: int) -> dict[str, dict]:
    models = yaml.safe_load(dbt.dbt_schema(schema, "logs", "recs"))["models"]
    assert [model["name"] for model in models] == ["logs", "recs"]
    return {column["name"]: column for column in models[number]["columns"]}


def test_the_columns_of_recommendations_are_those_of_the_model():
    schema = schema_of(window())
    found = columns(schema, 1)
    answer = fitted().recommend(today())
    assert sorted(found) == sorted(answer.columns)
    accepted = found["reason"]["data_tests"][1]["accepted_values"]["values"]
    assert set(answer.reason) <= set(accepted)
    assert set(accepted) == set(REASONS)
    assert all(column["description"] for column in found.values())
    models = yaml.safe_load(dbt.dbt_schema(schema, "logs", "recs", in_money=True))["models"]
    more = {column["name"] for column in models[1]["columns"]} - set(found)
    assert more == set(IN_MONEY)


def test_the_columns_of_a_log_are_those_of_the_schema():
    schema = replace(schema_of(window()), features=("c1", "e1"))
    found = columns(schema, 0)
    assert set(found) == {*schema.fixed_columns, "c1", "e1"}
    assert found["orders"]["data_tests"] == ["not_null"]
    assert "data_tests" not in found["c1"]


def test_the_long_layout_has_a_row_per_channel():
    log, advice = columns(LONG, 0), columns(LONG, 1)
    assert set(log) == {'item "é"', "date", "channel", "spend", "orders"}
    values = log["channel"]["data_tests"][1]["accepted_values"]["values"]
    assert values == ["ads", "tv: prime"]
    assert {"channel", "share", "spend"} < set(advice)
    assert not {name for name in advice if name.startswith("share_")}


def test_the_example_runs():
    assert doctest.testmod(dbt).failed == 0


@pytest.mark.parametrize("name", ["a: b", "- x", "#", "'", "yes"])
def test_names_that_mean_something_in_yaml_come_back(name):
    schema = replace(LONG, unit=name)
    assert name in columns(schema, 0)
