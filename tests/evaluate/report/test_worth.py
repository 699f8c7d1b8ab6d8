"""The value of recommended moves on randomized rows, against the truth."""

from dataclasses import replace

import numpy as np
import pytest

from realloc import read_logs, total_gain
from realloc.base.numbers import signed
from realloc.evaluate.events import at_previous, find_events
from realloc.evaluate.report.advice import advise, last_rows
from realloc.evaluate.report.config import ReportConfig
from realloc.evaluate.report.traffic import find_drawn
from realloc.evaluate.report.worth import (
    goal_name,
    goal_of,
    guardrail_section,
    margin_of,
    measure_worth,
    uplift_section,
)
from realloc.evaluate.result import Estimate
from realloc.evaluate.weights import target_shares
from tests.evaluate.report.simulated import SCHEMA, fitted, later


@pytest.fixture(scope="module")
def found():
    """The rows, the model's answer and its worth."""
    logs, config = read_logs(later(), SCHEMA), ReportConfig()
    events = find_events(logs)
    drawn = find_drawn(logs, events, np.ones(len(logs), dtype=bool), config)
    return (
        logs,
        drawn,
        advise(fitted(), at_previous(logs, events, drawn.at)),
        measure_worth(fitted(), logs, events, drawn, config),
    )


def test_intervals_of_the_lift_and_of_the_guardrail_hold_the_truth(found):
    _, drawn, advice, worth = found
    target = target_shares(drawn.rows, advice.shares)
    moved = (target.probabilities @ drawn.rows.moves)[target.on_menu, 0].mean()  # of ads
    assert worth.lift.low < 4.0 * moved < worth.lift.high
    (guarded,) = worth.guardrails
    assert guarded.lift.low < 2.0 * moved < guarded.lift.high
    assert worth.lift.low > 0


def test_promises_are_those_of_the_same_rows(found):
    _, _, advice, worth = found
    assert worth.promised.value == pytest.approx(advice.gain.mean())
    assert worth.agreement.low > 0


def test_the_goal_is_the_weighted_sum_of_outcomes(found):
    logs = found[0]
    decision = fitted().config.decision
    assert np.array_equal(goal_of(decision, logs), logs.outcome)
    assert goal_name(decision, SCHEMA) == "orders"
    both = replace(decision, weights={"orders": 1.0, "gmv": 0.5})
    assert np.allclose(goal_of(both, logs), logs.outcome + 0.5 * logs.guardrail("gmv"))
    assert goal_name(both, SCHEMA) == "1 orders + 0.5 gmv"


def test_margins_come_from_the_report_then_from_the_decision():
    decision = fitted().config.decision
    assert margin_of(decision, ReportConfig(margins={"gmv": 0.3}), "gmv") == 0.3
    assert margin_of(decision, ReportConfig(), "gmv") == 1.0
    assert margin_of(decision, ReportConfig(), "income") == 0.0


def test_guardrails_that_nobody_named_are_said_to_be_missing():
    assert "names no `guardrails`" in guardrail_section((), (), {}).missing[0]
    assert "not measured" in guardrail_section(("gmv",), (), {"gmv": 0.1}).rows[0]


def test_every_unit_is_asked_about_once_at_its_last_row(found):
    logs = last_rows(found[0])
    assert len(logs) == found[0].unit_count
    assert (logs.times == found[0].times.max()).all()


def test_an_estimate_without_an_interval_is_no_lift(found):
    worth = found[3]
    value = replace(
        worth.value, estimates=(Estimate.point("dr_lift_over_hold", np.nan, 5),)
    )
    assert replace(worth, value=value).lift is None
    assert "Keeping the mix was not possible" in replace(worth, value=value).why_not


def test_what_is_promised_in_all_has_the_interval_of_the_sum(found):
    """Lower bounds must not be added up: not all units are unlucky at once."""
    rows = last_rows(found[0])
    advice = advise(fitted(), rows)
    total = total_gain(fitted().recommend(rows))
    (sentence,) = uplift_section("orders", advice, None).lines
    low, high = (signed(end / len(rows)) for end in (total.low, total.high))
    assert sentence.endswith(f"95 % interval {low} to {high}.")
    assert total.low / len(rows) > advice.gain_lower.mean()
