"""Caps over all rows on made-up surfaces; the cases are those of `test_decide.py`."""

from dataclasses import replace

import numpy as np
import pytest

from realloc.base.errors import ConfigError
from realloc.decide.config import DecisionConfig
from realloc.decide.constraints.constraints import Constraints
from realloc.decide.constraints.limits import Limits
from realloc.decide.decide import decide
from realloc.decide.portfolio.pool import Pooled, choose_offers, demand, offer
from realloc.decide.types import POOL
from tests.decide.test_decide import CHANNELS, Everywhere, linear, problem

CONFIG = DecisionConfig()
START = np.random.default_rng(0).dirichlet(np.full(3, 6.0), size=40)
DAYS = np.array(["2025-01-01", "2025-01-02"], dtype="datetime64[D]").repeat(20)


class OnlyLess(Everywhere):
    """Evidence only where `coupon` holds no more than today."""

    def allowed(self, rows, start, ends):
        return ends[..., 1] <= start[:, None, 1]


def pooled(one, pools, per_day=None, days=DAYS, config=CONFIG):
    decided = decide(one, config)
    channels = (
        CHANNELS
        if one.start.shape[1] == 3
        else tuple(f"c{k}" for k in range(one.start.shape[1]))
    )
    made = offer(one, decided, channels, pools, config)
    asked = demand(made, days, channels, pools)
    options = choose_offers([asked], Pooled(pools, per_day, 2))
    return decided, made.take(options[0])


def money(one, decided):
    return one.limits.round_money(decided.shares)


def test_a_pool_that_does_not_bind_changes_nothing():
    one = problem(start=START)
    before, after = pooled(one, {"coupon": 1e6})
    assert np.array_equal(before.shares, after.shares)
    assert np.array_equal(before.reason, after.reason)


@pytest.mark.parametrize("part", [0.3, 0.7])
def test_a_pool_holds_to_the_cent_and_is_used(part):
    one = problem(start=START)
    free = decide(one, CONFIG)
    today, wanted = (
        money(one, v)[:, 1].sum() / 100 for v in (replace(free, shares=START), free)
    )
    most = round(today + part * (wanted - today), 2)
    _, after = pooled(one, {"coupon": most})
    spent = money(one, after)
    assert spent[:, 1].sum() <= round(most * 100)
    assert (
        spent[:, 1].sum() > round(most * 100) - 100 * 100 * 0.05
    )  # less than a twentieth of one budget is left over
    assert (spent.sum(axis=1) == 10_000).all()
    assert wanted > most  # without the pool it would not hold


def test_rows_that_gave_way_say_so_and_keep_their_shares():
    one = problem(start=START)
    today = money(one, replace(decide(one, CONFIG), shares=START))[:, 1].sum() / 100
    _, after = pooled(one, {"coupon": today})
    gave = after.reason == "pooled"
    assert gave.any()
    assert (after.binding[gave] == POOL).all()
    assert np.array_equal(after.shares[gave], START[gave])
    assert (after.gain[gave] == 0).all()
    assert np.allclose(after.gain[after.moved], (after.shares - START)[after.moved, 1])


def test_a_pool_below_todays_money_takes_it_out_where_that_costs_least():
    """Leaving coupon costs the second half of the rows ten times as much."""
    steep = np.where(np.arange(40) < 20, 1.0, 10.0)
    flat = linear((0.0, 0.0, 0.0))
    outcome = replace(
        flat,
        gain=lambda rows, start, ends: (
            steep[rows][:, None] * (ends - start[:, None])[..., 1]
        ),
        sigma=lambda rows, start, ends: np.zeros(ends.shape[:2]),
        slopes=lambda rows, p: steep[rows][:, None] * np.array([0.0, 1.0, 0.0]),
    )
    one = problem(outcomes=(outcome,), start=START, support=OnlyLess())
    today = one.limits.round_money(START)[:, 1].sum() / 100
    _, after = pooled(one, {"coupon": round(0.9 * today, 2)})
    released = (START - after.shares)[:, 1]
    assert one.limits.round_money(after.shares)[:, 1].sum() <= round(0.9 * today * 100)
    assert released[:20].sum() > 5 * released[20:].sum()
    assert (after.gain[after.moved] < 0).all()
    assert set(after.reason[after.moved].tolist()) == {"moved"}


