import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from realloc.base.errors import ConfigError
from realloc.decide.portfolio import portfolio
from realloc.decide.portfolio.knapsack import Menu
from realloc.decide.portfolio.portfolio import choose

NAMES = ("coupon", "feed", "search", "mail", "moved money")


def draw_menu(seed, n=30, J=4, R=2, scale=1.0, cents=1000, keep_uses=False):
    """Random gains and uses; keep uses nothing unless told."""
    rng = np.random.default_rng(seed)
    gain = rng.normal(size=(n, J)) * scale
    gain[:, 0] = 0.0
    use = rng.integers(0, cents + 1, size=(n, J, R))
    possible = rng.random((n, J)) < 0.85
    possible[:, 0] = True
    if not keep_uses:
        use[:, 0] = 0
    return Menu(gain, use, possible)


def use_of(menu, option):
    return menu.use[np.arange(len(option)), option].sum(axis=0)


def unit_best(menu):
    return np.where(menu.possible, menu.gain, -np.inf).argmax(axis=1)


def assert_feasible(menu, limits, choice):
    rows = np.arange(len(choice.option))
    assert menu.possible[rows, choice.option].all()
    assert choice.used.tolist() == use_of(menu, choice.option).tolist()
    assert (choice.used <= limits).all()


def pick(menu, limits, core=portfolio.CORE, nodes=portfolio.NODES):
    """Choose, with an integer program of `core` groups and `nodes` of search."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(portfolio, "CORE", core)
        patch.setattr(portfolio, "NODES", nodes)
        return choose(menu, np.asarray(limits), NAMES[: len(limits)])


def enumerate_all(menu, limits):
    """All choices: the best gain within the limits, None if there is no choice."""
    options = np.array(
        list(itertools.product(*(np.flatnonzero(row) for row in menu.possible)))
    )
    rows = np.arange(menu.gain.shape[0])
    fits = (menu.use[rows, options].sum(axis=1) <= limits).all(axis=1)
    return menu.gain[rows, options].sum(axis=1)[fits].max() if fits.any() else None


def solve_milp(menu, limits):
    n, J, R = menu.use.shape
    one_each = csr_array(np.kron(np.eye(n), np.ones(J)))
    result = milp(
        -menu.gain.ravel(),
        integrality=np.ones(n * J),
        bounds=Bounds(0, menu.possible.ravel().astype(float)),
        constraints=[
            LinearConstraint(menu.use.reshape(-1, R).T.astype(float), -np.inf, limits),
            LinearConstraint(one_each, 1, 1),
        ],
        options={"mip_rel_gap": 1e-3},
    )
    return -result.fun


def test_tiny_menus_agree_with_enumeration():
    rng = np.random.default_rng(5)
    met, reached = 0, 0
    for seed in range(60):
        R = 1 + seed % 5
        menu = draw_menu(
            seed, n=5, J=4, R=R, scale=10.0 ** rng.integers(-6, 7), keep_uses=seed % 2 == 0
        )
        limits = (
            np.quantile(menu.use, 0.2 + 0.5 * rng.random(), axis=(0, 1)).astype(int) * 5
        )
        best = enumerate_all(menu, limits)
        if best is None:
            with pytest.raises(ConfigError, match="Expected"):
                pick(menu, limits)
            continue
        choice = pick(menu, limits)
        size = np.abs(menu.gain).sum()
        assert_feasible(menu, limits, choice)
        assert choice.value <= best + 1e-12 * size <= choice.bound + 2e-12 * size
        met, reached = met + 1, reached + (choice.value >= best - 1e-12 * size)
    assert met >= 30
    assert reached >= 0.95 * met


def test_with_a_small_core_most_tiny_menus_are_still_near_optimal():
    short = []
    for seed in range(40):
        menu = draw_menu(seed, n=6, J=4, R=2)
        limits = use_of(menu, unit_best(menu)) // 2
        best, choice = enumerate_all(menu, limits), pick(menu, limits, core=1)
        assert_feasible(menu, limits, choice)
        short.append(1 - choice.value / best)
    assert np.median(short) < 0.02


@pytest.mark.parametrize("seed", range(2))
def test_mid_size_menus_reach_99_percent_of_the_integer_program(seed):
    menu = draw_menu(seed, n=200, J=6, R=3, cents=10**6)
    limits = (use_of(menu, unit_best(menu)) * (0.35, 0.5, 0.6)).astype(int)
    choice, best = pick(menu, limits), solve_milp(menu, limits)
    assert_feasible(menu, limits, choice)
    assert choice.value >= 0.99 * best
    assert choice.bound >= best * (1 - 1e-9)
    assert 0 <= choice.gap < 0.01 * abs(choice.value)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 40),
    J=st.integers(1, 5),
    R=st.integers(1, 5),
    part=st.floats(0, 1.2),
    cents=st.sampled_from([1, 3, 100, 10**6, 10**12]),
    scale=st.sampled_from([1e-6, 1.0, 1e6]),
)
def test_every_choice_keeps_every_limit_exactly(seed, n, J, R, part, cents, scale):
    menu = draw_menu(seed, n, J, R, scale, cents)
    limits = (use_of(menu, unit_best(menu)) * part).astype(int)
    choice = pick(menu, limits, core=5, nodes=10)
    assert_feasible(menu, limits, choice)
    assert 0 <= choice.value <= choice.bound  # keep alone is within the limits and gains 0
    assert (choice.prices >= 0).all()


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), R=st.integers(1, 4), spare=st.integers(0, 200))
def test_a_reachable_limit_below_keep_is_reached(seed, R, spare):
    menu = draw_menu(seed, n=20, R=R, keep_uses=True)
    weight = np.random.default_rng(seed).dirichlet(np.ones(R))
    frugal = np.where(menu.possible, menu.use @ weight, np.inf).argmin(axis=1)
    limits = (
        use_of(menu, frugal) + spare
    )  # so that a choice exists, with little room around it
    assert_feasible(menu, limits, pick(menu, limits))


def test_limits_that_do_not_bind_leave_the_unit_level_optimum_bit_for_bit():
    menu = draw_menu(1, n=100)
    choice = pick(menu, use_of(menu, unit_best(menu)))
    assert np.array_equal(choice.option, unit_best(menu))
    assert choice.prices.tolist() == [0.0, 0.0]
    assert choice.gap == 0.0


def test_one_binding_limit_has_a_price_and_a_loose_one_has_none():
    menu = draw_menu(2, n=200, R=2)
    free = use_of(menu, unit_best(menu))
    choice = pick(menu, [free[0] // 2, 10 * free[1]])
    assert choice.prices[0] > 0
    assert choice.prices[1] == 0


def test_a_price_is_the_gain_of_one_more_unit_of_the_limit():
    menu = draw_menu(2, n=3000, R=1)
    limit = use_of(menu, unit_best(menu)) // 2
    low, high = pick(menu, limit), pick(menu, limit + 10_000)
    assert np.isclose((high.value - low.value) / 10_000, low.prices[0], rtol=0.02)


@pytest.mark.parametrize("R", [1, 2, 5])
def test_the_order_of_the_units_changes_neither_value_nor_bound(R):
    menu = draw_menu(3, n=100, R=R)
    tied = Menu(np.round(menu.gain), menu.use // 300, menu.possible)
    order = np.random.default_rng(0).permutation(100)
    for one in (menu, tied):
        limits = use_of(one, unit_best(one)) // 2
        other = Menu(one.gain[order], one.use[order], one.possible[order])
        first, second = pick(one, limits, core=12), pick(other, limits, core=12)
        assert first.value == second.value
        assert first.bound == second.bound
        assert np.array_equal(first.prices, second.prices)
        assert np.array_equal(first.used, second.used)


def test_of_equal_units_the_first_get_the_most_and_of_equal_options_the_lowest_is_taken():
    gain, use = np.tile([0.0, 2.0, 2.0], (4, 1)), np.tile([[0], [10], [10]], (4, 1, 1))
    assert pick(Menu(gain, use, np.ones((4, 3), bool)), [40]).option.tolist() == [
        1,
        1,
        1,
        1,
    ]
    assert pick(Menu(gain, use, np.ones((4, 3), bool)), [25]).option.tolist() == [
        1,
        1,
        0,
        0,
    ]


def test_the_same_menu_gives_the_same_choice_and_stays_unchanged():
    menu = draw_menu(4, n=80, R=3)
    before = menu.gain.copy(), menu.use.copy(), menu.possible.copy()
    limits = use_of(menu, unit_best(menu)) // 3
    assert np.array_equal(
        pick(menu, limits, core=12).option, pick(menu, limits, core=12).option
    )
    for old, new in zip(before, (menu.gain, menu.use, menu.possible), strict=True):
        assert np.array_equal(old, new)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_gains_and_money_of_any_size_give_the_same_choice(scale):
    menu = draw_menu(6, n=100, cents=1000)
    limits = use_of(menu, unit_best(menu)) // 2
    other = Menu(menu.gain * scale, menu.use * 10**9, menu.possible)
    first, second = pick(menu, limits), pick(other, limits * 10**9)
    assert np.isclose(second.value, first.value * scale, rtol=1e-3)
    assert np.isclose(second.bound, first.bound * scale, rtol=1e-5)


def test_zero_limits_leave_only_options_that_use_nothing():
    menu = draw_menu(7, n=50, cents=3)
    choice = pick(menu, [0, 0])
    free = menu.possible & (menu.use == 0).all(axis=-1)
    assert np.array_equal(choice.option, np.where(free, menu.gain, -np.inf).argmax(axis=1))
    assert choice.used.tolist() == [0, 0]


def test_a_resource_nobody_uses_costs_nothing():
    menu = draw_menu(8, n=60, R=2)
    menu.use[:, :, 1] = 0
    limits = np.array([use_of(menu, unit_best(menu))[0] // 2, 0])
    choice = pick(menu, limits)
    assert_feasible(menu, limits, choice)
    assert choice.prices[1] == 0
    assert choice.gap < 0.02 * abs(choice.value)


def test_where_every_option_is_worse_than_keep_all_keep():
    menu = draw_menu(9, n=30)
    worse = Menu(-np.abs(menu.gain), menu.use, menu.possible)
    choice = pick(worse, [0, 0])
    assert choice.option.tolist() == [0] * 30
    assert choice.value == choice.bound == 0.0


def test_keep_above_the_pool_gives_way_where_it_costs_least():
    gain = np.array([[0.0, -3.0], [0.0, -1.0], [0.0, -2.0]])
    use = np.array([[[100], [40]]] * 3)
    choice = pick(Menu(gain, use, np.ones((3, 2), bool)), [200])
    assert choice.option.tolist() == [0, 1, 1]
    assert choice.value == -3.0
    assert choice.bound >= choice.value


def test_many_equal_units_are_repaired_at_once():
    menu = draw_menu(10, n=4, R=3)
    many = Menu(
        *(np.repeat(part, 2000, axis=0) for part in (menu.gain, menu.use, menu.possible))
    )
    limits = use_of(many, unit_best(many)) // 2
    choice = pick(many, limits)
    assert_feasible(many, limits, choice)
    assert choice.gap < 0.001 * abs(
        choice.value
    )  # prices alone move equal units all at once; that would leave 4 %


def test_an_unreachable_cap_names_the_resource_the_limit_and_the_least_use():
    menu = Menu(
        np.zeros((2, 2)),
        np.array([[[70_000], [62_500]], [[62_500], [90_000]]]),
        np.ones((2, 2), bool),
    )
    sentence = (
        "Expected at most 1,000.00 of coupon over all units, but the least that the allowed "
        "moves reach is 1,250.00. "
        "Raise the cap or open more moves."
    )
    with pytest.raises(ConfigError) as raised:
        pick(menu, [100_000])
    assert str(raised.value) == sentence


@pytest.mark.parametrize("n", [1, 60])
def test_caps_that_exclude_each_other_are_named(n):
    use = np.tile([[100, 0], [0, 100]], (n, 1, 1))  # money must be in one of the two
    menu = Menu(np.zeros((n, 2)), use, np.ones((n, 2), bool))
    with pytest.raises(
        ConfigError, match=r"within all caps \(coupon .*, feed .*\), but none was found"
    ):
        pick(menu, [40 * n, 40 * n])
    limits = np.array([50 * n, 50 * n])
    if n > 1:
        assert_feasible(menu, limits, pick(menu, limits))


def test_padding_may_hold_anything():
    gain = np.array([[0.0, np.nan, 1.0]])
    menu = Menu(gain, np.array([[[0], [5], [10]]]), np.array([[True, False, True]]))
    assert pick(menu, [20]).option.tolist() == [2]
    assert pick(menu, [9]).option.tolist() == [0]
