import time

import numpy as np
import pytest
from hypothesis import given, settings

from realloc.base.errors import ConfigError
from realloc.base.simplex import total_variation
from realloc.decide.constraints.constraints import Constraints, Group
from realloc.decide.constraints.limits import compile_limits
from realloc.decide.search.greedy import SearchConfig, search_greedy
from tests.decide.cases import Case, cases

ABC = ("ads", "coupon", "rebate")
THREE = np.array([[0.5, 0.3, 0.2], [1.0, 0.0, 0.0]])
SEARCH = SearchConfig(steps=(0.01, 0.05, 0.1), max_steps=4, max_length=1.0)


def limits_of(start=THREE, budget=100.0, used=True, channels=ABC, **constraints):
    start = np.atleast_2d(np.asarray(start, float))
    used = np.broadcast_to(used, start.shape)
    return compile_limits(
        Constraints(**constraints), channels, start, np.full(len(start), budget), used
    )


def recommend(case, search=SEARCH):
    """The whole way from constraints to money, as a policy goes it, with a random linear gain."""
    limits = case.limits()
    repaired, problem = limits.repair()
    slopes = np.random.default_rng(case.seed).standard_normal(case.start.shape)

    def gain(rows, shares, candidates):
        return np.einsum("nck,nk->nc", candidates - shares[:, None], slopes[rows])

    trace = search_greedy(repaired, gain, limits.allows, search)
    return limits, problem, limits.settle(trace.shares), trace


@settings(max_examples=100)
@given(cases())
def test_every_row_keeps_every_constraint_or_is_explained(case):
    limits, problem, shares, trace = recommend(case)
    assert np.abs(shares - trace.shares).max() < 1e-9  # the search was inside all along
    for i in range(len(shares)):
        if problem[i]:
            assert problem[i].startswith(f"row {i}: ")
            assert np.array_equal(shares[i], case.start[i])
        else:
            assert case.broken(i, shares[i], limits.repaired.anchor[i]) == []
    units = limits.round_money(shares)
    assert np.array_equal(units.sum(axis=1), np.rint(case.budget * 100))
    assert np.all(units[shares == 0] == 0)


@settings(max_examples=40)
@given(cases())
def test_settle_brings_any_shares_whatsoever_inside(case):
    limits = case.limits()
    wild = np.random.default_rng(case.seed).dirichlet(
        np.full(len(case.channels), 0.3), len(case.start)
    )
    shares = limits.settle(wild)
    for i in np.flatnonzero(~limits.kept):
        assert case.broken(i, shares[i], limits.repaired.anchor[i]) == []


@pytest.mark.parametrize("mutant", ["search anywhere", "no settling", "no repair"])
def test_the_check_of_constraints_would_see_a_step_left_out(mutant):
    rng = np.random.default_rng(0)
    start = rng.dirichlet(np.ones(3), 40)
    case = Case(
        Constraints(floors={"ads": 0.1 + 0.2}, frozen=("rebate",)),
        ABC,
        start,
        np.full(40, 100.0),
        start > 0,
        0,
    )
    limits = case.limits()
    repaired, problem = limits.repair()

    def gain(rows, shares, candidates):
        return (candidates - shares[:, None]) @ np.array([-1.0, 1.0, 3.0])

    def anywhere(rows, start, candidates):
        return np.ones(candidates.shape[:2], dtype=bool)

    allowed = anywhere if mutant == "search anywhere" else limits.allows
    shares = search_greedy(
        start if mutant == "no repair" else repaired, gain, allowed, SEARCH
    ).shares
    if mutant == "no settling":
        shares = shares - np.array(
            [1e-16, -1e-16, 0]
        )  # float error of the kind that summed steps have
    rows = np.flatnonzero(problem == "")
    assert any(case.broken(i, shares[i]) for i in rows)
    assert (np.abs(limits.settle(shares) - shares)[rows].max() < 1e-9) == (
        mutant == "no settling"
    )
    assert not any(
        case.broken(i, s) for i, s in zip(rows, limits.settle(shares)[rows], strict=True)
    )


