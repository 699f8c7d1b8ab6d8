import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from realloc.decide.search.tree import Whole, build_tree, nearest_point, tighten

GROUPS = {
    2: [],
    3: [(0, 2)],
    4: [(0, 1), (2, 3)],
    5: [(1, 3), (0, 1, 3)],
    6: [(0, 1), (2, 3), (0, 1, 2, 3)],
}


def test_a_tree_lists_small_groups_first_and_the_budget_last():
    tree = build_tree(6, GROUPS[6])
    assert tree.children == ((0, 1), (2, 3), (6, 7), (4, 5, 8))
    assert tree.root == 9
    assert tree.sums(np.arange(6.0)).tolist() == [0, 1, 2, 3, 4, 5, 1, 5, 6, 15]


def test_tighten_finds_where_nothing_is_left():
    tree = build_tree(3, [(0, 1)])
    low, high = np.array([[0.3, 0.4, 0, 0, 1.0]]), np.array([[1, 1, 1, 0.5, 1.0]])
    assert tighten(tree, low, high)[2].tolist() == [[False, False, False, True, False]]
    low[0, 1] = 0.1
    tight_low, tight_high, clash = tighten(tree, low, high)
    assert not clash.any()
    assert tight_low[0, 3] == pytest.approx(0.4)
    assert tight_high[0, 3] == 0.5


def test_gains_and_losses_follow_the_weights_as_far_as_bounds_allow():
    tree = build_tree(4, [])
    low = np.array([[0.5, 0, 0, 0.09, 1.0]])
    low, high, _ = tighten(tree, low, np.ones((1, 5)))
    wanted = np.array([[0.1, 0.6, 0.2, 0.1]])
    found = nearest_point(tree, wanted, low, high, wanted)
    assert found[0] == pytest.approx([0.5, 0.6 - 0.39 * 0.75, 0.2 - 0.39 * 0.25, 0.09])


@settings(max_examples=60)
@given(st.integers(2, 6), st.integers(0, 10**6), st.booleans())
def test_whole_units_stay_within_whole_bounds_and_sum_to_the_budget(K, seed, homeward):
    rng = np.random.default_rng(seed)
    tree = build_tree(K, GROUPS[K])
    inside = rng.integers(0, 9, (5, K)).astype(float)
    sums = tree.sums(inside)
    low = sums - rng.integers(0, 3, sums.shape)
    high = sums + rng.integers(0, 3, sums.shape)
    low[:, -1] = high[:, -1] = sums[:, -1]
    tight = tighten(tree, low, high)
    assert not tight[2].any()
    wanted = rng.random((5, K)) * 9
    whole = Whole(np.arange(K), inside if homeward else None)
    units = nearest_point(tree, wanted, tight[0], tight[1], wanted, whole)
    found = tree.sums(units)
    assert np.array_equal(units, np.rint(units))
    assert np.all((found >= low) & (found <= high))
