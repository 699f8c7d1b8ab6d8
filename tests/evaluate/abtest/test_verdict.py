"""From effects to decisions, of each metric and of the whole test."""

from realloc.evaluate.abtest import read_out
from tests.evaluate.abtest.simulated import CALM, METRICS, make_arms, make_config


def test_a_clear_winner_is_launched():
    found = read_out(make_arms(4000, lift=0.08), make_config(metrics=CALM))
    assert found.decision == "launch"
    assert found["orders"].decision == "better"
    assert found["gmv"].decision == "held"
    assert found.verdict.startswith("Treatment wins: orders +")
    assert abs(found["orders"].value - 8) < 3


def test_no_effect_keeps_control_and_says_what_was_seen():
    found = read_out(make_arms(4000, realised=0.0), make_config(metrics=CALM))
    assert found.decision == "keep_control"
    assert found.verdict.startswith("No difference found: orders")


def test_a_loss_keeps_control():
    found = read_out(make_arms(4000, lift=-0.2), make_config(metrics=CALM))
    assert found.decision == "keep_control"
    assert found["orders"].decision == "worse"
    assert found["gmv"].decision == "broken"
    assert "broken (may lose 5 %)" in found.verdict


def test_a_guardrail_that_cannot_be_told_holds_the_launch_back():
    tight = {**METRICS, "cost": {**METRICS["cost"], "margin": 0.0}}
    found = read_out(make_arms(4000, lift=0.08), make_config(metrics=tight))
    assert found.decision == "go_on"
    assert "No launch yet" in found.verdict
    assert found["cost"].decision == "inconclusive"


def test_a_metric_that_should_fall_is_better_when_it_falls():
    frame = make_arms(4000, realised=0.0)
    frame.loc[frame["arm"] == "treatment", "cost"] *= 0.8
    metrics = {"cost": {"value": "cost", "direction": "down"}}
    found = read_out(frame, make_config(metrics=metrics))
    assert found["cost"].decision == "better"
    assert found["cost"].high < 0


def test_a_test_of_guardrails_alone_can_be_won():
    metrics = {"cost": {"value": "cost", "direction": "down", "margin": 20.0}}
    found = read_out(make_arms(4000), make_config(metrics=metrics))
    assert found.decision == "launch"
    assert found.verdict.startswith("Nothing is lost: cost")
