"""The triangle: corners are whole budgets, and what is inside stays inside."""

import re

import numpy as np
import pytest

from realloc.draw import TernaryField, TernaryPlot, lattice, ternary
from realloc.draw.ternary import ARROW
from tests.draw.drawn import marks, numbers

CHANNELS = ["ads", "coupon", "rebate"]


def test_the_lattice_covers_the_triangle_once():
    centres = lattice(6)
    assert centres.shape == (36, 3)
    assert np.allclose(centres.sum(axis=1), 1)
    assert (centres > 0).all()
    assert np.allclose(centres.mean(axis=0), 1 / 3)


def test_a_whole_budget_is_a_corner():
    figure = ternary(CHANNELS, TernaryPlot(logged=np.eye(3)))
    places = np.array([numbers(mark, "cx", "cy") for mark in marks(figure, "logged")][:3])
    sides = [np.linalg.norm(places[k] - places[k - 1]) for k in range(3)]
    assert sides == pytest.approx([sides[0]] * 3, rel=1e-3)
    assert places[0][0] < places[2][0] < places[1][0]
    assert places[2][1] < places[0][1] == places[1][1]


def test_arrows_point_where_it_pays():
    ways = TernaryField(np.full((1, 3), 1 / 3), np.array([[-1.0, 1.0, 0.0]]))
    figure = ternary(CHANNELS, TernaryPlot(field=ways))
    course = marks(figure, "arrow")[0].attrib["d"]
    (x, y), (to_x, to_y) = (
        map(float, pair) for pair in re.findall(r"([\d.]+) ([\d.]+)", course)[:2]
    )
    assert to_y == y
    assert to_x - x == pytest.approx(ARROW, abs=0.2)


def test_the_sentence_says_where_the_move_goes_and_what_is_supported():
    plot = TernaryPlot(
        inside=np.arange(36) < 9,
        lattice=6,
        trace=np.array([[0.5, 0.3, 0.2], [0.4, 0.4, 0.2]]),
    )
    assert ternary(CHANNELS, plot).sentence == (
        "The move goes from ads towards coupon, by 10.0 points of the budget. "
        "The logs support 25 % of all mixes at this state."
    )
    kept = TernaryPlot(trace=np.array([[0.5, 0.3, 0.2]]))
    assert ternary(CHANNELS, kept).sentence == "The mix is kept."


def test_another_number_of_channels_is_said():
    figure = ternary(["a", "b"], TernaryPlot())
    assert figure.sentence == "A triangle shows three channels, and there are 2."
