"""Decisions on made-up surfaces, so that every reason has a cause that is known."""

from dataclasses import replace

import numpy as np
import pytest

from realloc.base.simplex import total_variation
from realloc.decide.config import DecisionConfig
from realloc.decide.conservative import OutcomeTerm
from realloc.decide.constraints.constraints import Constraints
from realloc.decide.constraints.limits import compile_limits
from realloc.decide.decide import decide
from realloc.decide.problem import Problem
from realloc.decide.types import (
    LEADS_OUTSIDE,
    LOWER_BOUND,
    PENALTY,
    REASONS,
    STARTS_OUTSIDE,
    THRESHOLD,
)

CHANNELS = ("ads", "coupon", "rebate")
START = np.array([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5], [0.4, 0.4, 0.2]])
CONFIG = DecisionConfig(beta=0.25)


class Everywhere:
    """Evidence for everything."""

    def allowed(self, rows, start, ends):
        return np.ones(ends.shape[:2], dtype=bool)

    def inside(self, rows, ends, start=None):
        return np.ones(ends.shape[:2], dtype=bool)

    def omega(self, rows, ends):
        return np.ones(ends.shape[:2])


class Upto(Everywhere):
    """Evidence only where `coupon` holds at most so much, all the way."""

    def __init__(self, most):
        self.most = most

    def allowed(self, rows, start, ends):
        return (ends[..., 1] <= self.most) & (start[:, None, 1] <= self.most)


def linear(slope, doubt=0.1, name="orders", weight=1.0, tolerance=None):
    """Gain along a slope; σ̂ in proportion to the way."""
    slope = np.asarray(slope, dtype=float)
    return OutcomeTerm(
        name=name,
        gain=lambda rows, start, ends: (ends - start[:, None]) @ slope,
        sigma=lambda rows, start, ends: (
            doubt * np.linalg.norm(ends - start[:, None], axis=-1)
        ),
        slopes=lambda rows, shares: np.tile(slope, (len(shares), 1)),
        weight=weight,
        tolerance=tolerance,
    )


def problem(
    slope=(0.0, 1.0, 0.0),
    constraints=None,
    support=None,
    start=START,
    used=None,
    budget=100.0,
    **options,
):
    outcomes = options.pop("outcomes", None) or (linear(slope, **options),)
    channels = (
        CHANNELS if start.shape[1] == 3 else tuple(f"c{k}" for k in range(start.shape[1]))
    )
    limits = compile_limits(
        constraints or Constraints(),
        channels,
        start,
        np.full(len(start), budget),
        np.ones(start.shape, bool) if used is None else used,
    )
    return Problem(start, support or Everywhere(), limits, outcomes, 1.645)


def reasons(decided):
    return set(zip(decided.reason.tolist(), decided.binding.tolist(), strict=True))


def kept(decided, start=START):
    return (
        np.array_equal(decided.shares, start)
        and not decided.moved.any()
        and (decided.gain == 0).all()
    )


def test_budget_moves_to_where_it_gains():
    found = decide(problem(), CONFIG)
    assert reasons(found) == {("moved", "")}
    assert (found.shares[:, 1] > START[:, 1] + 0.1).all()
    assert np.allclose(found.gain, found.shares[:, 1] - START[:, 1])
    assert np.allclose(found.sigma, 0.1 * np.linalg.norm(found.shares - START, axis=1))
    assert np.linalg.norm(found.shares - START, axis=1).max() <= CONFIG.max_length + 1e-12


def test_no_gain_is_said_where_every_way_is_flat_or_falls():
    flat = linear((0.0, 0.0, 0.0))
    peak = replace(
        flat, gain=lambda rows, start, ends: -np.abs(ends - start[:, None]).sum(axis=-1)
    )
    for outcome in (flat, peak):
        found = decide(problem(outcomes=(outcome,)), CONFIG)
        assert reasons(found) == {("no_gain", "")}
        assert kept(found)


