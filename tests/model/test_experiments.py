"""Experiments enter a fit, and nothing that cannot be true does."""

import copy

import numpy as np
import pyarrow as pa
import pytest

import realloc
from realloc import ConfigError, LogError
from realloc.model.experiments import (
    ExperimentResult,
    apply_experiments,
    experiment_lines,
    read_experiments,
)
from tests.small import CONFIG, fitted, window

PAIRS = (("ads", "coupon"), ("ads", "rebate"), ("coupon", "rebate"))
FILE = """
[[test]]
name = "coupon, spring"
source = "ads"
target = "coupon"
share = 0.05
effect = 0.2
error = 0.05
"""


def effects_of(model, logs, off=0.0, error=0.01, share=0.05):
    """What tests would say if the model's gains were off by so much from the first channel."""
    found = []
    for source, target in PAIRS:
        one = ExperimentResult(
            name=f"{source} {target}",
            source=source,
            target=target,
            share=share,
            effect=1.0,
            error=error,
        )
        reading = realloc.model.experiments.read_test(
            model.fitted, logs, one, model.config.decision
        )
        effect = reading.predicted + off * (source == "ads")
        found.append({**vars(one), "effect": effect})
    return tuple(ExperimentResult(**one) for one in found)


def corrected(off, **options):
    model = fitted()
    tests = effects_of(model, window(), off, **options)
    state = apply_experiments(model.fitted, window(), tests, model.config.decision)
    return model, state


def test_gains_move_to_what_the_tests_say():
    model, state = corrected(off=0.5)
    again = effects_of(_with(model, state), window())
    asked = effects_of(model, window(), off=0.5)
    before = effects_of(model, window())
    for now, wanted, was in zip(again, asked, before, strict=True):
        assert (
            abs(now.effect - wanted.effect) < 0.3 * abs(was.effect - wanted.effect) + 0.03
        )
    text = "\n".join(experiment_lines(state.main.tested))
    assert "Your test and your log disagree by" in text
    assert "were corrected" in text


def test_tests_that_agree_leave_the_gains():
    model, state = corrected(off=0.0)
    end = np.array(window().shares)[::-1]
    one, other = (each.gain(window(), end).mean(axis=0) for each in (model.fitted, state))
    assert other == pytest.approx(one, abs=1e-3 * np.abs(one).max())


def test_a_fit_takes_a_file_and_keeps_what_it_said(tmp_path):
    (tmp_path / "tests.toml").write_text(FILE)
    model = realloc.ReAlloc(CONFIG, quiet=True).fit(
        window(), experiments=tmp_path / "tests.toml"
    )
    model.save(tmp_path / "model")
    again = realloc.load(tmp_path / "model")
    assert again.fitted.main.tested == model.fitted.main.tested
    assert again.recommend(window(99)).equals(model.recommend(window(99)))
    later = model.update(window(1))
    assert later.fitted.main.tested == again.fitted.main.tested


def test_an_interval_stands_for_a_standard_error():
    one = ExperimentResult(
        name="geo",
        source="ads",
        target="coupon",
        share=0.1,
        effect=1.0,
        low=0.02,
        high=1.98,
    )
    assert one.standard_error == pytest.approx(0.5, rel=1e-3)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"low": 1.2, "high": 2.0}, "inside its own interval"),
        ({"low": 0.0, "high": 2.0, "error": 0.1}, "agree with its 95 % interval"),
        ({"error": None}, "`low` and `high`"),
        ({"error": 0.0}, "`error`.*above 0"),
        ({"share": 5.0}, "part of the budget"),
        ({"target": "ads"}, "two channels"),
        ({"effect": "much"}, "`effect`"),
        ({"lift": 3.0}, "Unknown key `lift`"),
    ],
)
def test_a_test_that_cannot_be_true_is_refused(change, sentence):
    given = {
        "name": "geo",
        "source": "ads",
        "target": "coupon",
        "share": 0.05,
        "effect": 1.0,
        "error": 0.5,
    }
    with pytest.raises(ConfigError, match=sentence):
        read_experiments([{**given, **change}])


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"source": "adz"}, "Unknown channel 'adz'.*Did you mean 'ads'"),
        ({"units": ("nobody",)}, "'nobody' is not among its 60 units"),
        ({"where": {"colour": "red"}}, "'colour'"),
        ({"where": {"s1": "red"}}, "none"),
        ({"share": 1.0}, "holds 100% of the budget"),
    ],
)
def test_a_test_of_other_rows_is_refused(change, sentence):
    given = {"name": "geo", "source": "ads", "target": "coupon", "share": 0.05}
    one = ExperimentResult(**{**given, "effect": 1.0, "error": 0.5, **change})
    model = fitted()
    with pytest.raises((ConfigError, LogError), match=sentence):
        apply_experiments(model.fitted, window(), (one,), model.config.decision)


def test_files_without_tests_and_names_twice_are_refused(tmp_path):
    path = tmp_path / "tests.toml"
    path.write_text("")
    with pytest.raises(ConfigError, match="at least one table"):
        read_experiments(path)
    path.write_text(FILE + FILE)
    with pytest.raises(ConfigError, match="twice"):
        read_experiments(path)
    path.write_text("[tests]\na = 1\n")
    with pytest.raises(ConfigError, match="got 'tests'"):
        read_experiments(path)


def test_only_rows_of_a_category_count():
    logs = window()
    kinds = pa.array(np.where(np.arange(len(logs)) % 2, "x", "y")).dictionary_encode()
    assert len(kinds) == len(logs)
    one = ExperimentResult(
        name="few",
        source="ads",
        target="coupon",
        share=0.01,
        effect=0.1,
        error=0.1,
        units=(logs.unit_name(0),),
    )
    rows = realloc.model.experiments.rows_of(logs, one)
    assert rows.sum() == (logs.unit_codes == 0).sum()


def _with(model, state):
    other = copy.copy(model)
    other.state = state
    return other
