"""What a hidden cause could do to a batch, beside recorded features."""

from dataclasses import replace

import numpy as np
import pytest

import realloc
from realloc import LogError
from realloc.decide.constraints.constraints import Constraints
from realloc.model.sensitivity import judge_sensitivity
from tests.small import fitted, updated, window


def test_each_sentence_is_of_the_figures():
    found = fitted().sensitivity(window(99))
    text = str(found)
    assert found.moved > 10
    assert 0 < found.robustness < 1
    assert f"{found.robustness:.0%}".replace("%", " %") in text
    assert repr(found.features[0].feature) in text
    assert found.to_json()["moved"] == found.moved


def test_the_confounders_of_the_world_are_the_strongest_features():
    names = [one.feature for one in fitted().sensitivity(window(99)).features]
    assert set(names[:3]) == {"c1", "c2", "c3"}


def test_a_cause_that_undoes_the_total_leaves_nothing():
    for one in fitted().sensitivity(window(99)).features:
        if one.times < 1:
            assert one.gain_left < 0
        else:
            assert one.gain_left >= 0


def test_the_column_is_zero_where_nothing_moves_and_survives_saving(tmp_path):
    model = updated()
    table = model.recommend(window(99))
    robustness = table["robustness"].to_numpy()
    moved = table["moved"].to_numpy()
    assert (robustness[moved] > 0).all()
    assert (robustness[~moved] == 0).all()
    model.save(tmp_path / "model")
    again = realloc.load(tmp_path / "model")
    assert again.recommend(window(99)).equals(table)
    assert str(again.sensitivity(window(99))) == str(model.sensitivity(window(99)))


def test_a_gate_keeps_the_moves_that_withstand_more():
    model = fitted()
    table = model.recommend(window(99))
    border = float(np.median(table["robustness"].to_numpy()[table["moved"].to_numpy()]))
    decision = replace(model.config.decision, min_robustness=border)
    kept = model.decide_with(decision, model.config.constraints).recommend(window(99))
    moved = kept["moved"].to_numpy()
    assert 0 < moved.sum() < table["moved"].to_numpy().sum()
    assert (kept["robustness"].to_numpy()[moved] >= border).all()
    assert "hidden cause (min_robustness)" in kept["limited_by"].to_pylist()


def test_no_move_and_no_residuals_have_their_sentences():
    model = fitted()
    still = Constraints(frozen=("ads", "coupon", "rebate"))
    model.config = replace(model.config, constraints=still)
    assert "Nothing is moved" in str(model.sensitivity(window(99)))
    with pytest.raises(LogError, match="not known"):
        judge_sensitivity(model.decide(window(99)), None)
