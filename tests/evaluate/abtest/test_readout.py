import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from realloc.evaluate.abtest import read_out
from tests.evaluate.abtest.simulated import CALM, METRICS, make_arms, make_config


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
    assert (
        read_out(frame, make_config(metrics=CALM, looks=looks, look=1)).decision == "go_on"
    )


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
    config = make_config(
        predicted="gain", predicted_lower="gain_lower", predicted_metric="orders"
    )
    found = read_out(make_arms(400), config)
    assert found.to_frame()["metric"].tolist() == list(METRICS)
    assert found.to_frame()["kind"].tolist() == [
        "goal",
        "guardrail",
        "guardrail",
        "goal",
        "goal",
    ]
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


def test_the_documented_python_runs(capsys):
    page = (Path(__file__).parents[3] / "docs" / "abtest.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"```python\n(.*?)```", page, re.S)
    exec(compile(shown, "docs/abtest.md", "exec"), {"frame": make_arms(400)})  # noqa: S102
    assert "orders" in capsys.readouterr().out
