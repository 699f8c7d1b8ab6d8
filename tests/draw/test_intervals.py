"""Intervals and calibration: every value stands where its number says."""

import pytest

from realloc.draw import Bar, Point, calibration, intervals
from tests.draw.drawn import marks, numbers, parse

NAN = float("nan")


def test_values_and_limits_share_one_scale_with_zero():
    bars = [Bar("orders", 1.0, -1.0, 3.0), Bar("cost", -2.0, -3.0, -1.0, limit=-2.5)]
    figure = intervals(bars, "Effects", unit="%")
    shown = {text.text: numbers(text, "x")[0] for text in parse(figure).iter("text")}
    zero, two = shown["0 %"], shown["+2 %"]
    first, second = marks(figure, "range")
    low, high = numbers(first, "x1", "x2")
    assert (high - zero) / (two - zero) == pytest.approx(1.5, rel=0.02)
    assert zero - low == pytest.approx((two - zero) / 2, rel=0.02)
    assert numbers(second, "x2")[0] < zero
    assert len(marks(figure, "dot")) == 2
    assert len(marks(figure, "limit")) == 1
    assert figure.sentence == "Of 2 intervals 0 lie above 0, 1 below, 1 on both sides."


def test_what_has_no_interval_is_left_out():
    some = intervals([Bar("x", 1.0, NAN, NAN), Bar("y", 1.0, 0.5, 2.0)], "One")
    assert len(marks(some, "dot")) == 1
    assert some.sentence == "The interval of y lies above 0."


def test_calibration_draws_every_group_and_the_line_of_equals():
    points = [Point(0.0, 0.1, -0.2, 0.4), Point(2.0, 1.5, 1.0, 1.8)]
    figure = calibration(points, "Gains")
    (first, second) = (numbers(mark, "cx", "cy") for mark in marks(figure, "dot"))
    assert second[0] > first[0]  # further right
    assert second[1] < first[1]  # higher
    assert len(marks(figure, "limit")) == 1
    assert "runs through the interval of 1 of 2 groups" in figure.sentence
