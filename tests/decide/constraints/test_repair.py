import numpy as np
import pytest
from hypothesis import given, settings

from realloc.base.simplex import total_variation
from realloc.decide.constraints.constraints import Constraints, Group
from tests.decide.cases import Case, cases

ABC = ("ads", "coupon", "rebate")


def case_of(start, budget=100.0, used=True, channels=ABC, **asked):
    start = np.atleast_2d(np.asarray(start, float))
    return Case(
        Constraints(**asked),
        channels,
        start,
        np.full(len(start), budget),
        np.broadcast_to(used, start.shape),
        seed=0,
    )


@settings(max_examples=80)
@given(cases(grid=False, moves=False))
def test_repair_moves_as_little_money_as_a_solver(case):
    limits = case.limits()
    shares, problem = limits.repair()
    moved = total_variation(shares, case.start)
    for i in range(len(shares)):
        least = case.least_move(i)
        assert (least is None) == (problem[i] != "")
        if least is not None:
            assert moved[i] == pytest.approx(least, abs=1e-8)
            assert case.broken(i, shares[i]) == []


@settings(max_examples=60)
@given(cases(largest=4))
def test_repair_on_a_grid_with_a_largest_move_agrees_with_a_solver(case):
    shares, problem = case.limits().repair()
    for i in range(len(shares)):
        least = case.least_move(i)
        if least is None or least > case.largest(i) + 1e-8:
            assert problem[i] != ""
            assert ("largest_move" in problem[i]) == (least is not None)
            continue
        if least > case.largest(i) - 1e-8:
            continue  # on the edge either answer is right
        assert problem[i] == ""
        stepped = case.least_move(i, grid=True) if case.constraints.grid else least
        if stepped is None or stepped > case.largest(i) + 1e-8:
            stepped = least  # off the grid, where the grid leads to nothing
        assert total_variation(shares[i], case.start[i]) == pytest.approx(stepped, abs=1e-8)


def test_a_solver_would_see_a_repair_that_moves_too_much():
    case = case_of([[0.1, 0.6, 0.3]], floors={"ads": 0.3}, caps={"rebate": 0.35})
    clumsy = np.array([0.4, 0.35, 0.25])
    assert case.broken(0, clumsy) == []
    assert np.abs(clumsy - case.start[0]).sum() / 2 > case.least_move(0) + 0.05


def test_allowed_shares_keep_their_bits():
    start = np.random.default_rng(0).dirichlet(np.ones(3), 50)
    shares, problem = case_of(start, caps={"ads": 1.0}, largest_move=0.1).limits().repair()
    assert np.array_equal(shares, start)
    assert set(problem) == {""}


def test_repair_takes_in_proportion_to_what_channels_hold():
    shares, _ = case_of([[0.1, 0.6, 0.3]], floors={"ads": 0.4}).limits().repair()
    assert shares[0] == pytest.approx([0.4, 0.4, 0.2])


def test_repair_leaves_frozen_and_closed_channels_alone():
    limits = case_of(
        [[0.1, 0.6, 0.3, 0.0]],
        used=[[True, True, True, False]],
        channels=(*ABC, "tv"),
        caps={"coupon": 0.5},
    )
    assert limits.limits().repair()[0][0, 3] == 0.0
    frozen = (
        case_of([[0.1, 0.6, 0.3]], caps={"coupon": 0.5}, frozen=("rebate",))
        .limits()
        .repair()[0][0]
    )
    assert frozen[2] == 0.3
    assert frozen == pytest.approx([0.2, 0.5, 0.3])


def test_a_cap_of_zero_empties_a_channel_even_off_the_grid():
    limits = case_of([[0.03, 0.6, 0.37]], caps={"ads": 0.0}, grid=0.05).limits()
    shares, problem = limits.repair()
    assert problem[0] == ""
    assert shares[0, 0] == 0.0
    # From there on steps count from the repaired shares.
    candidates = shares[:, None] + np.array([[0, 0.05, -0.05], [0, 0.03, -0.03]])
    assert limits.allows(np.array([0]), shares, candidates).tolist() == [[True, False]]


