"""Bounds on what a hidden cause does, against least squares that leave the cause out."""

from dataclasses import asdict

import numpy as np
import pytest

from realloc.base.simplex import close
from realloc.learn.hidden_cause import (
    FeatureStrength,
    HiddenCauses,
    compare_features,
    measure_hidden,
    strength_of,
)
from realloc.learn.window import Window

ROWS = 20_000
SLOPE = np.array([1.0, -0.5, -0.5])
FOLLOW = np.array([0.03, -0.02, -0.01])


def logged(seed: int = 0, effect: float = 1.0, channels: int = 3, features: int = 2):
    """Rows whose outcome and mix follow a cause that is no column of x, but may be one."""
    random = np.random.default_rng(seed)
    cause = random.standard_normal(ROWS)
    x = random.standard_normal((ROWS, features))
    shares = 1 / channels + 0.03 * random.standard_normal((ROWS, channels))
    shares[:, :3] += cause[:, None] * FOLLOW[:channels] + 0.02 * x[:, :1]
    shares = close(shares)
    outcome = 5 * (shares[:, :3] @ SLOPE[:channels]) + effect * cause + x[:, 0]
    outcome += random.standard_normal(ROWS)
    return x, shares, outcome, cause


def window(x, shares, outcome, names=("size", "age")):
    n = len(x)
    every = np.arange(n)
    columns = tuple(names[: x.shape[1]])
    return Window(
        x.astype(np.float32),
        shares,
        outcome,
        every % 5,
        every,
        np.ones(n),
        every % 7,
        None,
        columns,
    )


def residuals(x, values):
    design = np.column_stack([np.ones(len(x)), x])
    return values - design @ np.linalg.lstsq(design, values)[0]


def test_no_bias_is_larger_than_the_bound_and_the_largest_is_as_large():
    x, shares, outcome, cause = logged()
    left = residuals(x, shares)
    both = np.column_stack([x, shares[:, :-1]])
    noise = residuals(both, outcome).std()
    hidden = measure_hidden(window(x, shares, outcome), shares - left, noise)
    kept = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
    design = left @ kept
    slope = np.linalg.lstsq(design, residuals(x, outcome))[0]
    known = np.linalg.lstsq(np.column_stack([design, cause]), residuals(x, outcome))[0][:-1]
    of_move = 1 - residuals(design, cause).var() / cause.var()
    of_outcome = 1 - residuals(np.column_stack([both, cause]), outcome).var() / noise**2
    strength = strength_of(of_outcome, of_move)
    turns = np.linspace(0, np.pi, 60)
    moves = (
        0.05
        * np.column_stack([np.cos(turns), np.sin(turns)])
        @ np.array([[1, -1, 0], [1, 1, -2]] / np.sqrt([[2], [6]]))
    )
    start = np.full((60, 3), 1 / 3)
    bias = np.abs(moves @ kept @ (slope - known))
    bound = strength * hidden.offset(start, (start + moves)[:, None])[:, 0]
    assert (bias <= 1.02 * bound).all()
    assert (bias / bound).max() == pytest.approx(1.0, rel=0.02)


def test_a_recorded_cause_is_the_strongest_feature_and_shows_its_own_strength():
    x, shares, outcome, cause = logged()
    both = np.column_stack([x, shares[:, :-1]])
    expected = 1 - residuals(np.column_stack([both, cause]), outcome).var() / (
        residuals(both, outcome).var()
    )
    x = np.column_stack([x, cause])
    names = ("size", "age", "cause")
    first, *others = compare_features(window(x, shares, outcome, names))
    assert first.name == "cause"
    assert first.of_outcome == pytest.approx(expected, rel=0.02)
    assert all(other.times(1.0) < 0.1 * first.times(1.0) for other in others)


def test_twice_as_strong_is_stronger_and_nothing_has_no_strength():
    feature = FeatureStrength("price", 0.1, 0.05)
    assert 0 < feature.times(0.5) < feature.times(1.0) < feature.times(2.0) < np.inf
    assert np.isfinite(feature.times(100.0))
    assert FeatureStrength("day", 0.0, 0.3).times(5.0) == 0.0
    assert FeatureStrength("day", 0.3, 0.0).times(5.0) == 0.0


def test_a_share_that_never_moved_can_be_set_off_by_anything():
    x, shares, outcome, _ = logged()
    shares[:, 2] = 0.3
    shares[:, :2] = 0.7 * close(shares[:, :2])
    rows = window(x, shares, outcome)
    hidden = measure_hidden(rows, np.tile(shares.mean(axis=0), (ROWS, 1)), 1.0)
    start = np.array([[0.35, 0.35, 0.3]])
    moved, still = hidden.offset(start, np.array([[[0.4, 0.3, 0.3], [0.35, 0.3, 0.35]]]))[0]
    assert still > 100 * moved


def test_plain_values_come_back():
    x, shares, outcome, _ = logged()
    hidden = measure_hidden(window(x, shares, outcome), shares * 0 + 1 / 3, 1.5)
    assert HiddenCauses.from_json(asdict(hidden)) == hidden


def test_without_names_of_columns_there_is_nothing_to_compare():
    x, shares, outcome, _ = logged()
    rows = window(x, shares, outcome)
    assert compare_features(Window(*list(vars(rows).values())[:-1])) == ()