def test_allows_names_what_forbids():
    limits = limits_of(
        start=[[0.4, 0.3, 0.2, 0.1, 0.0]],
        used=[[True, True, True, True, False]],
        channels=("ads", "coupon", "rebate", "mail", "tv"),
        floors={"ads": 0.35},
        caps={"coupon": 0.4},
        frozen=("mail",),
        groups=(Group(channels=("coupon", "rebate"), cap=0.55),),
        largest_move=0.2,
        grid=0.05,
    )
    moves = {
        "": [-0.05, 0.05, 0, 0, 0],
        "floor of ads": [-0.1, 0.05, 0.05, 0, 0],
        "cap of coupon": [0, 0.15, -0.15, 0, 0],
        "frozen mail": [0.05, 0, 0, -0.05, 0],
        "never used tv": [0, -0.05, 0, 0, 0.05],
        "group coupon+rebate": [-0.05, 0.05, 0.05, -0.05, 0],
        "largest move": [0.25, -0.25, 0, 0, 0],
        "grid": [0.03, -0.03, 0, 0, 0],
    }
    candidates = (limits.start + np.array(list(moves.values())))[None]
    rows = np.array([0])
    found = limits.binding(rows, candidates)[0].tolist()
    assert found == [
        name if name != "group coupon+rebate" else "frozen mail" for name in moves
    ]
    assert limits.allows(rows, limits.start, candidates)[0].tolist() == [
        name == "" for name in moves
    ]
    free = limits_of(
        start=[[0.4, 0.3, 0.3]], groups=(Group(channels=("coupon", "rebate"), cap=0.6),)
    )
    assert free.binding(rows, np.array([[[0.3, 0.4, 0.3]]])).tolist() == [
        ["group coupon+rebate"]
    ]


@settings(max_examples=40)
@given(cases())
def test_allowed_is_what_keeps_every_constraint_and_has_no_name_that_forbids_it(case):
    limits = case.limits()
    rng = np.random.default_rng(case.seed)
    rows, K = np.arange(len(case.start))[::-1], len(case.channels)
    candidates = np.repeat(limits.repair()[0][rows][:, None], 12, axis=1)
    step = rng.choice([0.0, 0.05, 0.1, 0.3], (len(rows), 12))
    for c in range(12):
        source, target = rng.permutation(K)[:2]
        step[:, c] = np.minimum(step[:, c], candidates[:, c, source])
        candidates[:, c, source] -= step[:, c]
        candidates[:, c, target] += step[:, c]
    allowed = limits.allows(rows, case.start[rows], candidates)
    assert np.array_equal(allowed, limits.binding(rows, candidates) == "")
    for a, row in enumerate(rows):
        for c in range(12):
            forbidden = case.broken(
                row, candidates[a, c], limits.repaired.anchor[row], error=2e-12
            )
            assert allowed[a, c] == (not limits.kept[row] and not forbidden)


def test_moves_are_judged_from_the_current_shares_not_from_the_repaired_ones():
    limits = limits_of(start=[[0.1, 0.9, 0.0]], floors={"ads": 0.3}, largest_move=0.25)
    repaired, _ = limits.repair()
    candidates = repaired[:, None] + np.array([[0.05, -0.05, 0.0], [0.06, -0.06, 0.0]])
    assert limits.allows(np.array([0]), repaired, candidates).tolist() == [[True, False]]


def test_a_largest_move_is_held_to_the_last_bit():
    start = np.random.default_rng(1).dirichlet(np.ones(3), 500)
    case = Case(
        Constraints(largest_move=0.1), ABC, start, np.full(500, 100.0), start > 0, 3
    )
    _, _, shares, trace = recommend(case)
    assert np.any(
        total_variation(trace.shares, start) > 0.1
    )  # by float error only, but as a user would see it
    assert np.all(total_variation(shares, start) <= 0.1)
    assert np.mean(total_variation(shares, start) > 0.0999) > 0.5


