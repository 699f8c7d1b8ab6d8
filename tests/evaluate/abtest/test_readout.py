import json
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from realloc.evaluate.abtest import read_out, to_html
from tests.evaluate.abtest.simulated import METRICS, make_arms, make_config

CALM = {**METRICS, "cost": {**METRICS["cost"], "margin": 20.0}}


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
    assert found["cost"].decision == "cannot be told"


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


def test_a_wrong_split_is_reported_in_part_and_never_won():
    frame = make_arms(4000, lift=0.3)
    frame = frame[(frame["arm"] == "control") | (frame.index % 5 > 0)]
    found = read_out(frame, make_config(predicted="gain", predicted_metric="orders"))
    assert found.decision == "no_verdict"
    assert found.verdict.startswith("No winner may be called. Sample-ratio mismatch")
    assert {effect.decision for effect in found.effects} == {"not comparable"}
    assert found.calibration is None
    assert len(found.effects) == 5


def test_an_early_look_asks_for_more_than_the_last_one():
    frame = make_arms(4000, lift=0.04)
    looks = [0.25, 1.0]
    early, late = (
        read_out(frame, make_config(metrics=CALM, looks=looks, look=look))["orders"]
        for look in (1, 2)
    )
    plain = read_out(frame, make_config(metrics=CALM))["orders"]
    assert early.high - early.low > 1.5 * (plain.high - plain.low)
    assert plain.p < 0.05 < early.p_look
    assert np.isclose(late.high - late.low, plain.high - plain.low, rtol=0.03)
    assert read_out(frame, make_config(metrics=CALM, looks=looks, look=1)).decision == "go_on"


def test_decisions_follow_p_values_after_the_correction():
    rng = np.random.default_rng(5)
    frame = make_arms(400)[["item", "arm"]].assign(
        **{f"m{i}": rng.normal(10, 1, 400) for i in range(40)}
    )
    metrics = {f"m{i}": {"value": f"m{i}"} for i in range(40)}
    plain = read_out(frame, make_config(metrics=metrics, correction="none"))
    holm = read_out(frame, make_config(metrics=metrics))
    assert any(effect.decision != "no difference found" for effect in plain.effects)
    assert all(effect.decision == "no difference found" for effect in holm.effects)


def test_days_add_up_to_the_same_readout_as_totals():
    frame = make_arms(400)
    columns = ["orders", "gmv", "cost", "profit"]
    days = pd.concat([frame.assign(day=day, **frame[columns] / 4) for day in range(4)])
    once, daily = read_out(frame, make_config()), read_out(days, make_config(time="day"))
    shown = ["value", "low", "high", "p"]
    assert np.allclose(once.to_frame()[shown][:4], daily.to_frame()[shown][:4])
    assert "1,600 rows of 400 units" in daily.notes[0]


def test_a_readout_is_a_frame_a_json_and_a_text():
    config = make_config(predicted="gain", predicted_lower="gain_lower", predicted_metric="orders")
    found = read_out(make_arms(400), config)
    assert found.to_frame()["metric"].tolist() == list(METRICS)
    assert found.to_frame()["kind"].tolist() == ["goal", "guardrail", "guardrail", "goal", "goal"]
    parsed = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert parsed["metrics"][2]["variance_reduction"] is None
    assert parsed["calibration"]["fit"]["share"]["n"] == 400
    text = str(found)
    assert text.splitlines()[0] == found.verdict
    assert "margin" in text
    assert " pt" in text
    with pytest.raises(KeyError, match="got 'order'"):
        found["order"]


def test_few_clusters_are_mentioned():
    frame = make_arms(400).sort_values("arm").assign(shop=np.repeat(np.arange(20), 20))
    assert any(
        "Only 10 randomized units" in note
        for note in read_out(frame, make_config(cluster="shop")).notes
    )


def test_the_page_stands_alone_and_escapes_names():
    metrics = {**METRICS, "<b>odd</b>": {"value": "orders"}}
    config = make_config(
        metrics=metrics, predicted="gain", predicted_lower="gain_lower", predicted_metric="orders"
    )
    found = read_out(make_arms(4000), config)
    page = to_html(found, "Test of <May>")
    assert "http" not in page
    assert "<script" not in page
    assert "<b>" not in page
    assert "Test of &lt;May&gt;" in page
    drawn = [ElementTree.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", page)]  # noqa: S314
    assert len(drawn) == 3  # effects in percent, in points, and calibration
    assert len(drawn[0].findall("circle")) == 5
    assert "NaN" not in page
    assert "nan" not in page
    for effect in found.effects:
        assert effect.decision in page


def test_the_documented_python_runs(capsys):
    page = (Path(__file__).parents[3] / "docs" / "abtest.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"```python\n(.*?)```", page, re.S)
    exec(compile(shown, "docs/abtest.md", "exec"), {"frame": make_arms(400)})  # noqa: S102
    assert "orders" in capsys.readouterr().out
