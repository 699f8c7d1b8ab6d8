"""Figures of a model: what they show is what the model says."""

import pytest

from realloc import LogError, load
from realloc.decide.types import REASONS
from tests.draw.drawn import marks
from tests.small import fitted, today, window


def test_gains_are_the_effects():
    model = fitted()
    figure = model.plot.gains(today())
    assert len(figure.rows) == int(model.effects(today()).value.notna().sum()) == 6
    assert "orders per row" in figure.sentence


def test_flows_and_reasons_are_those_of_the_decisions():
    model = fitted()
    answers = model.recommend(today())
    moved = int(answers.moved.sum())
    table = {row[0]: row[1] for row in model.plot.reasons(today()).rows}
    assert table[REASONS["moved"]] == f"{moved:,}"
    money = (answers.moved_share * today()[["budget"]].to_numpy()[:, 0]).sum()
    assert f"{money:.2f}"[:4] in model.plot.flows(today()).sentence


def test_a_unit_of_three_channels_is_a_triangle_with_its_support_and_move():
    model = fitted()
    unit = today().item_id.iloc[0]
    figure = model.plot.unit(today(), unit)
    end = model.explain(today(), unit).rows[-1]["recommended"]
    assert figure.rows[-1][0] == "recommended"
    assert figure.rows[-1][1] == f"{end[0]:.0%}".replace("%", " %")
    assert marks(figure, "region")
    assert marks(figure, "arrow")


def test_other_numbers_of_channels_are_bars():
    model = fitted(2)
    rows = window(1, channels=2)
    unit = str(rows.units[0])
    assert "mix, now and recommended" in model.plot.unit(rows, unit).title


def test_without_rows_the_last_window_stands_for_today_and_a_loaded_model_asks(tmp_path):
    model = fitted()
    assert model.plot.gains().rows == model.plot.gains(model.last_window.today).rows
    model.save(tmp_path / "model")
    with pytest.raises(LogError, match="Hand in rows of today."):
        load(tmp_path / "model").plot.reasons()
