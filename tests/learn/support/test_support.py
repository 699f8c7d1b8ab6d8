from dataclasses import replace

import numpy as np
import pytest

from realloc.learn.support.config import SupportConfig
from realloc.learn.support.support import fit_support
from tests.geometry import from_log_ratio
from tests.learn.support.drawn import (
    QUIET,
    bent,
    bent_support,
    binomial_room,
    drawn,
    logged_of,
    with_zeros,
    zero_support,
)
from tests.small import same_bits


def radii(support, x, shares, margin=0.0):
    return support.density.at(x).radius(np.arange(len(x)), shares[:, None], margin)[:, 0]


# Calibration


@pytest.mark.parametrize("level", [0.95, 0.99])
@pytest.mark.parametrize("regime", ["benign", "extreme"])
def test_fresh_units_lie_inside_at_the_nominal_rate(regime, level):
    one = drawn(regime)
    support = replace(
        one.support, config=replace(one.support.config, level=level, margin=0.0)
    )
    covered = support.at(one.x).inside(one.rows, one.shares[:, None])[:, 0].mean()
    assert abs(covered - level) < binomial_room(level, len(one), len(support.logged))


def test_a_border_taken_from_the_rows_of_the_fit_itself_would_cover_too_little():
    """The negative control of calibration on held-out units: many columns, few rows."""
    random = np.random.default_rng(0)
    x = random.normal(size=(2000, 40)).astype(np.float32)
    shares = from_log_ratio(
        0.3 * random.standard_normal((2000, 2)) * np.exp(0.4 * np.tanh(x[:, :1]))
    )
    support = fit_support(logged_of(x[:300], shares[:300]), QUIET, 0)
    held_out = support.ranks.at(0.95)
    own = np.quantile(radii(support, x[:300], shares[:300]), 0.95)
    found = radii(support, x[300:], shares[300:])
    assert own < held_out
    assert (found <= own).mean() < (found <= held_out).mean()


def test_coverage_holds_where_the_additive_model_is_wrong():
    x, shares, _ = bent(3000, seed=9)
    support = bent_support()
    covered = (radii(support, x, shares) <= support.ranks.at(0.95)).mean()
    assert abs(covered - 0.95) < binomial_room(0.95, 3000, 3000)


# The border


def test_the_margin_shrinks_the_region_and_never_lets_a_place_in():
    one = drawn("benign")
    narrow, wide = (
        replace(one.support, config=replace(one.support.config, margin=margin))
        .at(one.x)
        .inside(one.rows, shares)
        for margin, shares in ((2.0, one.shares[:, None]), (0.0, one.shares[:, None]))
    )
    assert not (narrow & ~wide).any()
    assert narrow.sum() < wide.sum()


def test_with_its_margin_hardly_anything_inside_is_outside_the_true_region():
    one = drawn("benign")
    true_limit = np.quantile(one.law.distance(one.shares), 0.95)
    wrong = {}
    for margin in (0.0, 2.0):
        support = replace(one.support, config=replace(one.support.config, margin=margin))
        inside = support.at(one.x).inside(one.rows, one.shares[:, None])[:, 0]
        wrong[margin] = (one.law.distance(one.shares)[inside] > true_limit).mean()
    assert wrong[2.0] < 0.005
    assert wrong[2.0] < wrong[0.0] / 2


def test_the_standard_error_of_the_border_is_honest():
    """Radius against true distance near the border, in units of the members' own standard error."""
    one = drawn("benign")
    border = one.support.density.at(one.x)
    found, true = (
        border.radius(one.rows, one.shares[:, None])[:, 0],
        np.sqrt(one.law.distance(one.shares)),
    )
    near = (true > 2.0) & (true < 3.5)
    error = found - true * np.median(found[near] / true[near])
    se = np.sqrt(border.centre_variance + np.square(found) * border.scale_variance)
    assert 0.6 < np.sqrt(np.square(error[near] / se[near]).mean()) < 1.5


