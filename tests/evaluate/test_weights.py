import numpy as np
import pytest
from scipy.stats import t

from realloc.base.errors import LogError
from realloc.evaluate.bootstrap import Bootstrap
from realloc.evaluate.weights import (
    ActionKernel,
    Term,
    default_bandwidth,
    effective_size,
    menu_weights,
    target_arms,
    target_mix,
    target_shares,
    weighted_mean,
)
from tests.evaluate.drawn import CHANCES, density_rows, menu_rows

ROWS = menu_rows(units=20, days=2)
CLUSTER, BOOTSTRAP = None, Bootstrap(draws=1000)


def test_menu_weights_are_chance_over_propensity():
    target = target_mix(ROWS, np.tile([0.2, 0.5, 0.3], (40, 1)))
    assert np.allclose(
        menu_weights(ROWS, target.probabilities),
        (np.array([0.2, 0.5, 0.3]) / CHANCES)[ROWS.drawn],
    )


def test_target_shares_go_to_the_nearest_arm_within_the_tolerance():
    shares = ROWS.start + np.array([0.09, -0.09])
    found = target_shares(ROWS, shares, tolerance=0.02)
    assert found.on_menu.all()
    assert (found.probabilities.argmax(axis=1) == 1).all()
    assert np.allclose(found.distance, 0.01)
    assert not target_shares(
        ROWS, ROWS.start + np.array([0.05, -0.05]), tolerance=0.02
    ).on_menu.any()


def test_an_arm_that_a_row_could_not_get_is_off_the_menu():
    probabilities = ROWS.probabilities.copy()
    row = int(np.flatnonzero(ROWS.drawn == 0)[0])
    probabilities[row] = [0.7, 0.0, 0.3]
    rows = type(ROWS)(**{**vars(ROWS), "probabilities": probabilities})
    assert np.flatnonzero(~target_arms(rows, np.ones(40, dtype=int)).on_menu).tolist() == [
        row
    ]
    # Shares are taken to the nearest arm that the row could get, here too far.
    assert np.flatnonzero(
        ~target_shares(rows, rows.start + rows.moves[1]).on_menu
    ).tolist() == [row]


def test_targets_that_are_none_are_refused():
    with pytest.raises(LogError, match="Expected one arm from 0 to 2"):
        target_arms(ROWS, np.full(40, 3))
    with pytest.raises(
        LogError, match="Expected a target's chances of at least 0 that sum to 1"
    ):
        target_mix(ROWS, np.full((40, 3), 0.5))
    with pytest.raises(LogError, match=r"Expected chances of shape \(40, 3\)"):
        target_mix(ROWS, np.ones((40, 2)))
    with pytest.raises(
        LogError, match="Expected target shares of at least 0 that sum to 1"
    ):
        target_shares(ROWS, ROWS.start + 0.1)


@pytest.mark.parametrize(
    ("alpha", "target"),
    [
        ((2.0, 2.0, 2.0), (0.3, 0.4, 0.3)),
        ((1.0, 2.0, 2.0), (0.02, 0.49, 0.49)),  # part of the kernel is off the simplex
        ((2.0, 3.0), (0.4, 0.6)),
        ((2.0, 2.0, 2.0, 2.0), (0.2, 0.2, 0.3, 0.3)),
    ],
)
def test_kernel_weights_average_to_one(alpha, target):
    rows = density_rows(8000, alpha, seed=3)
    weights, kept = ActionKernel(rows, np.tile(target, (8000, 1)), 0.15).weights(points=256)
    assert kept.all()
    error = weights.std() / np.sqrt(8000)
    assert (
        abs(weights.mean() - 1) < 4 * error + 0.02
    )  # and what 256 points miss of the kernel's part on the simplex
    assert error < 0.05  # close enough to see a kernel that lacks a factor


def test_a_target_far_outside_the_densitys_support_is_not_valued():
    rows = density_rows(500, known=True)
    known = rows.density_at
    half = type(rows)(**{**vars(rows), "density_at": None})
    object.__setattr__(half, "density_at", lambda p, r: known(p, r) * (p[:, 0] < 0.4))
    kept = ActionKernel(half, np.tile([0.7, 0.2, 0.1], (500, 1)), 0.1).weights()[1]
    assert not kept.any()


def test_the_bandwidth_shrinks_with_rows():
    assert default_bandwidth(density_rows(500)) > default_bandwidth(density_rows(5000)) > 0


def test_effective_size():
    assert effective_size(np.ones(7)) == 7
    assert effective_size(np.zeros(7)) == 0
    assert np.isclose(effective_size(np.array([2.0, 4.0])), 36 / 20)


