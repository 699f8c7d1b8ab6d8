"""Boundaries against published ones, and the errors that looking makes."""

import numpy as np
import pytest
from scipy import stats

from realloc.evaluate.abtest.sequential import (
    boundaries,
    look_p_value,
    nominal_alpha,
    spent,
)

FIVE = (0.2, 0.4, 0.6, 0.8, 1.0)


def test_boundaries_are_those_of_ldbounds():
    # R package ldbounds, O'Brien-Fleming-type spending, two-sided α = .05, five equal looks.
    assert np.allclose(
        boundaries(FIVE, 0.05), [4.8769, 3.3569, 2.6803, 2.2898, 2.0310], atol=2e-4
    )


def test_one_look_is_the_plain_test():
    assert np.isclose(boundaries((1.0,), 0.05)[0], stats.norm.isf(0.025), atol=1e-6)
    assert nominal_alpha((1.0,), 1, 0.05) == 0.05
    assert look_p_value(0.03, (1.0,), 1) == 0.03
    assert np.isclose(spent(1.0, 0.05), 0.05)


def _walks(looks, repeats=20_000, drift=0.0):
    rng = np.random.default_rng(0)
    steps = np.diff([0.0, *looks])
    paths = np.cumsum(
        rng.standard_normal((repeats, len(looks))) * np.sqrt(steps) + drift * steps, axis=1
    )
    return paths / np.sqrt(looks)


@pytest.mark.parametrize(
    "looks", [FIVE, (0.1, 0.15, 1.0), tuple((k + 1) / 14 for k in range(14))]
)
def test_looking_often_inflates_the_naive_test_and_not_ours(looks):
    z = np.abs(_walks(looks))
    error = 4 * np.sqrt(0.05 * 0.95 / len(z))
    assert (z > stats.norm.isf(0.025)).any(axis=1).mean() > 0.07 + error
    assert abs((z > boundaries(looks, 0.05)).any(axis=1).mean() - 0.05) < error


def test_days_of_the_same_units_only_make_it_more_careful():
    """Items keep their level from day to day, so that later days tell less than the looks
    assume.
    """
    rng = np.random.default_rng(1)
    repeats, units, days = 2000, 60, 5
    level = rng.standard_normal((repeats, units, 1))
    running = np.cumsum(level + 0.5 * rng.standard_normal((repeats, units, days)), axis=2)
    treated = np.arange(units) < units // 2
    gap = running[:, treated].mean(axis=1) - running[:, ~treated].mean(axis=1)
    error = np.sqrt(
        (running[:, treated].var(axis=1, ddof=1) + running[:, ~treated].var(axis=1, ddof=1))
        / (units / 2)
    )
    p = 2 * stats.t.sf(np.abs(gap / error), units - 2)
    limits = 2 * stats.norm.sf(boundaries(FIVE, 0.05))
    slack = 3 * np.sqrt(0.05 * 0.95 / repeats)
    assert (p < limits).any(axis=1).mean() < 0.05 + slack
    assert (p < 0.05).any(axis=1).mean() > 0.05 + slack


def test_little_power_is_lost():
    z = np.abs(
        _walks(FIVE, drift=stats.norm.isf(0.025) + stats.norm.isf(0.2))
    )  # 80 % in a test with one look
    found = (z > boundaries(FIVE, 0.05)).any(axis=1).mean()
    assert 0.77 < found < 0.80


def test_the_p_value_of_a_look_is_below_alpha_where_its_boundary_is_crossed():
    for look, limit in enumerate(boundaries(FIVE, 0.05), start=1):
        at = look_p_value(float(2 * stats.norm.sf(limit)), FIVE, look)
        assert np.isclose(at, 0.05, rtol=1e-3)
    assert look_p_value(0.04, FIVE, 5) > 0.04
    assert look_p_value(0.5, FIVE, 1) == 1.0
    assert look_p_value(1e-40, FIVE, 5) == 1e-12


def test_looks_that_come_later_do_not_matter_now():
    assert np.isclose(
        boundaries((0.3, 0.6), 0.05)[1], boundaries((0.3, 0.6, 0.9, 1.0), 0.05)[1]
    )
