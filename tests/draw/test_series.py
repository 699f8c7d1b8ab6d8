"""Distributions and courses: counts add up, and what is not known leaves a gap."""

import numpy as np
import pytest

from realloc.draw import Series, bin_values, distribution, time_series
from tests.draw.drawn import marks, numbers, texts

DAYS = np.arange("2026-01-01", "2026-01-11", dtype="datetime64[D]")


def test_every_known_value_is_counted_once():
    values = np.append(np.random.default_rng(1).normal(size=1000), [np.nan, 1e9])
    edges, numbers_ = bin_values(values)
    assert numbers_.sum() == 1001
    assert edges[-1] < 10  # one far value does not flatten the others
    assert bin_values(np.ones(5))[1].sum() == 5


def test_zero_is_an_edge_where_values_lie_on_both_sides():
    edges, _ = bin_values(np.linspace(-1.03, 3, 500))
    assert np.abs(edges).min() == 0


def test_columns_are_as_tall_as_their_counts_and_losses_have_their_colour():
    edges = np.array([-1.0, 0.0, 1.0, 2.0])
    figure = distribution(edges, np.array([10, 20, 5]), "Gains", "gain")
    below = marks(figure, "loss")
    above = marks(figure, "column")
    assert len(below) == 1
    tall = [numbers(mark, "height")[0] for mark in (*below, *above)]
    assert tall[1] == pytest.approx(2 * tall[0], rel=0.01)
    assert "29 % lie below 0." in figure.sentence


def test_an_unknown_value_leaves_a_gap():
    values = np.arange(10.0)
    values[4] = np.nan
    figure = time_series([Series("gain", DAYS, values)], "Gain", "orders")
    assert len(marks(figure, "curve")) == 2
    assert figure.sentence == "gain goes from 0 to 9."
    assert texts(figure)[-1] == "↑ orders"
    assert "2026-01-01" in texts(figure)
    assert ("gain", "2026-01-05", "not known") in figure.rows


def test_many_lines_get_a_legend_instead_of_names_at_their_ends():
    lines = [Series(f"line {k}", DAYS, np.arange(10.0) + k) for k in range(6)]
    assert len(marks(time_series(lines, "Many"), "curve")) == 6
    assert texts(time_series(lines, "Many"))[0] == "line 0"


def test_hours_are_shown_where_they_matter():
    hours = np.arange("2026-01-01T00", "2026-01-01T06", dtype="datetime64[h]")
    figure = time_series([Series("gain", hours, np.arange(6.0))], "Gain")
    assert "2026-01-01 05:00" in texts(figure)
