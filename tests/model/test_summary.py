"""What a person reads first about a model; every piece of advice can be followed."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from realloc import ReAlloc, Schema, read_config
from realloc.base.validation import from_table
from realloc.decide.config import DecisionConfig
from realloc.learn.features.encode import FeatureConfig
from realloc.model.advice import advise
from realloc.model.known import ChannelMoves, Knowledge
from realloc.model.outlook import Outlook
from tests.small import CONFIG, fitted, today, window

GATED = replace(CONFIG, decision=DecisionConfig())
KNOWN = Knowledge(
    rows=300,
    units=60,
    rounds=1,
    outcome="orders",
    explained=0.4,
    levelled=False,
    evidence=1.15,
    needed=2.3,
    significant=False,
    channels=(ChannelMoves("ads", 0.1), ChannelMoves("coupon", 0.001)),
)
STAYS = Outlook(
    rows=60,
    moved=0,
    gain=0.0,
    gain_low=0.0,
    gain_high=0.0,
    calibration="simulated worlds",
    money=100.0,
    moved_money=0.0,
    reasons={"uncertain": 60},
)
WINDOW = fitted().last_window
SCHEMA = Schema(unit="shop", time="day", outcome="sales", channels=["ads", "coupon"])


def shops(
    units=60,
    days=12,
    seed=0,
    level=3.0,
    spread=0.15,
    effect=3.0,
    known_size=False,
):
    """Shops of unseen size whose sales follow the share of ads."""
    random = np.random.default_rng(seed)
    n = units * days
    ads = np.clip(0.5 + spread * random.normal(size=n), 0.05, 0.95)
    size = np.repeat(random.normal(size=units), days)
    sales = level * size + effect * (ads - 0.5) + random.normal(size=n)
    frame = {
        "shop": np.repeat([f"s{unit}" for unit in range(units)], days),
        "day": np.tile(pd.date_range("2026-01-01", periods=days), units),
        "sales": sales.astype(float),
        "ads": 10 * ads,
        "coupon": 10 * (1 - ads),
        "size": size if known_size else random.normal(size=n),
    }
    return pd.DataFrame(frame)


def evidence(config=GATED, **kind):
    """The mean of three logs: evidence of one log is within ±1 of what it should be."""
    logs = [shops(seed=seed, **kind) for seed in range(3)]
    return np.mean([summarised(frame, config).known.evidence for frame in logs])


def summarised(frame, config=GATED):
    return ReAlloc(config, SCHEMA).fit(frame).summary()


def test_the_summary_says_what_is_known_and_what_would_be_done_today():
    model = fitted()
    summary = model.summary()
    told = str(summary)
    assert "Learned from 300 rows of 60 units (round 1)." in told
    assert f"{summary.today.moved} of 60 rows" in told
    assert "95 % interval" in told
    assert "of these rows' outcome" in told
    assert "Biggest flows: " in told
    assert "larger or smaller budget would bring is not estimated" in told
    assert "e+0" not in told
    assert json.loads(json.dumps(summary.to_json()))["known"]["rows"] == 300


def test_its_totals_are_those_of_a_recommendation():
    from realloc import total_gain

    model = fitted()
    found = model.summary(today()).today
    answer = model.recommend(today())
    total = total_gain(answer)
    assert found.moved == answer.moved.sum()
    assert (found.gain, found.gain_low) == pytest.approx((total.value, total.low))
    assert sum(found.reasons.values()) == len(answer)


def test_a_loaded_model_knows_itself_and_asks_for_rows(tmp_path):
    import realloc

    fitted().save(tmp_path / "model")
    model = realloc.load(tmp_path / "model")
    assert "ask `model.summary(today)`" in str(model.summary())
    assert model.summary(today()).today.rows == 40
    assert repr(model) == repr(fitted())


def test_a_model_in_a_cell_is_a_line_and_no_address():
    assert repr(ReAlloc()) == "<ReAlloc not fitted yet>"
    line = repr(fitted())
    assert "fitted on 300 rows of 60 units, channels ads, coupon, rebate, 1 round" in line
    assert "evidence z = " in line


def test_who_gains_most_is_a_segment_with_a_clear_difference():
    from realloc.model.outlook import _who_gains

    logs = window()
    name = logs.features[0]
    values = logs.feature(name).to_numpy()
    noise = np.random.default_rng(0).normal(size=len(logs))
    found = _who_gains(logs, (values > np.median(values)) + 0.1 * noise)
    assert found is not None
    assert found.name.startswith(f"rows with {name} above ")
    assert _who_gains(logs, np.zeros(len(logs))) is None


def test_where_nothing_moves_the_summary_says_why_and_what_would_help():
    frame = shops(effect=0.6)
    summary = summarised(frame)
    told = str(summary)
    assert not summary.known.significant
    assert "Today it would move nothing (60 rows)." in told
    assert "Why: the evidence is too weak for any row." in told
    assert "What would help:" in told
    assert "lags = 7" in told


def test_needed_rows_grow_with_the_square_of_the_evidence():
    told = advise(KNOWN, STAYS, CONFIG, WINDOW)[0]
    assert (
        "From z = 1.1 to 2.3 takes about 4.0 times as many (1,200, 15 more periods" in told
    )
    nothing = advise(replace(KNOWN, evidence=0.1), STAYS, CONFIG, WINDOW)[0]
    assert "More rows of the same kind will hardly change that" in nothing


def test_more_weeks_give_more_evidence():
    few, many = (evidence(days=days, level=0.5) for days in (4, 36))
    assert many > 1.5 * few


def test_more_movement_of_a_still_channel_gives_more_evidence():
    told = advise(KNOWN, STAYS, CONFIG, WINDOW)
    assert any("More movement of coupon" in text for text in told)
    summary = summarised(shops(spread=0.004, level=0.5))
    assert summary.known.still == ("ads", "coupon")
    assert "In the log ads, coupon hardly move" in str(summary)
    assert evidence(spread=0.1, level=0.5) > evidence(spread=0.004, level=0.5) + 1


def test_lags_are_accepted_and_give_more_evidence():
    lagged = replace(GATED, features=FeatureConfig(lags=7))
    assert from_table(FeatureConfig, {"lags": 7}, "[features]") == FeatureConfig(lags=7)
    assert evidence(lagged) > evidence() + 1


def test_features_are_asked_for_where_they_explain_nothing_and_help():
    told = advise(replace(KNOWN, explained=0.02), STAYS, CONFIG, WINDOW)
    assert any("`features` in [schema]" in text for text in told)
    assert evidence(known_size=True) > evidence() + 1


def test_a_smaller_beta_moves_more_rows():
    sure = replace(KNOWN, significant=True)
    told = advise(sure, STAYS, CONFIG, WINDOW)
    assert any("lower `beta` in [decision] (now 0.25)" in text for text in told)
    model = fitted()
    careful = model.decide_with(
        DecisionConfig(min_significance=0.0, beta=3.0), model.config.constraints
    )
    before = careful.summary().today.moved
    daring = model.decide_with(
        DecisionConfig(min_significance=0.0, beta=0.0), model.config.constraints
    )
    assert daring.summary().today.moved > before


def test_unsupported_and_constrained_moves_have_their_own_advice():
    sure = replace(KNOWN, significant=True, channels=())
    for reason, text in (
        ("unsupported", "where the log has nothing"),
        ("constrained", "`limited_by`"),
    ):
        told = advise(sure, replace(STAYS, reasons={reason: 60}), CONFIG, WINDOW)
        assert any(text in line for line in told)


def test_there_is_no_advice_where_much_moves():
    moves = replace(STAYS, moved=30)
    assert advise(replace(KNOWN, significant=True), moves, CONFIG, WINDOW) == ()


def test_every_key_in_advice_is_read_from_a_config_file(tmp_path):
    path = tmp_path / "realloc.toml"
    path.write_text(
        '[schema]\nunit = "shop"\ntime = "day"\noutcome = "sales"\nchannels = ["ads", "coupon"]\n'
        'features = ["size"]\n[features]\nlags = 7\n'
        '[decision]\nbeta = 0.1\n[constraints]\nfrozen = ["ads"]\n'
    )
    schema, config = read_config(path)
    assert config.features.lags == 7
    assert schema.features == ("size",)


def test_a_model_and_its_summary_show_themselves_in_notebooks():
    assert "Not fitted yet: call `fit`." in ReAlloc(CONFIG)._repr_markdown_()
    model = fitted()
    assert "300 rows" in model._repr_html_()
    shown = model.summary(today())._repr_html_()
    assert "What it would do today" in shown
    assert "<svg" in shown