def test_a_pool_that_no_allowed_move_can_reach_is_refused_with_the_least_that_can():
    with pytest.raises(
        ConfigError, match="Expected at most 1.00 of coupon over all units, but the least"
    ):
        pooled(problem(start=START), {"coupon": 1.0})


@pytest.mark.parametrize("most", [-1.0, np.nan, np.inf])
def test_pools_that_are_no_amounts_are_refused(most):
    with pytest.raises(
        ConfigError, match="finite amount of at least 0 in the pool of 'coupon'"
    ):
        pooled(problem(start=START), {"coupon": most})


def test_a_mistyped_channel_is_refused_with_the_nearest():
    with pytest.raises(
        ConfigError, match="Unknown channel 'cupon' in the pools. Did you mean 'coupon'?"
    ):
        pooled(problem(start=START), {"cupon": 5.0})


@pytest.mark.parametrize("part", [0.0, 0.02, 0.05])
def test_the_money_moved_on_a_day_stays_within_its_part_of_the_days_budget(part):
    one = problem(start=START)
    before, after = pooled(one, {}, per_day=part)
    home = one.limits.round_money(START)
    for decided, holds in ((after, True), (before, False)):
        moved = np.maximum(money(one, decided) - home, 0).sum(axis=1)
        for day in np.unique(DAYS):
            assert (moved[day == DAYS].sum() <= part * 20 * 10_000) == holds
    assert after.moved.any() == (part > 0)


def test_rules_of_the_row_hold_for_every_offer():
    rules = Constraints(caps={"coupon": 0.45}, floors={"ads": 0.1}, largest_move=0.3)
    one = problem(start=START, constraints=rules)
    base, _ = one.limits.repair()
    made = offer(one, decide(one, CONFIG), CHANNELS, {"coupon": 100.0}, CONFIG)
    ends = np.where(made.possible[..., None], made.ends, base[:, None])
    fine = ~(one.limits.repaired.problem != "")
    assert (ends[fine][..., 1] <= 0.45).all()
    assert (ends[fine][..., 0] >= 0.1).all()
    assert made.possible[:, 0].all()


def test_parts_of_a_way_that_a_guardrail_forbids_are_not_offered():
    """The guardrail falls at first and recovers by the end: only the whole way is safe."""
    bowl = replace(
        linear((0.0, 0.0, 0.0), name="gmv", weight=0.0, tolerance=0.0),
        gain=lambda rows, start, ends: (
            (ends - start[:, None])[..., 1] * ((ends - start[:, None])[..., 1] - 0.1)
        ),
        sigma=lambda rows, start, ends: np.zeros(ends.shape[:2]),
    )
    start = START[:6]
    far = DecisionConfig(steps=(0.01, 0.15))
    one = problem(outcomes=(linear((0.0, 1.0, 0.0)), bowl), start=start)
    decided = decide(one, far)
    assert decided.moved.any()
    made = offer(one, decided, CHANNELS, {"coupon": 100.0}, far)
    change = made.ends[..., 1] - start[:, None, 1]
    falls = (change > 1e-9) & (change < 0.1 - 1e-9)
    assert falls.any()
    assert not made.possible[falls].any()


def test_many_channels_are_screened_when_leaving_one(monkeypatch):
    """All 2,450 transfers of 50 channels at once would need gigabytes."""
    start = np.random.default_rng(1).dirichlet(np.full(50, 3.0), size=8)
    one = problem(np.linspace(0, 1, 50), start=start)
    widest = []
    allowed = Limits.allows

    def watch(self, rows, first, ends):
        widest.append(ends.shape[1])
        return allowed(self, rows, first, ends)

    monkeypatch.setattr(Limits, "allows", watch)
    today = one.limits.round_money(start)[:, 49].sum() / 100
    _, after = pooled(one, {"c49": round(0.8 * today, 2)}, days=DAYS[:8])
    assert one.limits.round_money(after.shares)[:, 49].sum() <= round(0.8 * today * 100)
    assert max(widest) <= 2 * 5 * 30


def test_a_grid_holds_under_a_pool():
    one = problem(start=START, constraints=Constraints(grid=0.05))
    free = decide(one, CONFIG)
    today, wanted = (
        one.limits.round_money(p)[:, 1].sum() / 100 for p in (START, free.shares)
    )
    _, after = pooled(one, {"coupon": (today + wanted) / 2})
    away = (after.shares - START) / 0.05
    assert np.allclose(away, np.rint(away), atol=1e-6)
    assert after.moved.any()