def test_group_sums_hold_to_the_last_bit_whichever_way_they_are_added_up():
    channels, rng = tuple("abcdef"), np.random.default_rng(2)
    start = rng.dirichlet(np.ones(6), 300)
    group = Group(channels=("b", "d", "f"), floor=0.45, cap=0.55)
    case = Case(
        Constraints(groups=(group,)), channels, start, np.full(300, 100.0), start > 0, 3
    )
    _, problem, shares, _ = recommend(case)
    assert set(problem) == {""}
    for order in ([1, 3, 5], [5, 3, 1], [3, 5, 1]):
        held = shares[:, order[0]] + shares[:, order[1]] + shares[:, order[2]]
        assert np.all((held >= 0.45) & (held <= 0.55))


def test_what_nobody_touched_keeps_its_bits():
    start = np.random.default_rng(3).dirichlet(np.ones(4), 200)
    case = Case(
        Constraints(caps={"a": 0.9}, frozen=("d",)),
        tuple("abcd"),
        start,
        np.full(200, 100.0),
        start > 0,
        0,
    )
    limits = case.limits()
    moved = start.copy()
    step = np.minimum(start[:, 1], 0.05)
    moved[:, 1] -= step
    moved[:, 2] += step
    shares = limits.settle(moved)
    inside = start[:, 0] <= 0.9
    assert np.array_equal(shares[inside][:, [0, 3]], start[inside][:, [0, 3]])
    assert np.array_equal(limits.settle(start)[inside], start[inside])


def test_a_small_move_is_not_useful_unless_a_constraint_needs_it():
    limits = limits_of(
        start=[[0.5, 0.3, 0.2], [0.29, 0.41, 0.3]], floors={"ads": 0.3}, smallest_move=0.05
    )
    shares, _ = limits.repair()
    assert limits.broken.tolist() == [False, True]
    assert limits.useful(shares).tolist() == [False, True]
    shares[0] += [0.05, -0.05, 0.0]
    assert limits.useful(shares).tolist() == [True, True]
    in_money = limits_of(start=[[0.5, 0.3, 0.2]], budget=50.0, smallest_move_money=5.0)
    assert in_money.useful(np.array([[0.59, 0.21, 0.2]])).tolist() == [False]
    assert in_money.useful(np.array([[0.6, 0.2, 0.2]])).tolist() == [True]
    assert limits_of().useful(THREE).all()


def test_rows_without_a_budget_are_kept():
    limits = limits_of(
        budget=0.0, floors={"coupon": 0.4}, caps_money={"ads": 1.0}, largest_move_money=1.0
    )
    shares, problem = limits.repair()
    assert np.array_equal(shares, THREE)
    assert problem.tolist() == ["", ""]
    rows = np.arange(2)
    assert not limits.allows(rows, THREE, THREE[:, None]).any()
    assert limits.binding(rows, THREE[:, None]).tolist() == [["no budget"], ["no budget"]]
    assert np.array_equal(limits.settle(shares[:, ::-1]), THREE)
    assert limits.round_money(shares).tolist() == [[0, 0, 0], [0, 0, 0]]


def test_an_empty_batch_is_fine():
    limits = limits_of(
        start=np.empty((0, 3)), floors={"ads": 0.3}, grid=0.1, largest_move=0.2
    )
    shares, problem = limits.repair()
    assert shares.shape == (0, 3)
    assert problem.shape == (0,)
    assert limits.settle(shares).shape == limits.round_money(shares).shape == (0, 3)