def test_on_the_grid_where_it_can_be():
    shares, _ = (
        case_of([[0.22, 0.4, 0.38]], floors={"ads": 0.3}, grid=0.05).limits().repair()
    )
    assert shares[0, 0] == pytest.approx(0.32)


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        (
            {"floors_money": {"ads": 30, "coupon": 80}},
            "floor_money of ads 30 (0.3 of the budget 100) + floor_money of coupon 80 (0.8 of "
            "the budget 100) exceed 1",
        ),
        (
            {"floors": {"ads": 0.3}, "floors_money": {"coupon": 80}},
            "floor of ads 0.3 + floor_money of coupon 80 (0.8 of the budget 100) exceed 1",
        ),
        (
            {"floors": {"ads": 0.4}, "largest_move": 0.1},
            "floor of ads 0.4 needs a move of 0.3, above largest_move 0.1",
        ),
        (
            {"floors": {"ads": 0.4}, "largest_move": 0.9, "largest_move_money": 10},
            "floor of ads 0.4 needs a move of 0.3, above largest_move_money 10 (0.1 of the "
            "budget 100)",
        ),
        (
            {"floors": {"ads": 0.4}, "caps": {"coupon": 0.5}, "largest_move": 0.1},
            "floor of ads 0.4 + cap of coupon 0.5 need a move of 0.3, above largest_move 0.1",
        ),
        (
            {
                "groups": [{"channels": ["ads", "rebate"], "floor": 0.6}],
                "largest_move": 0.1,
            },
            "floor of group ads+rebate 0.6 needs a move of 0.2, above largest_move 0.1",
        ),
        (
            {"caps_money": {"ads": 5}, "frozen": ("coupon", "rebate")},
            "cap_money of ads 5 (0.05 of the budget 100) + frozen coupon 0.6 + frozen rebate "
            "0.3 stay below 1",
        ),
        (
            {"floors": {"ads": 0.3}, "frozen": ("coupon", "rebate")},
            "floor of ads 0.3 + frozen coupon 0.6 + frozen rebate 0.3 exceed 1",
        ),
        (
            {"floors_money": {"ads": 140}},
            "floor_money of ads 140 (1.4 of the budget 100) exceeds the whole budget",
        ),
        (
            {"floors": {"ads": 0.4}, "caps_money": {"ads": 20}},
            "floor of ads 0.4 exceeds cap_money of ads 20 (0.2 of the budget 100)",
        ),
        (
            {
                "groups": [{"channels": ["coupon", "rebate"], "cap": 0.5}],
                "frozen": ("coupon",),
            },
            "frozen coupon 0.6 exceeds cap of group coupon+rebate 0.5",
        ),
        (
            {
                "groups": [{"channels": ["ads", "rebate"], "floor": 0.5}],
                "frozen": ("rebate",),
                "caps": {"ads": 0.15},
            },
            "floor of group ads+rebate 0.5 exceeds cap of ads 0.15 + frozen rebate 0.3",
        ),
        (
            {"groups": [{"channels": ["ads", "rebate"], "floor": 0.5, "cap_money": 20}]},
            "floor of group ads+rebate 0.5 exceeds cap_money of group ads+rebate 20 (0.2 of "
            "the budget 100)",
        ),
        (
            {
                "floors": {"ads": 0.4},
                "caps_money": {"ads": 20, "coupon": 10},
                "floors_money": {"rebate": 101},
            },
            "floor of ads 0.4 exceeds cap_money of ads 20 (0.2 of the budget 100); "
            "floor_money of rebate 101 (1.01 of the budget 100) exceeds the whole budget",
        ),
    ],
)
def test_a_conflict_names_its_constraints_with_their_numbers(asked, text):
    case = case_of([[0.1, 0.6, 0.3]], **asked)
    shares, problem = case.limits().repair()
    assert problem[0] == f"row 0: {text}"
    assert np.array_equal(shares, case.start)


def test_only_the_rows_in_conflict_are_kept():
    start = [[0.1, 0.6, 0.3], [0.35, 0.35, 0.3], [0.5, 0.3, 0.2]]
    limits = case_of(start, floors={"ads": 0.4}, largest_move=0.1).limits()
    shares, problem = limits.repair()
    assert [bool(text) for text in problem] == [True, False, False]
    assert np.array_equal(shares[[0, 2]], np.array(start)[[0, 2]])
    assert shares[1, 0] == 0.4
    assert limits.kept.tolist() == [True, False, False]
    assert limits.broken.tolist() == [False, True, False]


def test_nested_groups_are_repaired_together():
    groups = (
        Group(channels=("a", "b"), cap=0.3),
        Group(channels=("a", "b", "c"), floor=0.8),
    )
    case = case_of([[0.4, 0.2, 0.1, 0.3]], channels=tuple("abcd"), groups=groups)
    shares, problem = case.limits().repair()
    assert problem[0] == ""
    assert case.broken(0, shares[0]) == []
    assert total_variation(shares, case.start)[0] == pytest.approx(0.4)