def test_a_weighted_mean_by_hand():
    values, weights, unit = (
        np.array([1.0, 2.0, 6.0]),
        np.array([1.0, 1.0, 2.0]),
        np.arange(3),
    )
    found = weighted_mean("x", Term(values * weights, weights), unit, CLUSTER)
    without = np.array([14 / 3, 13 / 3, 3 / 2])  # the mean of the other two
    half = 4.302653 * np.sqrt(2 * without.var())  # Student's t with 2 degrees of freedom
    assert np.isclose(found.value, 3.75)
    assert np.allclose([found.low, found.high], [3.75 - half, 3.75 + half])
    lift = weighted_mean("x", Term(values * weights, weights), unit, CLUSTER, Term(values))
    assert np.isclose(lift.value, 0.75)


def test_a_mean_of_even_units_has_the_textbook_interval():
    values = np.random.default_rng(0).uniform(-1, 1, 50)  # tails lighter than a normal's
    found = weighted_mean("x", Term(values), np.arange(50), CLUSTER)
    assert np.allclose(
        (found.low, found.high),
        t.interval(0.95, 49, values.mean(), values.std(ddof=1) / np.sqrt(50)),
    )


def test_where_one_unit_is_all_there_is_the_variance_rests_on_two_degrees_of_freedom():
    values = np.append(np.random.default_rng(0).uniform(-1, 1, 99), 1e6)
    found = weighted_mean("x", Term(values), np.arange(100), CLUSTER)
    multiplier = (found.high - found.value) / (values.std(ddof=1) / 10)
    assert np.isclose(multiplier, t.ppf(0.975, 2), rtol=0.05)


def test_a_unit_that_holds_a_whole_denominator_leaves_no_interval():
    found = weighted_mean(
        "x",
        Term(np.array([1.0, 0.0, 0.0]), np.array([1.0, 0.0, 0.0])),
        np.arange(3),
        CLUSTER,
    )
    assert found.value == 1
    assert np.isnan([found.low, found.high]).all()


def test_self_normalised_means_are_covered_where_few_units_carry_the_weight():
    """A tenth of 100 units weigh at all. Linearising, with a degree of freedom per unit,
    covers 87 %.
    """
    rng, hits, careless, repeats = np.random.default_rng(0), 0, 0, 500
    for _ in range(repeats):
        weights = 10 * (rng.random(100) < 0.1) * rng.choice([0.5, 1.0, 2.0], 100)
        values = rng.standard_normal(100) + rng.exponential(1.0, 100)
        found = weighted_mean("x", Term(weights * values, weights), np.arange(100), CLUSTER)
        hits += found.low <= 1 <= found.high
        influence = weights * (values - found.value) / weights.mean()
        careless += abs(found.value - 1) <= t.ppf(0.975, 99) * influence.std(ddof=1) / 10
    assert 0.92 <= hits / repeats <= 0.98
    assert careless / repeats < 0.91


def test_few_bootstrap_draws_make_no_shorter_intervals():
    values, unit, width = (
        np.random.default_rng(0).standard_normal(200),
        np.arange(200),
        {100: 0.0, 2000: 0.0},
    )
    for draws in width:
        for seed in range(30):
            config = Bootstrap(draws=draws, seed=seed)
            found = weighted_mean("x", Term(values), unit, config)
            width[draws] += (found.high - found.low) / 30
    assert width[100] > 0.99 * width[2000]


def test_rows_of_one_unit_count_once():
    rng = np.random.default_rng(0)
    values, one = rng.standard_normal(100), np.ones(100)
    apart = weighted_mean("x", Term(values, one), np.arange(100), CLUSTER)
    copied = weighted_mean(
        "x", Term(np.tile(values, 4)), np.tile(np.arange(100), 4), CLUSTER
    )
    assert np.allclose([apart.low, apart.high], [copied.low, copied.high])


@pytest.mark.parametrize("two", [False, True])
def test_both_intervals_agree_where_both_are_right(two):
    rng = np.random.default_rng(1)
    unit = np.repeat(np.arange(400), 3)
    values, weights = (
        rng.standard_normal(400)[unit] + rng.standard_normal(1200),
        rng.exponential(1.0, 1200),
    )
    other = Term(rng.standard_normal(1200)) if two else None
    cluster = weighted_mean("x", Term(values * weights, weights), unit, CLUSTER, other)
    resampled = weighted_mean("x", Term(values * weights, weights), unit, BOOTSTRAP, other)
    assert cluster.value == resampled.value
    assert np.isclose(resampled.high - resampled.low, cluster.high - cluster.low, rtol=0.12)


def test_nothing_to_divide_by_gives_no_number_and_one_unit_no_interval():
    assert np.isnan(
        weighted_mean("x", Term(np.ones(3), np.zeros(3)), np.arange(3), CLUSTER).value
    )
    for config in (CLUSTER, BOOTSTRAP):
        one = weighted_mean("x", Term(np.ones(3)), np.zeros(3, dtype=int), config)
        assert one.value == 1
        assert np.isnan(one.low)