def test_never_used_channels_stay_closed_unless_opened():
    start, used = [[0.6, 0.4, 0.0]], [[True, True, False]]
    gain = lambda rows, shares, candidates: (candidates - shares[:, None])[..., 2]  # noqa: E731
    for opened, held in (((), 0.0), (("rebate",), 0.4), (("*",), 0.4), (("ads",), 0.0)):
        limits = limits_of(start=start, used=used, open=opened)
        found = limits.settle(
            search_greedy(limits.repair()[0], gain, limits.allows, SEARCH).shares
        )
        assert found[0, 2] == pytest.approx(held)
    held_before = limits_of(
        start=[[0.6, 0.3, 0.1]], used=False
    )  # a share above 0 counts as used
    assert held_before.allows(
        np.array([0]), held_before.start, np.array([[[0.5, 0.3, 0.2]]])
    ).all()


def test_rows_are_independent_of_each_other():
    rng = np.random.default_rng(5)
    start = (
        rng.dirichlet(np.ones(4), 30) * (rng.random((30, 4)) < 0.7) + np.eye(4)[0] * 0.01
    )
    start /= start.sum(axis=1, keepdims=True)
    asked = Constraints(
        floors={"b": 0.2},
        caps={"a": 0.4},
        groups=(Group(channels=("a", "c"), cap=0.6),),
        largest_move=0.4,
        grid=0.05,
    )
    together = compile_limits(asked, tuple("abcd"), start, np.full(30, 77.7), start > 0)
    for i in range(30):
        alone = compile_limits(asked, tuple("abcd"), start[[i]], [77.7], start[[i]] > 0)
        assert np.array_equal(alone.repair()[0][0], together.repair()[0][i])
        wild = np.full((30, 4), 0.25)
        assert np.array_equal(alone.settle(wild[[i]])[0], together.settle(wild)[i])


def test_fifty_channels():
    channels = tuple(f"c{k:02d}" for k in range(50))
    start = np.random.default_rng(0).dirichlet(np.ones(50), 20)
    asked = Constraints(
        floors=dict.fromkeys(channels[:20], 0.01),
        caps=dict.fromkeys(channels[10:40], 0.05),
        frozen=channels[40:42],
        groups=(
            Group(channels=channels[:10], cap=0.2),
            Group(channels=channels[:30], floor=0.5),
        ),
    )
    case = Case(asked, channels, start, np.full(20, 100.0), start > 0, 1)
    search = SearchConfig(steps=(0.01,), max_steps=3, max_length=1.0)
    limits, problem, shares, _ = recommend(case, search)
    assert set(problem) == {""}
    assert all(case.broken(i, shares[i]) == [] for i in range(20))
    assert np.all(limits.round_money(shares).sum(axis=1) == 10000)


def test_a_hundred_thousand_rows_take_less_than_a_second():
    start = np.random.default_rng(0).dirichlet(np.ones(4) * 5, 100_000)
    used, budget = np.ones(start.shape, bool), np.full(len(start), 100.0)
    asked = Constraints(
        floors={"a": 0.01}, caps={"b": 0.95}, frozen=("d",), largest_move=0.2
    )
    began = time.process_time()
    limits = compile_limits(asked, tuple("abcd"), start, budget, used)
    limits.settle(limits.repair()[0])
    assert time.process_time() - began < 1.0


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        (
            {"floors": {"coupn": 0.1}},
            ConfigError,
            r"Unknown channel 'coupn' in \[constraints\]. Did you mean 'coupon'\?",
        ),
        (
            {"groups": [{"channels": ["ads", "adz"], "cap": 1}]},
            ConfigError,
            "Unknown channel 'adz' in",
        ),
        (
            {"open": ("zzzz",)},
            ConfigError,
            "Unknown channel 'zzzz' in .* Known: ads, coupon, rebate.",
        ),
        (
            {"caps": {"ads": 0.2, "coupon": 0.3, "rebate": 0.4}},
            ConfigError,
            r"but cap of ads 0.2 \+ cap of coupon 0.3 \+ cap of rebate 0.4 "
            r"stay below 1. Loosen one of them",
        ),
    ],
)
def test_bad_input_gets_a_sentence(change, error, text):
    with pytest.raises(error, match=text):
        limits_of(**change)
