"""Marks: texts are escaped and cut off, scales have round values."""

from realloc.draw.svg import (
    AxisScale,
    Rectangle,
    fit,
    label,
    rect,
    round_values,
    text,
    width_of,
)


def test_a_text_is_escaped():
    assert text((1, 2), "a < b") == '<text x="1" y="2">a &lt; b</text>'


def test_a_text_that_does_not_fit_shows_whole_when_pointed_at():
    shown = label((0, 0), "x" * 40, 70.0)
    assert f"<title>{'x' * 40}</title>" in shown
    assert f">{'x' * 9}…<" in shown
    assert "<title>" not in label((0, 0), "short", 70.0)


def test_a_mark_has_no_negative_size():
    assert 'width="0" height="0"' in rect(Rectangle(0, 0, -1, -1))


def test_a_title_of_a_mark_is_escaped():
    assert "<title>&lt;x&gt;</title>" in rect(Rectangle(0, 0, 1, 1), title="<x>")


def test_ticks_are_round_and_inside():
    assert round_values(0, 1, 5) == [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    assert round_values(-7, 23, 4) == [0.0, 10.0, 20.0]
    assert round_values(3, 3) == [3]
    assert round_values(0, 1e-9, 2) == [0.0, 5e-10, 1e-9]


def test_a_scale_maps_its_ends():
    scale = AxisScale(-1, 1, 100, 200)
    assert [scale(-1), scale(0), scale(1)] == [100, 150, 200]
    assert AxisScale(2, 2, 0, 10)(2) == 0


def test_widths_are_bounded():
    assert width_of([], 50) == 0
    assert width_of(["x" * 100], 50) == 50
    assert fit("ab", 1) == "ab"