def test_uncertain_is_said_where_doubt_exceeds_the_gain():
    assert reasons(decide(problem(doubt=1.0), CONFIG)) == {("moved", "")}
    found = decide(problem(doubt=10.0), CONFIG)
    assert reasons(found) == {("uncertain", PENALTY)}
    assert kept(found)
    assert (found.best_gain > 0).all()
    assert (found.best_sigma > found.best_gain).all()


def test_a_threshold_that_no_step_reaches_is_named_where_doubt_is_switched_off():
    found = decide(problem(), DecisionConfig(beta=0.0, threshold=9.0))
    assert reasons(found) == {("uncertain", THRESHOLD)}
    assert kept(found)


def test_unsupported_says_whether_it_is_the_start_or_the_end():
    found = decide(problem(support=Upto(0.3)), CONFIG)
    assert found.reason.tolist() == ["unsupported"] * 3
    assert found.binding.tolist() == [LEADS_OUTSIDE, LEADS_OUTSIDE, STARTS_OUTSIDE]
    assert kept(found)


def test_a_border_on_the_way_stops_the_move_there_but_not_before():
    found = decide(problem(support=Upto(0.42)), CONFIG)
    assert reasons(found) == {("moved", "")}
    assert (found.shares[:, 1] <= 0.42).all()
    assert (found.shares[:, 1] > 0.41).all()


@pytest.mark.parametrize(
    ("constraints", "binding"),
    [
        (Constraints(caps={"coupon": 0.4}, floors={"coupon": 0.3}), {"cap of coupon"}),
        (Constraints(frozen=("coupon",)), {"frozen coupon"}),
        (Constraints(frozen=("ads", "rebate")), {"frozen ads", "frozen rebate"}),
        (
            Constraints(groups=({"channels": ("coupon", "rebate"), "cap": 0.8},)),
            {"group coupon+rebate"},
        ),
        (Constraints(largest_move=0.0), {"largest move"}),
    ],
)
def test_constrained_names_the_rule_that_binds(constraints, binding):
    start = np.array([[0.2, 0.4, 0.4]])
    slope = (0.0, 1.0, 1.0) if constraints.groups else (0.0, 1.0, 0.0)
    found = decide(problem(slope, constraints=constraints, start=start), CONFIG)
    assert found.reason[0] == "constrained"
    assert found.binding[0] in binding
    assert kept(found, start)


@pytest.mark.parametrize("channels", [3, 12])
def test_the_cap_is_named_however_many_channels_there_are(channels):
    """Beyond thirty transfers only the steepest are tried: those a rule forbids are among them."""
    start = np.full((1, channels), 1 / channels)
    names = CHANNELS if channels == 3 else tuple(f"c{k}" for k in range(channels))
    capped = Constraints(caps={names[1]: float(start[0, 1])})
    found = decide(problem(np.eye(channels)[1], constraints=capped, start=start), CONFIG)
    assert reasons(found) == {("constrained", f"cap of {names[1]}")}
    assert reasons(decide(problem(np.eye(channels)[1], start=start), CONFIG)) == {
        ("moved", "")
    }


def test_a_channel_that_was_never_used_stays_exactly_empty_unless_it_is_opened():
    start = np.array([[0.5, 0.0, 0.5]])
    used = start > 0
    closed = decide(problem(start=start, used=used), CONFIG)
    assert reasons(closed) == {("constrained", "never used coupon")}
    assert closed.shares[0, 1] == 0
    opened = decide(
        problem(start=start, used=used, constraints=Constraints(open=("coupon",))), CONFIG
    )
    assert reasons(opened) == {("moved", "")}
    assert opened.shares[0, 1] > 0