# Ways


def with_a_hole():
    """Logged shares along a bow: in log-ratios far along one axis and narrow along the other."""
    random = np.random.default_rng(0)
    u = random.standard_normal((800, 2)) * [3.0, 0.15] + [0.0, -2.0]
    x = random.normal(size=(800, 2)).astype(np.float32)
    return fit_support(logged_of(x, from_log_ratio(u)), QUIET, 0), from_log_ratio(
        np.array([[-3.5, -2.0], [3.5, -2.0]])
    )


def test_a_way_through_a_hole_is_refused_although_both_ends_are_inside():
    support, ends = with_a_hole()
    opened, row = support.at(support.logged.x[:1]), np.array([0])
    assert opened.inside(
        row, ends[None]
    ).all()  # a check of the ends alone would let it pass
    assert not opened.allowed(row, ends[:1], ends[None, 1:]).any()
    assert opened.allowed(row, ends[:1], ends[None, :1]).all()


def test_the_score_is_that_of_the_worst_point_of_the_way():
    support, ends = with_a_hole()
    opened, row = support.at(support.logged.x[:1]), np.array([0])
    by_end = [opened.score(row, end[None], end[None])[0] for end in ends]
    through = opened.score(row, ends[:1], ends[1:])[0]
    assert min(by_end) > 1 - support.config.level
    assert through < 1 - support.config.level
    assert through >= 0


def test_allowed_is_inside_at_every_tenth_of_the_way():
    one = drawn("benign")
    opened, rows = one.support.at(one.x), one.rows[:300]
    random = np.random.default_rng(0)
    ends = one.shares[:300, None] * np.exp(0.4 * random.standard_normal((300, 5, 3)))
    ends /= ends.sum(axis=2, keepdims=True)
    s = np.linspace(0, 1, 11)[:, None, None, None]
    way = (1 - s) * one.shares[:300, None] + s * ends  # (11, n, 5, K)
    every = np.all([opened.inside(rows, places) for places in way], axis=0)
    found = opened.allowed(rows, one.shares[:300], ends)
    assert np.array_equal(found, every)
    assert 0.1 < found.mean() < 0.9


# Zeros


def test_logs_with_zeros_are_compared_on_the_sphere_and_scores_are_scores():
    support = zero_support()
    assert support.density.kind == "sphere"
    x, shares = with_zeros(200, seed=5)
    rows, opened = np.arange(200), support.at(x)
    ends = np.concatenate([shares[::-1, None], np.eye(4)[None].repeat(200, 0)], axis=1)
    for score in (opened.omega(rows, ends), opened.score(rows, shares, shares[::-1])):
        assert np.isfinite(score).all()
        assert ((score >= 0) & (score <= 1)).all()
    assert opened.allowed(rows, shares, ends).any()


def test_a_set_of_channels_that_was_never_logged_is_refused():
    support = zero_support()
    x = support.logged.x[:1]
    opened, row = support.at(x), np.array([0])
    known, unknown = np.array([[0.4, 0.3, 0.3, 0.0]]), np.array([[0.4, 0.3, 0.29, 0.01]])
    assert opened.inside(row, known[None]).all()
    assert (
        opened.border.radius(row, unknown[None], 2.0) <= opened.limit
    )  # only the set of channels speaks against it
    assert not opened.inside(row, unknown[None]).any()
    assert not opened.allowed(row, known, unknown[None]).any()
    assert opened.score(row, known, unknown)[0] == 0
    assert opened.score(row, known, known)[0] > 0


