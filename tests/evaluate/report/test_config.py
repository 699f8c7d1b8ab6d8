"""The table [report]."""

from datetime import date

import numpy as np
import pytest

from realloc.base.errors import ConfigError
from realloc.base.validation import from_table
from realloc.evaluate.report.config import ReportConfig
from tests.evaluate.report.simulated import ARMS, MOVES, SCHEMA


def test_arms_are_moves_of_shares():
    moves = ReportConfig(arms=ARMS).moves_of(SCHEMA.channels)
    assert np.array_equal(moves, np.stack([MOVES, -MOVES], axis=1))


def test_a_date_may_be_written_as_toml_writes_it():
    assert from_table(ReportConfig, {"start": date(2026, 1, 8)}, "[report]").start == date(
        2026, 1, 8
    )


@pytest.mark.parametrize(
    ("table", "text"),
    [
        ({"tolerance": 1.0}, "Expected `tolerance` of \\[report\\] from 0 to below 1"),
        ({"small_move": 1.5}, "Expected `small_move` of \\[report\\] from 0 to below 1"),
        ({"margins": {"gmv": -1.0}}, "Expected `margins` of \\[report\\] of at least 0"),
        ({"arms": {"p": {"ads": 0.1}}}, "Expected at least 2 arms"),
        ({"marigns": {}}, "Did you mean 'margins'"),
        (
            {"categories": "category"},
            "Expected `categories` of \\[report\\] to be a list of text",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused(table, text):
    with pytest.raises(ConfigError, match=text):
        from_table(ReportConfig, table, "[report]")


def test_margins_name_guardrails():
    with pytest.raises(
        ConfigError, match="Unknown guardrail 'gvm' in `margins`.*Did you mean 'gmv'"
    ):
        ReportConfig(margins={"gvm": 0.1}).check_guardrails(SCHEMA)
