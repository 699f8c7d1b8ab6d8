"""The rules of the verdict, each of them reachable."""

from dataclasses import replace

import pytest

from realloc.evaluate.report.verdict import (
    DO_NOT,
    LAUNCH,
    TEST_SMALL,
    GuardrailReading,
    VerdictEvidence,
    conclude,
)
from realloc.evaluate.result import Estimate


def lift(low, high, name="dr_lift_over_hold"):
    return Estimate(name, (low + high) / 2, low, high, 1000)


def rho(low, high):
    return lift(low, high, "rho_gain")


GOOD = VerdictEvidence(
    goal="orders",
    moved=10,
    lift=lift(0.1, 0.3),
    is_new=True,
    guardrails=(GuardrailReading("gmv", 0.05, lift(-0.01, 0.2)),),
    rho=rho(0.01, 0.1),
)


def test_a_gain_on_new_randomized_rows_with_guardrails_held_is_launched():
    found = conclude(GOOD)
    assert found.decision == LAUNCH
    assert found.reasons[0].startswith(
        "On 1,000 randomized rows that the model did not learn from the moves gain: +0.2 orders"
    )
    assert (
        "The guardrail gmv is held (+0.095 a row [−0.01, +0.2], may lose 0.05)."
        in found.reasons
    )


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"lift": lift(-0.3, -0.1)}, "the moves lose: −0.2 orders a row"),
        (
            {"guardrails": (GuardrailReading("gmv", 0.05, lift(-0.3, -0.06)),)},
            "The guardrail gmv is broken",
        ),
        ({"moved": 0}, "The model moves nothing"),
        ({"errors": ("Shares never vary.",)}, "The log has an error: Shares never vary."),
        ({"lift": None, "rho": rho(-0.2, -0.1)}, "rank matched moves worse than chance"),
    ],
)
def test_harm_or_nothing_to_do_is_not_launched(changes, why):
    found = conclude(replace(GOOD, **changes))
    assert found.decision == DO_NOT
    assert any(why in reason for reason in found.reasons)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"lift": lift(-0.1, 0.3)}, "the gain is not distinguishable from 0"),
        (
            {"lift": None, "why_no_lift": "No randomized rows."},
            "at most a small test. No randomized rows.",
        ),
        ({"is_new": False}, "The model learned from the randomized rows"),
        ({"off_menu": 0.4}, "40% of the recommended moves were never drawn"),
        (
            {"guardrails": (GuardrailReading("gmv", 0.0, lift(-0.01, 0.2)),)},
            "The effect on gmv is inconclusive",
        ),
        (
            {"guardrails": (GuardrailReading("gmv", 0.0, None),)},
            "gmv could not be measured",
        ),
        ({"rho": rho(-0.2, -0.1)}, "rank matched moves worse than chance"),
    ],
)
def test_each_doubt_keeps_from_a_launch_but_not_from_a_small_test(changes, why):
    found = conclude(replace(GOOD, **changes))
    assert found.decision == TEST_SMALL
    assert any(why in reason for reason in found.reasons), found.reasons


@pytest.mark.parametrize("high", [-1e-6, 0.0, 0.01])
def test_a_lift_that_may_be_harm_is_never_launched_whatever_else_is_good(high):
    for other in (rho(0.5, 0.9), None):
        assert (
            conclude(
                replace(GOOD, lift=lift(-0.2, high), rho=other, guardrails=())
            ).decision
            != LAUNCH
        )


def test_a_ranking_without_an_interval_says_nothing():
    assert conclude(replace(GOOD, rho=rho(float("nan"), float("nan")))).decision == LAUNCH