def test_a_rare_set_of_channels_may_stay_where_each_two_were_logged_together():
    """Of five channels the last two were never used together, and the first three never alone."""
    random = np.random.default_rng(7)
    x = random.normal(size=(2000, 2)).astype(np.float32)
    active = random.random((2000, 5)) < 0.7
    active[:, 4] &= ~active[:, 3]
    active[:, 3] |= ~active[:, 4]
    active[:, :2] |= ~active[:, 2:3]
    amounts = np.where(active, np.exp(0.3 * random.normal(size=(2000, 5))), 0.0)
    logged = logged_of(x, amounts / amounts.sum(axis=1, keepdims=True))
    support = fit_support(logged, SupportConfig(coordinates="partial"), 0)
    row = np.array([0])
    opened = support.at(x[row])
    rare = np.array([[1, 1, 1, 0, 0]]) / 3
    near = np.array([[0.35, 0.33, 0.32, 0, 0]])
    assert not opened.inside(row, near[None]).any()
    assert opened.allowed(row, rare, near[None]).all()
    assert opened.score(row, rare, near)[0] > 0.05
    closed = np.array([[0.5, 0.5, 0, 0, 0]])  # another set that was never logged
    assert not opened.inside(row, closed[None], rare).any()
    never_together = np.array([[0.3, 0.3, 0, 0.2, 0.2]])
    assert not opened.inside(row, never_together[None], never_together).any()


def test_zeros_of_log_ratio_supports_are_far_but_not_nan():
    one = drawn("benign")
    ends = np.eye(3)[None].repeat(len(one), 0)
    opened = one.support.at(one.x)
    assert not opened.inside(one.rows, ends).any()
    score = opened.score(one.rows, one.shares, ends[:, 0])
    assert np.isfinite(score).all()
    assert score.max() <= 1 / (len(one.support.logged) + 1)


# Sizes and files


@pytest.mark.parametrize("channels", [2, 50])
@pytest.mark.parametrize("zeros", [False, True])
def test_few_and_many_channels(channels, zeros):
    """Also that the shape of the region is not learned from the rows that calibrate it: with 50
    channels it would show.
    """
    random = np.random.default_rng(3)
    amounts = random.gamma(3.0, size=(1300, channels))
    if zeros:
        amounts[random.random(1300) < 0.3, -1] = 0.0
    shares = amounts / amounts.sum(axis=1, keepdims=True)
    x = random.normal(size=(1300, 3)).astype(np.float32)
    support = fit_support(logged_of(x[:300], shares[:300]), SupportConfig(level=0.9), 0)
    x, shares = x[300:], shares[300:]
    rows, opened = np.arange(1000), support.at(x)
    covered = (opened.border.radius(rows, shares[:, None]) <= opened.limit).mean()
    assert covered > 0.9 - binomial_room(0.9, 1000, 300)
    assert covered < 0.98
    ends = np.stack([shares, np.eye(channels)[rows % 2 - 2]], axis=1)
    for score in (opened.omega(rows, ends), opened.score(rows, shares, ends[:, 1])):
        assert ((score >= 0) & (score <= 1)).all()
    forbidden = opened.allowed(rows, shares, ends[:, 1:])[
        rows % 2 == 1
    ]  # everything in the channel that may be empty
    assert not forbidden.any()
    assert opened.inside(rows, ends[:, :1]).mean() > 0.5


def test_the_same_seed_gives_the_same_support_and_another_seed_other_members():
    logged = logged_of(*with_zeros(400))
    one, same, other = (fit_support(logged, QUIET, seed) for seed in (0, 0, 1))
    assert same_bits(one.density.centres, same.density.centres)
    assert same_bits(one.ranks.values, same.ranks.values)
    assert not np.array_equal(one.density.centres, other.density.centres)


def test_no_rows_are_no_problem():
    opened = zero_support().at(np.empty((0, 3), np.float32))
    none, ends = np.empty(0, np.int64), np.empty((0, 5, 4))
    assert opened.allowed(none, ends[:, 0], ends).shape == (0, 5)
    assert opened.omega(none, ends).shape == (0, 5)
    assert opened.score(none, ends[:, 0], ends[:, 0]).shape == (0,)
    assert opened.neighbours(none, ends[:, 0]).nearest.shape[0] == 0
