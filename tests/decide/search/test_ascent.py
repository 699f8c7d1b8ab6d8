import numpy as np
import pytest

from realloc.base.simplex import edges
from realloc.decide.search.ascent import candidates, choose_edges, search_ascent
from realloc.decide.search.greedy import SearchConfig, search_greedy

STEPS = (0.01, 0.02, 0.05)
CONFIG = SearchConfig(steps=STEPS, max_steps=12, max_length=0.22)


def anywhere(rows, start, ends):
    return np.ones(ends.shape[:2], dtype=bool)


def starts(n=60, channels=4, seed=0):
    return np.random.default_rng(seed).dirichlet(np.ones(channels), size=n)


def smooth(n, channels, seed=0):
    """Random smooth surfaces, one per row: a slope, a curvature and a wave. Returns the value
    at ends (a, m, K).
    """
    random = np.random.default_rng(seed)
    slope = random.standard_normal((n, channels))
    bend = random.standard_normal((n, channels, channels)) * 2
    wave = random.standard_normal((n, channels)) * 8

    def value(rows, p):
        wavy = np.sin(np.einsum("amk,ak->am", p, wave[rows]))
        return (
            np.einsum("amk,ak->am", p, slope[rows])
            + np.einsum("amk,akl,aml->am", p, bend[rows], p)
            + wavy / 2
        )

    def objective(rows, start, ends):
        return value(rows, ends) - value(rows, start[:, None])

    return objective


def quadratic(optimum, weights):
    """−Σ w (p − p*)², whose best place is known."""

    def objective(rows, start, ends):
        worth = [
            -(weights * np.square(p - optimum[rows][:, None])).sum(-1)
            for p in (ends, start[:, None])
        ]
        return worth[0] - worth[1]

    return objective


def gain_of(objective, start, end):
    return objective(np.arange(len(start)), start, end[:, None])[:, 0]


def test_ends_are_on_the_simplex_and_never_farther_than_the_longest_way():
    start = starts()
    found = search_ascent(start, smooth(60, 4), anywhere, CONFIG).shares
    assert (found >= 0).all()
    assert np.allclose(found.sum(axis=1), 1, atol=1e-12)
    assert (np.linalg.norm(found - start, axis=1) <= CONFIG.max_length + 1e-12).all()
    assert (
        np.linalg.norm(found - start, axis=1) > 0.9 * CONFIG.max_length
    ).any()  # the limit binds


def test_no_row_ends_worse_than_it_started_and_the_promise_is_the_objective():
    start, objective = starts(), smooth(60, 4)
    trace = search_ascent(start, objective, anywhere, CONFIG)
    found = gain_of(objective, start, trace.shares)
    assert (found >= 0).all()
    assert np.allclose(trace.gain, found)
    assert np.array_equal(trace.steps > 0, found > 0)
    held = np.stack(
        [gain_of(objective, start, trace.points[:, turn]) for turn in range(41)]
    )
    assert (np.diff(held, axis=0) >= 0).all()  # turn by turn


def test_rows_below_the_threshold_keep_their_shares_to_the_bit():
    start, objective = starts(), smooth(60, 4)
    free = search_ascent(start, objective, anywhere, CONFIG)
    threshold = float(np.median(free.gain))
    config = SearchConfig(steps=STEPS, max_steps=12, max_length=0.22, threshold=threshold)
    trace = search_ascent(start, objective, anywhere, config)
    below = free.gain <= threshold
    assert np.array_equal(trace.shares[below], start[below])
    assert (trace.steps[below] == 0).all()
    assert np.array_equal(trace.shares[~below], free.shares[~below])


def test_nothing_forbidden_is_ever_held():
    start, objective = starts(), smooth(60, 4)

    def lower_half(rows, start, ends):
        return ends[..., 0] <= start[:, None, 0] + 1e-15

    def first_is_never_raised(shares):
        return (shares[..., 0] <= start[:, None, 0] + 1e-15).all()

    assert first_is_never_raised(search_ascent(start, objective, lower_half, CONFIG).points)
    assert not first_is_never_raised(
        search_ascent(start, objective, anywhere, CONFIG).points
    )


def test_where_nothing_is_allowed_nothing_moves():
    start = starts()
    trace = search_ascent(start, smooth(60, 4), lambda *a: ~anywhere(*a), CONFIG)
    assert np.array_equal(trace.shares, start)
    assert (trace.gain == 0).all()


@pytest.mark.parametrize("channels", [2, 3, 5])
def test_the_optimum_of_a_concave_quadratic_is_reached(channels):
    random = np.random.default_rng(1)
    start = random.dirichlet(np.full(channels, 8.0), size=40)
    optimum = start + 0.1 * (
        random.dirichlet(np.full(channels, 8.0), size=40) - start
    )  # well inside the ball
    weights = random.uniform(1, 4, channels)
    objective = quadratic(optimum, weights)
    found = search_ascent(start, objective, anywhere, CONFIG)
    missed = -gain_of(objective, optimum, found.shares)
    # A quarter of the smallest step is as near as the ladder comes.
    assert missed.max() <= 4 * np.square(0.0025) * channels
    assert missed.mean() < 0.05 * gain_of(objective, start, optimum).mean()


