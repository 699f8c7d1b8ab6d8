import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, milp

from realloc.base import simplex
from realloc.decide.constraints.constraints import Constraints, Group
from realloc.decide.constraints.limits import compile_limits
from realloc.decide.constraints.minor_units import least_units, most_units
from tests.decide.cases import cases

ABC = ("ads", "coupon", "rebate")


def units_of(start, shares, budget, digits=2, channels=ABC, **asked):
    start = np.atleast_2d(np.asarray(start, float))
    budget = np.full(len(start), budget)
    limits = compile_limits(
        Constraints(**asked), channels, start, budget, start >= 0, digits
    )
    return limits.round_money(np.atleast_2d(np.asarray(shares, float)))


@settings(max_examples=200)
@given(st.floats(0, 1), st.integers(1, 10**9))
def test_units_are_those_next_to_the_bound(bound, scale):
    low, high = (
        least_units(np.array(bound), float(scale)),
        most_units(np.array(bound), float(scale)),
    )
    assert low / scale >= bound
    assert low == 0 or (low - 1) / scale < bound
    assert high / scale <= bound
    assert (high + 1) / scale > bound


def test_a_decimal_share_of_a_round_budget_is_not_a_unit_more():
    scale = 100.0
    assert np.array_equal(least_units(np.arange(101) / 100, scale), np.arange(101))
    assert np.array_equal(most_units(np.arange(101) / 100, scale), np.arange(101))
    assert any(
        np.ceil(k / 100 * scale) != k for k in range(101)
    )  # what plain rounding up makes of it


def test_without_constraints_it_is_the_largest_remainder():
    rng = np.random.default_rng(0)
    start, shares = rng.dirichlet(np.ones(5), (2, 300))
    names = ("d", "b", "e", "a", "c")
    limits = compile_limits(Constraints(), names, start, rng.random(300) * 100, start > 0)
    by_name = np.argsort(np.argsort(names))
    assert np.array_equal(
        limits.round_money(shares),
        simplex.round_money(shares, limits.bounds.budget, 2, by_name),
    )


def test_a_floor_or_cap_in_shares_holds_in_units():
    even = np.ones(3) / 3
    assert simplex.round_money(even[None], [1.0]).tolist() == [[34, 33, 33]]
    assert units_of(even, even, 1.0, caps={"ads": 1 / 3}).tolist() == [[33, 34, 33]]
    assert units_of(even, even, 1.0, floors={"rebate": 1 / 3}).tolist() == [[33, 33, 34]]
    assert units_of(even, even, 1.0, caps=dict.fromkeys(ABC, 1 / 3)).tolist() == [
        [34, 33, 33]
    ]  # to the unit next to it


def test_money_bounds_hold_in_units():
    shares = np.array([0.333333, 0.333333, 0.333334])
    found = units_of(shares, shares, 10.0, caps_money={"rebate": 3.333341})
    assert found.tolist() == [[334, 333, 333]]
    group = Group(channels=("ads", "coupon"), cap=0.666666)
    assert units_of(shares, shares, 10.0, groups=(group,)).sum(axis=1).tolist() == [1000]
    assert units_of(shares, shares, 10.0, groups=(group,))[0, :2].sum() == 666


def test_a_frozen_channel_keeps_its_money():
    rng = np.random.default_rng(1)
    start = rng.dirichlet(np.ones(3), 300)
    shares = start.copy()
    shares[:, 0], shares[:, 1] = start[:, 0] / 3, start[:, 1] + start[:, 0] * 2 / 3
    by_name = np.arange(3)
    now = simplex.round_money(start, np.full(300, 12.34), 2, by_name)[:, 2]
    assert np.any(simplex.round_money(shares, np.full(300, 12.34), 2, by_name)[:, 2] != now)
    assert np.array_equal(units_of(start, shares, 12.34, frozen=("rebate",))[:, 2], now)


def test_rounding_does_not_pass_the_largest_move():
    rng = np.random.default_rng(2)
    spends = rng.integers(100, 5000, (400, 5)).astype(float)
    budget = spends.sum(axis=1) / 100
    start = spends / spends.sum(axis=1, keepdims=True)
    limit = 0.1
    away = rng.standard_normal((400, 5))
    away -= away.mean(axis=1, keepdims=True)
    shares = start + away / np.abs(away).sum(axis=1, keepdims=True) * 2 * limit
    rows = np.all(shares > 0, axis=1)
    spends, budget, start, shares = spends[rows], budget[rows], start[rows], shares[rows]
    channels = tuple("abcde")
    limits = compile_limits(
        Constraints(largest_move=limit), channels, start, budget, start > 0
    )
    total = np.rint(budget * 100)

    def moved(units):
        return np.abs(units - spends).sum(axis=1) / 2 / total

    assert np.any(moved(simplex.round_money(shares, budget)) > limit)
    assert np.all(moved(limits.round_money(limits.settle(shares))) <= limit)


@settings(max_examples=80)
@given(cases(largest=5, grid=False, moves=False))
def test_units_keep_every_bound_that_units_can_keep(case):
    limits = case.limits()
    wild = np.random.default_rng(case.seed).dirichlet(
        np.full(len(case.channels), 0.5), len(case.start)
    )
    shares = limits.settle(wild)
    units = limits.round_money(shares)
    for i in np.flatnonzero(~limits.kept):
        total = units[i].sum()
        strict = held(case, i, units[i] / total) if total else True
        assert strict or not possible(case, i, shares[i], total), (units[i], shares[i])
        assert np.abs(units[i] - shares[i] * total).max() < 3


def asked_of(case, row):
    """Bounds on shares, as asked for."""
    sets = [
        ([k], low, high)
        for k, (low, high) in enumerate(zip(*case.bounds(row), strict=True))
    ]
    frozen = [name in case.constraints.frozen for name in case.channels]
    return [entry for k, entry in enumerate(sets) if not frozen[k]] + list(
        case.group_bounds(row)
    )


def held(case, row, parts, error=1e-12):
    return all(
        low - error <= parts[members].sum() <= high + error
        for members, low, high in asked_of(case, row)
    )


def possible(case, row, shares, total):
    """Whether any whole units keep the bounds, frozen channels at their rounded current share,
    zeros at zero.
    """
    K = len(case.channels)
    by_name = np.argsort(np.argsort(case.channels))
    now = simplex.round_money(case.start[[row]], case.budget[[row]], 2, by_name)[0]
    low, high = np.zeros(K), np.where(shares == 0, 0.0, total)
    for k, name in enumerate(case.channels):
        if name in case.constraints.frozen:
            low[k] = high[k] = now[k]
    rows, least, most = [np.ones(K)], [total], [total]
    for members, floor, cap in asked_of(case, row):
        rows.append(np.isin(np.arange(K), members).astype(float))
        least.append(np.ceil(floor * total - 1e-7))
        most.append(np.floor(cap * total + 1e-7))
    if np.any(low > high) or np.any(np.array(least) > np.array(most)):
        return False
    return milp(
        np.zeros(K),
        constraints=LinearConstraint(np.array(rows), least, most),
        bounds=Bounds(low, high),
        integrality=np.ones(K),
    ).success
