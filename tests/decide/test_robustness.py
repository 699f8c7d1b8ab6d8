"""How strong a hidden cause must be: figures that can be worked out by hand."""

from dataclasses import replace

import numpy as np
import pytest

from realloc.decide.config import DecisionConfig
from realloc.decide.decide import decide
from realloc.decide.robustness import (
    SINGLE,
    RobustnessSum,
    offset_of,
    offsets,
    robustness_of,
)
from realloc.decide.types import HIDDEN_CAUSE
from realloc.learn.hidden_cause import strength_of
from tests.decide.test_decide import CONFIG, START, kept, linear, problem, reasons


def per_way(factor):
    return lambda rows, start, ends: factor * np.linalg.norm(ends - start[:, None], axis=-1)


def test_a_cause_of_that_robustness_makes_the_gain_zero():
    gain = np.array([0.1, 1.0, 7.0])
    offset = np.array([1.0, 2.0, 3.0])
    found = robustness_of(gain, offset)
    biases = [strength_of(r, r) * off for r, off in zip(found, offset, strict=True)]
    assert biases == pytest.approx(gain)
    assert offset_of(gain, found) == pytest.approx(offset)


def test_no_gain_no_robustness_and_unknown_stays_unknown():
    found = robustness_of(np.array([0.0, -1.0, 1.0]), np.array([1.0, 1.0, np.nan]))
    assert found[:2].tolist() == [0.0, 0.0]
    assert np.isnan(found[2])


def test_outcomes_of_the_objective_add_up_and_guardrails_do_not_count():
    first = replace(linear((0, 1, 0)), hidden=per_way(2.0))
    second = replace(linear((0, 1, 0), name="gmv", weight=-0.5), hidden=per_way(4.0))
    watched = linear((0, 1, 0), name="returns", weight=0.0, tolerance=0.0)
    end = START + np.array([-0.1, 0.1, 0.0])
    found = offsets((first, second, watched), np.arange(3), START, end)
    assert found == pytest.approx(SINGLE * 4.0 * np.sqrt(0.02))
    assert np.isnan(offsets((linear((0, 1, 0)),), np.arange(3), START, end)).all()


def test_rows_that_a_weak_cause_could_undo_are_kept():
    easy = replace(linear((0, 1, 0)), hidden=per_way(0.5))
    hard = replace(linear((0, 1, 0)), hidden=per_way(20.0))
    careful = replace(CONFIG, min_robustness=0.2)
    assert decide(problem(outcomes=(easy,)), careful).moved.all()
    found = decide(problem(outcomes=(hard,)), careful)
    assert kept(found)
    assert reasons(found) == {("uncertain", HIDDEN_CAUSE)}


def test_where_robustness_is_not_known_a_gate_moves_nothing():
    found = decide(problem(), DecisionConfig(min_robustness=0.01))
    assert kept(found)


def test_sums_of_parts_are_the_sum_and_a_total_is_bounded_by_cauchy_and_schwarz():
    random = np.random.default_rng(0)
    gain = random.uniform(0.1, 1, 50)
    offset = random.uniform(0.5, 2, 50)
    robustness = robustness_of(gain, offset)
    total = RobustnessSum.of(gain, robustness)
    parts = RobustnessSum.of(gain[:20], robustness[:20]) + RobustnessSum.of(
        gain[20:], robustness[20:]
    )
    assert parts.offset == pytest.approx(total.offset)
    assert SINGLE * total.offset >= offset.sum()
    assert total.robustness == pytest.approx(
        float(robustness_of(np.array([gain.sum()]), np.array([total.offset]))[0])
    )
    assert RobustnessSum().robustness == 0.0