def test_the_optimum_on_the_rim_of_the_ball_is_reached_nearly():
    start = np.tile([0.25, 0.25, 0.25, 0.25], (1, 1))
    slope = np.array([3.0, 1.0, -1.0, -3.0])
    trace = search_ascent(start, lambda r, s, e: (e - s[:, None]) @ slope, anywhere, CONFIG)
    best = CONFIG.max_length * np.linalg.norm(slope)  # along the slope, which sums to 0
    assert trace.gain[0] > 0.97 * best
    one_edge = CONFIG.max_length / np.sqrt(2) * 6
    assert trace.gain[0] > one_edge


def test_it_is_no_worse_than_the_greedy_trace_on_average():
    start, objective = starts(200, 4, seed=3), smooth(200, 4, seed=4)
    ours = search_ascent(start, objective, anywhere, CONFIG).shares
    greedy = search_greedy(start, objective, anywhere, CONFIG).shares
    ahead = gain_of(objective, start, ours) - gain_of(objective, start, greedy)
    assert ahead.mean() > 0
    assert (ahead >= -1e-9).mean() > 0.9


def screened(objective, n, channels, seed, most):
    start = starts(n, channels, seed)
    config = SearchConfig(steps=STEPS, max_steps=12, max_length=0.22, most_edges=most)

    def slope(rows, held):
        off = 1e-5 * np.eye(channels)
        found = objective(rows, held, np.maximum(held[:, None] + off, 0)) / 1e-5
        return found, found

    trace = search_ascent(start, objective, anywhere, config, slope)
    return gain_of(objective, start, trace.shares)


def test_the_steepest_thirty_of_132_transfers_find_nearly_everything():
    objective = smooth(15, 12, seed=5)
    few, every, poor = (screened(objective, 15, 12, 6, most) for most in (30, 132, 3))
    assert few.mean() > 0.97 * every.mean()
    assert poor.mean() < few.mean()


def test_screening_never_offers_an_empty_source_or_a_full_target_while_others_are_left():
    held = np.tile(np.r_[np.zeros(4), np.full(8, 1 / 8)], (5, 1))
    slopes = np.random.default_rng(0).standard_normal((5, 12))
    number = np.arange(12)
    getting, giving = (
        np.where(number == 11, -np.inf, slopes),
        np.where(number == 10, np.inf, slopes),
    )
    pairs = choose_edges(held, (getting, giving), 30)
    assert pairs.shape == (5, 30, 2)
    assert (pairs[..., 0] >= 4).all()
    assert (pairs[..., 0] != 10).all()
    assert (pairs[..., 1] != 11).all()


def test_screening_spends_no_transfer_on_channels_that_may_not_give():
    """Six of twelve frozen: were they taken for willing givers, their 36 transfers would leave
    no room for others.
    """
    objective, start = smooth(10, 12, seed=5), starts(10, 12, 6)
    frozen = np.arange(12) < 6

    def allowed(rows, start, ends):
        return (np.abs(ends - start[:, None])[..., frozen] < 1e-12).all(axis=-1)

    def slopes(rows, held):
        found = (
            objective(rows, held, np.maximum(held[:, None] + 1e-5 * np.eye(12), 0)) / 1e-5
        )
        return np.where(frozen, -np.inf, found), np.where(frozen, np.inf, found)

    few = search_ascent(start, objective, allowed, CONFIG, slopes)
    every = search_ascent(start, objective, allowed, CONFIG)
    assert few.gain.mean() > 0.97 * every.gain.mean() > 0


def test_all_transfers_are_tried_where_they_are_few():
    held = np.full((3, 4), 0.25)
    assert np.array_equal(
        choose_edges(held, (np.zeros((3, 4)), np.zeros((3, 4))), 30)[1], edges(4)
    )


def test_a_source_gives_no_more_than_it_holds():
    held = np.array([[0.004, 0.496, 0.5]])
    ends = candidates(held, held, choose_edges(held, None, 30), np.array([0.05]), 1.0)
    assert (ends >= 0).all()
    assert (ends[..., 0] == 0).any()
    assert np.allclose(ends.sum(axis=-1), 1)


def test_the_same_call_gives_the_same_bits():
    one, other = (
        search_ascent(starts(), smooth(60, 4), anywhere, CONFIG) for _ in range(2)
    )
    assert one.points.tobytes() == other.points.tobytes()


def test_a_batch_equals_row_by_row():
    start, objective = starts(20), smooth(20, 4)
    whole = search_ascent(start, objective, anywhere, CONFIG).shares
    for i in range(20):
        alone = search_ascent(
            start[i : i + 1], lambda r, s, e, i=i: objective(r + i, s, e), anywhere, CONFIG
        ).shares
        assert np.allclose(alone[0], whole[i], atol=1e-14)


def test_no_rows_and_a_single_active_channel_are_no_problem():
    none = search_ascent(np.empty((0, 3)), smooth(1, 3), anywhere, CONFIG)
    assert none.shares.shape == (0, 3)
    corner = np.array([[1.0, 0.0, 0.0]])
    found = search_ascent(
        corner, lambda r, s, e: e[..., 1] - s[:, None, 1], anywhere, CONFIG
    ).shares[0]
    assert found[1] > 0.15
    assert found.min() >= 0
