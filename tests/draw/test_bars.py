"""Mixes and counts: widths are what the numbers say."""

import pytest

from realloc.draw import MixRow, counts, mix_bars
from tests.draw.drawn import marks, numbers, texts

ROW = MixRow("all units", [0.5, 0.3, 0.2], [0.4, 0.45, 0.15], "gain +1.2")


def test_widths_are_shares():
    figure = mix_bars(["a", "b", "c"], [ROW])
    now = [numbers(mark, "width")[0] + 1 for mark in marks(figure, "today")]
    assert now[0] / now[2] == pytest.approx(2.5, rel=0.02)
    assert sum(now) > 300
    assert "45 %" in texts(figure)
    assert "gain +1.2" in texts(figure)


def test_the_sentence_names_what_rises_and_falls_most():
    assert mix_bars(["a", "b", "c"], [ROW]).sentence == (
        "b rises most, by 15.0 points; a falls most, by 10.0 points."
    )
    same = MixRow("x", [0.5, 0.5], [0.5, 0.5])
    assert mix_bars(["a", "b"], [same]).sentence == "Every mix stays as it is."


def test_more_channels_than_colours_share_a_grey_and_the_legend_says_so():
    part = [0.1] * 10
    figure = mix_bars([f"c{k}" for k in range(10)], [MixRow("x", part, part)])
    assert len(marks(figure, "cx")) == 2 * 2 + 1
    assert "others" in texts(figure) or "…" in texts(figure)


def test_counts_are_drawn_in_proportion_and_said():
    figure = counts({"moved": 30, "kept": 10}, "Reasons", highlighted=["moved"])
    (moved,) = marks(figure, "column")
    (kept,) = marks(figure, "muted")
    assert numbers(moved, "width")[0] == pytest.approx(
        3 * numbers(kept, "width")[0], rel=0.01
    )
    assert figure.sentence == "Most often: moved, 75 % of 40."
    assert "30 (75 %)" in texts(figure)