def test_a_move_below_the_smallest_useful_one_is_not_made_and_that_is_said():
    limited = Constraints(smallest_move=0.2, largest_move=0.2)
    tight = DecisionConfig(max_length=0.05)
    found = decide(problem(constraints=limited), tight)
    assert reasons(found) == {("constrained", "smallest move")}
    assert kept(found)
    assert reasons(decide(problem(constraints=Constraints(smallest_move=0.01)), tight)) == {
        ("moved", "")
    }


def test_a_guardrail_that_may_fall_stops_the_move_and_is_named():
    rails = (
        linear((0.0, 1.0, 0.0)),
        linear((0.0, 1.0, 0.0), name="safe", weight=0.0, tolerance=0.0),
        linear((0.0, -1.0, 0.0), name="gmv", weight=0.0, tolerance=0.0),
    )
    found = decide(problem(outcomes=rails), CONFIG)
    assert reasons(found) == {("guardrail", "guardrail gmv")}
    assert kept(found)
    assert reasons(decide(problem(outcomes=rails[:2]), CONFIG)) == {("moved", "")}


def test_a_tolerance_bounds_the_guardrails_lower_value():
    gmv = linear((0.0, -1.0, 0.0), name="gmv", weight=0.0, tolerance=0.06)
    found = decide(problem(outcomes=(linear((0.0, 1.0, 0.0)), gmv)), CONFIG)
    rows = np.arange(3)
    lower = (
        gmv.gain(rows, START, found.shares[:, None])
        - 1.645 * gmv.sigma(rows, START, found.shares[:, None])
    )[:, 0]
    assert (lower >= -0.06 - 1e-12).all()
    assert (lower < -0.04).all()  # what is tolerated is used
    assert found.moved.all()


def test_required_is_said_where_the_current_shares_break_a_rule_and_nothing_more_is_worth_it():
    floor = Constraints(floors={"rebate": 0.3})
    found = decide(problem(slope=(0.0, 0.0, -1.0), constraints=floor), CONFIG)
    assert found.reason.tolist() == ["required", "moved", "required"]
    assert np.allclose(found.shares[[0, 2], 2], 0.3)
    assert (found.shares[[0, 2], 2] >= 0.3).all()
    assert (found.gain[[0, 2]] < 0).all()  # what the rule costs is told


def test_shares_that_break_a_rule_by_float_error_alone_are_not_called_a_move_for_gain():
    start = np.array([[0.2, 0.5 + 4e-10, 0.3 - 4e-10]])
    found = decide(
        problem(
            slope=(0.0, 0.0, 0.0),
            constraints=Constraints(caps={"coupon": 0.5}),
            start=start,
        ),
        CONFIG,
    )
    assert found.shares[0, 1] <= 0.5
    assert found.reason[0] == "required"


def test_infeasible_says_which_rules_contradict_each_other_for_which_row():
    clash = Constraints(floors={"ads": 0.4}, frozen=("coupon", "rebate"))
    found = decide(problem(constraints=clash), CONFIG)
    assert found.reason.tolist() == ["constrained", "infeasible", "constrained"]
    assert "ads" in found.binding[1]
    assert "row 1" in found.binding[1]
    assert np.array_equal(found.shares[1], START[1])
    assert found.gain[1] == 0


@pytest.mark.parametrize("search", ["ascent", "greedy"])
def test_with_fallback_rows_whose_lower_bound_is_negative_are_kept(search):
    """1.645 σ̂ exceeds the gain of every way, 0.25 σ̂ of none."""
    config = replace(CONFIG, search=search)
    doubtful = problem(doubt=1.0)
    free = decide(doubtful, config)
    assert free.moved.all()
    assert (free.gain - 1.645 * free.sigma < 0).all()
    safe = decide(doubtful, replace(config, fallback=True))
    assert reasons(safe) == {("uncertain", LOWER_BOUND)}
    assert kept(safe)
    sure = decide(problem(doubt=0.1), replace(config, fallback=True))
    assert sure.moved.all()
    assert (sure.gain - 1.645 * sure.sigma >= 0).all()


