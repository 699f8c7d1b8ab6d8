"""From → to: colours only where an interval leaves 0 out, and totals that add up."""

import numpy as np

from realloc.draw import PairGain, flow_matrix, gain_matrix
from tests.draw.drawn import marks, texts

PAIRS = {
    ("a", "b"): PairGain(0.05, 0.01, 0.09),
    ("b", "a"): PairGain(-0.05, -0.09, -0.01),
    ("a", "c"): PairGain(0.02, -0.02, 0.06),
}


def test_only_certain_gains_are_coloured():
    figure = gain_matrix(["a", "b", "c"], PAIRS, unit="orders a row")
    assert len(marks(figure, "gain")) == 1
    assert len(marks(figure, "loss")) == 1
    assert len(marks(figure, "cell")) == 1
    assert figure.sentence.startswith(
        "a → b is worth most, +0.05 orders a row (95 % interval +0.01 to +0.09)."
    )


def test_an_uncertain_best_move_is_called_so():
    figure = gain_matrix(["a", "c"], {("a", "c"): PAIRS["a", "c"]})
    assert "its interval includes 0, so this is not certain" in figure.sentence


def test_many_channels_leave_the_intervals_to_the_numbers():
    names = [f"c{k}" for k in range(9)]
    pairs = {(a, b): PairGain(0.05, 0.01, 0.09) for a in names for b in names if a != b}
    figure = gain_matrix(names, pairs)
    assert "+0.050" in texts(figure)
    assert not any(" to " in text for text in texts(figure))
    assert len(figure.rows) == 72


def test_flows_have_totals_of_givers_and_takers():
    flows = np.array([[0, 30, 10], [0, 0, 5], [0, 0, 0]], dtype=float)
    figure = flow_matrix(["a", "b", "c"], flows, 900.0)
    assert figure.sentence == (
        "45 changes hands (5.0 % of all money); the largest flow is a → b, 30."
    )
    for total in ("40", "15", "45", "30"):
        assert total in texts(figure)
    assert [row[:2] for row in figure.rows] == [("a", "b"), ("a", "c"), ("b", "c")]
