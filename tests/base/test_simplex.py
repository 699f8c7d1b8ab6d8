"""The closed simplex: every function, K from 2 to 50, float32 and float64, zeros included."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from realloc import LogError
from realloc.base import simplex
from tests.geometry import from_log_ratio, path_length

DTYPES = st.sampled_from([np.float32, np.float64])
CHANNELS = st.integers(2, 50)


def tolerance(dtype, channels=1):
    return 64 * channels * float(np.finfo(dtype).eps)


@st.composite
def allocations(draw, rows=4, zeros=True, dtype=None):
    """Rows of shares, by seed: gamma draws from spiky to even, with exact zeros where asked for."""
    K, kind = draw(CHANNELS), dtype or draw(DTYPES)
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    amounts = rng.gamma(draw(st.sampled_from([0.05, 0.5, 5.0])), size=(rows, K)) + 1e-6
    if zeros:
        closed = rng.random((rows, K)) < 0.4
        closed[np.arange(rows), rng.integers(0, K, rows)] = False  # one channel stays open
        amounts[closed] = 0.0
    return (amounts / amounts.sum(axis=1, keepdims=True)).astype(kind)


@given(allocations())
def test_projection_onto_the_tangent_space_sums_to_zero_and_is_idempotent(p):
    v = simplex.project_tangent(p * 7 - 3)
    assert v.dtype == p.dtype
    assert np.allclose(v.sum(axis=-1), 0, atol=tolerance(p.dtype, p.shape[1]))
    assert np.allclose(simplex.project_tangent(v), v, atol=tolerance(p.dtype, 8))
    assert np.allclose(
        v,
        (p * 7 - 3) @ simplex.project_tangent(np.eye(p.shape[1])).astype(p.dtype),
        atol=tolerance(p.dtype, 64),
    )


@given(CHANNELS)
def test_basis_is_orthonormal_and_spans_the_tangent_space(K):
    Q = simplex.tangent_basis(K)
    assert np.allclose(Q.T @ Q, np.eye(K - 1), atol=1e-13)
    assert np.allclose(Q @ Q.T, np.eye(K) - 1 / K, atol=1e-13)
    assert np.allclose(Q.T @ np.ones(K), 0, atol=1e-13)


def test_basis_cannot_be_changed_by_a_caller():
    with pytest.raises(ValueError, match="read-only"):
        simplex.tangent_basis(3)[0, 0] = 1.0


def test_one_channel_is_refused():
    with pytest.raises(LogError, match="at least 2 channels"):
        simplex.tangent_basis(1)


@given(allocations(zeros=False))
def test_log_ratio_round_trip(p):
    u = np.log(p) @ simplex.tangent_basis(p.shape[1]).astype(p.dtype)
    assert from_log_ratio(u).dtype == p.dtype
    assert np.allclose(from_log_ratio(u), p, atol=tolerance(p.dtype, 16))


@given(allocations(zeros=False, dtype=np.float64))
def test_log_ratio_is_an_isometry_of_centred_logs(p):
    u = np.log(p) @ simplex.tangent_basis(p.shape[1])
    centred = np.log(p) - np.log(p).mean(axis=1, keepdims=True)
    assert np.allclose(np.linalg.norm(u, axis=1), np.linalg.norm(centred, axis=1))


@given(allocations(rows=3))
def test_total_variation_is_a_metric_between_0_and_1(p):
    a, b, c = p
    distance = simplex.total_variation
    assert distance(a, a) == 0
    assert distance(a, b) == pytest.approx(distance(b, a))
    assert 0 <= distance(a, b) <= 1 + tolerance(p.dtype, p.shape[1])
    assert distance(a, c) <= distance(a, b) + distance(b, c) + tolerance(
        p.dtype, p.shape[1]
    )


def test_disjoint_allocations_are_at_distance_1():
    a, b = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    assert simplex.total_variation(a, b) == 1


@given(allocations(dtype=np.float64), st.floats(1e-12, 1e12))
def test_closing_amounts_gives_shares(p, budget):
    shares = simplex.close(p * budget)
    assert np.allclose(shares, p, atol=1e-12)
    assert np.allclose(shares.sum(axis=1), 1, atol=1e-15 * p.shape[1] * 4)
    assert np.array_equal(shares == 0, p == 0)


def test_closing_denormal_and_huge_amounts_stays_on_the_simplex():
    shares = simplex.close(np.array([[1e-310, 3e-310], [1e307, 1e307]]))
    assert np.allclose(shares, [[0.25, 0.75], [0.5, 0.5]], atol=1e-9)


def test_a_zero_total_has_no_shares():
    assert np.isnan(simplex.close(np.array([[0.0, 0.0]]))).all()


def test_closing_in_place_gives_the_same_shares():
    amounts = np.array([[1.0, 3.0], [2.0, 2.0]])
    expected = simplex.close(amounts)
    assert simplex.close(amounts, out=amounts) is amounts
    assert np.array_equal(amounts, expected)


@given(CHANNELS)
def test_edges_are_all_ordered_pairs_and_directions_are_tangent(K):
    pairs, directions = simplex.edges(K), simplex.edge_directions(K)
    assert len(pairs) == K * (K - 1) == len({(int(k), int(l)) for k, l in pairs})
    assert np.all(pairs[:, 0] != pairs[:, 1])
    assert np.all(directions.sum(axis=1) == 0)
    assert np.all(directions[np.arange(len(pairs)), pairs[:, 1]] == 1)


@given(allocations(rows=2), st.integers(1, 40))
def test_a_straight_path_is_as_long_as_the_way_between_its_ends(p, intervals):
    part = np.linspace(0, 1, intervals + 1, dtype=p.dtype)[:, None]
    points = (1 - part) * p[0] + part * p[1]
    assert path_length(points) == pytest.approx(
        np.linalg.norm(p[1] - p[0]), abs=tolerance(p.dtype, 200)
    )


@given(CHANNELS, DTYPES, st.integers(0, 2**32 - 1), st.sampled_from([1e-3, 1.0, 1e3]))
def test_projection_lands_on_the_simplex_and_satisfies_its_optimality_conditions(
    K, dtype, seed, scale
):
    v = (np.random.default_rng(seed).normal(size=(3, K)) * scale).astype(dtype)
    p = simplex.project(v)
    assert p.dtype == dtype
    assert np.all(p >= 0)
    assert np.allclose(p.sum(axis=1), 1, atol=tolerance(dtype, K))
    for row, point in zip(v.astype(float), p.astype(float), strict=True):
        gap = row - point  # equal to θ where p > 0, at most θ elsewhere
        theta = gap[point > 0].max()
        assert np.allclose(gap[point > 0], theta, atol=tolerance(dtype, K) * max(scale, 1))
        assert np.all(gap[point == 0] <= theta + tolerance(dtype, K) * max(scale, 1))


@given(allocations())
def test_projection_leaves_the_simplex_alone(p):
    assert np.allclose(simplex.project(p), p, atol=tolerance(p.dtype, p.shape[1]))


def test_projection_agrees_with_a_general_optimizer():
    v = np.array([0.9, 0.6, -0.2, 0.1])
    best = minimize(
        lambda p: np.square(p - v).sum(),
        np.full(4, 0.25),
        bounds=[(0, 1)] * 4,
        constraints={"type": "eq", "fun": lambda p: p.sum() - 1},
    )
    assert np.allclose(simplex.project(v), best.x, atol=1e-6)


def test_projection_of_huge_numbers_is_a_vertex():
    assert simplex.project(np.array([1e30, 1.0, -1e30])).tolist() == [1.0, 0.0, 0.0]


BUDGETS = st.floats(0.0, 1e12, allow_nan=False)


@settings(max_examples=500)
@given(allocations(), BUDGETS, st.sampled_from([0, 2, 3]))
def test_money_sums_to_the_budget_exactly_and_zero_shares_get_nothing(p, budget, digits):
    units = simplex.round_money(p, np.full(len(p), budget), digits)
    total = round(Fraction(float(np.rint(budget * 10.0**digits))))
    assert units.dtype == np.int64
    assert [sum(int(unit) for unit in row) for row in units] == [total] * len(p)
    assert np.all(units >= 0)
    assert np.all(units[p == 0] == 0)


@given(allocations(dtype=np.float64), st.floats(0.01, 1e9))
def test_money_is_within_one_unit_of_the_exact_quota(p, budget):
    units = simplex.round_money(p, np.full(len(p), budget))
    quota = p * np.rint(budget * 100)
    assert np.all(np.abs(units - quota) < 1 + 1e-6)


def test_largest_remainder_wins_and_ties_go_by_the_given_order():
    assert simplex.round_money(np.array([[0.335, 0.335, 0.33]]), [1.0]).tolist() == [
        [34, 33, 33]
    ]
    assert simplex.round_money(
        np.array([[0.335, 0.335, 0.33]]), [1.0], order=[1, 0, 2]
    ).tolist() == [[33, 34, 33]]


@given(st.permutations(range(5)), st.floats(0.01, 1e6))
def test_money_does_not_depend_on_the_order_of_channels(permutation, budget):
    p = np.array([[0.2, 0.2, 0.3, 0.2, 0.1]])
    order = np.arange(5)
    straight = simplex.round_money(p, [budget], order=order)
    permuted = simplex.round_money(
        p[:, permutation], [budget], order=order[list(permutation)]
    )
    assert np.array_equal(permuted, straight[:, permutation])


@pytest.mark.parametrize("budget", [-1.0, np.nan, np.inf, 1e15])
def test_impossible_budgets_are_refused(budget):
    with pytest.raises(LogError, match="minor units"):
        simplex.round_money(np.array([[0.5, 0.5]]), [budget])


def test_per_channel_rounding_would_break_the_budget_which_is_why_it_is_not_done():
    """The negative control of the money tests: naive rounding misses the total in about half of
    all cases.
    """
    rng = np.random.default_rng(0)
    p, budget = rng.dirichlet(np.ones(3), 2000), rng.uniform(1, 1000, 2000).round(2)
    naive = np.rint(p * budget[:, None] * 100).sum(axis=1) == np.rint(budget * 100)
    ours = simplex.round_money(p, budget).sum(axis=1) == np.rint(budget * 100)
    assert ours.all()
    assert naive.mean() < 0.9
