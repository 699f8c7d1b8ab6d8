"""Tests correct gains by closed forms; one that contradicts all others is left out."""

from dataclasses import asdict

import numpy as np
import pytest

from realloc.learn.hidden_cause import HiddenCauses, as_rows
from realloc.learn.tested import EffectReading, GainCorrection, learn_from_tests
from tests.small import student_of, updated, window

BIAS = np.array([-4.0, 1.0, 3.0])
HIDDEN = HiddenCauses(2.0, as_rows(20 * (np.eye(3) - 1 / 3)), ())
PAIRS = {"ab": (-0.1, 0.1, 0.0), "ac": (-0.1, 0.0, 0.1), "bc": (0.0, -0.1, 0.1)}


def reading(name, effect, error=0.05, predicted=0.5):
    return EffectReading(name, name, 100, effect, error, predicted, 0.02, PAIRS[name])


def biased(error=0.02, wrong=None):
    """Tests of a log whose gains are off by BIAS · move."""
    effects = {name: 0.5 + float(BIAS @ np.array(move)) for name, move in PAIRS.items()}
    if wrong:
        effects[wrong] -= 1.5
    return tuple(reading(name, effect, error) for name, effect in effects.items())


def test_a_bias_that_all_tests_show_is_found():
    found = learn_from_tests(biased(), HIDDEN)
    assert np.array(found.slope) == pytest.approx(BIAS, abs=0.4)
    assert sum(found.slope) == pytest.approx(0.0, abs=1e-9)
    assert all(abs(one.apart) > 3 and not one.left_out for one in found.tests)
    prior = found.size**2 * 4 * 20
    assert 0 < np.array(found.covariance)[0, 0] < 0.1 * prior


def test_tests_that_agree_with_the_log_change_next_to_nothing():
    agreeing = tuple(reading(name, 0.5) for name in PAIRS)
    found = learn_from_tests(agreeing, HIDDEN)
    assert np.abs(found.slope).max() < 1e-9
    assert found.size < 0.05


def test_unsure_tests_correct_less_than_sure_ones():
    sure, unsure = (
        np.linalg.norm(learn_from_tests(biased(error), HIDDEN).slope)
        for error in (0.02, 1.0)
    )
    assert unsure < 0.3 * sure


@pytest.mark.parametrize("wrong", PAIRS)
def test_a_wrong_test_is_named_and_left_out(wrong):
    agreeing = tuple(
        reading(name, 0.5 if name != wrong else -1.0, error=0.05) for name in PAIRS
    )
    found = learn_from_tests(agreeing, HIDDEN)
    assert [one.name for one in found.tests if one.left_out] == [wrong]
    assert np.abs(found.slope).max() < 1e-9


def test_of_two_tests_none_is_called_wrong():
    found = learn_from_tests(biased()[:2], HIDDEN)
    assert not any(one.left_out for one in found.tests)


def test_the_student_gains_exactly_the_correction_and_keeps_it_through_plain_values():
    found = learn_from_tests(biased(), HIDDEN)
    assert GainCorrection.from_json(asdict(found)) == found
    student = student_of(updated())
    corrected = found.correct(student)
    logs = window(99)
    x = updated().fitted.encode(logs)
    start, end = np.array(logs.shares), np.array(logs.shares)[::-1]
    every = np.arange(len(logs))
    before, after = (
        one.read(x).mean_gain(every, start, end[:, None])[:, 0]
        for one in (student, corrected)
    )
    expected = (end - start) @ np.array(found.slope)
    assert after - before == pytest.approx(expected, abs=2e-3 * np.abs(expected).max())


def test_later_labels_hold_the_correction():
    found = learn_from_tests(biased(), HIDDEN)
    labels = updated().fitted.main.memory
    changed = found.correct_labels(labels)
    slope = np.array(found.slope)
    expected = slope[labels.target] - slope[labels.source]
    assert (changed.pair - labels.pair)[0] == pytest.approx(expected, abs=1e-3)
    assert (changed.field - labels.field)[0, 0, 0] == pytest.approx(slope, abs=1e-3)
    assert changed.pair.dtype == labels.pair.dtype