def test_fallback_keeps_to_what_is_required_and_tells_what_that_costs():
    floor = Constraints(floors={"rebate": 0.3})
    start = START[:1]
    found = decide(
        problem(slope=(0.0, 1.0, -1.0), constraints=floor, start=start, doubt=3.0),
        replace(CONFIG, fallback=True),
    )
    assert found.reason[0] == "required"
    assert np.isclose(found.shares[0, 2], 0.3)
    gain = (found.shares - start) @ [0.0, 1.0, -1.0]
    assert np.allclose(found.gain, gain)
    assert found.gain[0] < 0 < found.sigma[0]


def test_without_support_for_the_way_there_a_penalty_can_keep_a_row():
    class Thin(Everywhere):
        def omega(self, rows, ends):
            return np.zeros(ends.shape[:2])

    priced = replace(CONFIG, lambda_support=1.0)
    assert decide(problem(), priced).moved.all()
    assert not decide(problem(support=Thin()), priced).moved.any()


def test_steps_of_the_greedy_trace_lie_on_its_ladder():
    found = decide(problem(), replace(CONFIG, search="greedy", steps=(0.05,)))
    away = (found.shares - START) / 0.05
    assert np.allclose(away, np.rint(away), atol=1e-9)
    assert found.moved.all()


def test_a_grid_holds_whatever_the_search():
    found = decide(problem(constraints=Constraints(grid=0.04)), CONFIG)
    away = (found.shares - START) / 0.04
    assert np.allclose(away, np.rint(away), atol=1e-7)
    assert found.moved.all()


@pytest.mark.parametrize("search", ["ascent", "greedy"])
@pytest.mark.parametrize("channels", [2, 12, 50])
def test_few_and_many_channels_move_and_stay_on_the_simplex(channels, search):
    start = np.random.default_rng(0).dirichlet(np.ones(channels), size=6)
    found = decide(
        problem(np.arange(channels) / channels, start=start), replace(CONFIG, search=search)
    )
    assert (found.shares >= 0).all()
    assert np.allclose(found.shares.sum(axis=1), 1, atol=1e-9)
    assert found.moved.mean() > 0.8
    assert set(found.reason.tolist()) <= set(REASONS)


def test_a_batch_equals_row_by_row_and_nothing_is_changed_in_place():
    start = np.random.default_rng(0).dirichlet(np.ones(3), size=12)
    limits = Constraints(caps={"coupon": 0.6}, largest_move=0.1, floors={"ads": 0.05})
    given = start.copy()
    whole = decide(problem(constraints=limits, start=start), CONFIG)
    assert np.array_equal(start, given)
    for i in range(12):
        alone = decide(problem(constraints=limits, start=start[i : i + 1]), CONFIG)
        assert np.allclose(alone.shares[0], whole.shares[i], atol=1e-12)
        assert alone.reason[0] == whole.reason[i]


def test_no_rows_are_no_problem():
    found = decide(problem(start=np.empty((0, 3))), replace(CONFIG, fallback=True))
    assert found.shares.shape == (0, 3)


def test_random_rules_hold_in_every_verdict():
    random = np.random.default_rng(5)
    for seed in range(25):
        start = random.dirichlet(np.ones(3), size=8)
        low, high, largest = (
            random.uniform(0, 0.25),
            random.uniform(0.45, 0.8),
            random.uniform(0.3, 0.6),
        )
        rules = Constraints(
            floors={"ads": low}, caps={"coupon": high}, largest_move=largest
        )
        slope = np.random.default_rng(seed).standard_normal(3)
        found = decide(problem(slope, constraints=rules, start=start), CONFIG)
        fine = found.reason != "infeasible"
        assert (found.shares[fine, 0] >= low).all()
        assert (found.shares[fine, 1] <= high).all()
        assert (total_variation(found.shares, start)[fine] <= largest + 1e-12).all()
