"""Money between channels: what leaves one arrives at another."""

import re

import numpy as np
import pytest

from realloc.draw import money_flow
from realloc.draw.sankey import TALL
from tests.draw.drawn import marks, numbers, texts

FLOWS = np.array([[0.0, 50.0], [0.0, 0.0]])


def test_blocks_are_as_tall_as_their_money():
    figure = money_flow(["a", "b"], [300.0, 100.0], FLOWS)
    tall = [numbers(mark, "height")[0] for mark in marks(figure, "fill")]
    assert tall == pytest.approx(
        [TALL * 3 / 4, TALL * 250 / 400, TALL / 4, TALL * 150 / 400], abs=0.1
    )
    assert figure.sentence == "50 of 400 changes hands (12 %): b +50, a −50."
    assert "250 (62 %)" in texts(figure)


def test_what_stays_is_pale_and_what_moves_is_strong():
    figure = money_flow(["a", "b"], [300.0, 100.0], FLOWS)
    assert len(marks(figure, "stays")) == 2
    (moved,) = [
        mark for mark in marks(figure, "ribbon") if "stays" not in mark.attrib["class"]
    ]
    top = re.search(r"M\d+ ([\d.]+)C", moved.attrib["d"])
    foot = re.search(r"([\d.]+)Z$", moved.attrib["d"])
    assert top is not None
    assert foot is not None
    assert float(foot[1]) - float(top[1]) == pytest.approx(TALL * 50 / 400, abs=0.2)


def test_more_than_six_channels_become_a_matrix():
    names = [f"c{k}" for k in range(7)]
    flows = np.zeros((7, 7))
    flows[0, 1] = 5.0
    figure = money_flow(names, np.ones(7), flows, "Flows")
    assert {"gives", "gets"} <= set(texts(figure))
    assert figure.title == "Flows"


def test_where_nothing_moves_it_says_so():
    assert money_flow(["a", "b"], [1.0, 2.0], np.zeros((2, 2))).sentence == (
        "All 3 stays where it is."
    )
