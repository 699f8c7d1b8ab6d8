import numpy as np
import pytest

from realloc.learn.support.config import SupportConfig
from realloc.learn.support.direction import ANCHOR, fit_direction
from realloc.learn.support.support import fit_support
from tests.learn.support.drawn import drawn, logged_of, zero_support


def brute_force(support, border, rows, shares, k):
    """Every distance, sorted: what the index must say."""
    density, logged = support.density, support.logged
    own = density.at(logged.x)
    unit = np.median(own.scale)
    there = (
        np.concatenate([density.whitened(logged.shares), ANCHOR * own.centre], axis=1)
        / unit
    )
    here = (
        np.concatenate([density.whitened(shares), ANCHOR * border.centre[rows]], axis=1)
        / unit
    )
    among = np.sort(np.linalg.norm(there[:, None] - there, axis=2), axis=1)[
        :, k
    ]  # the first is the row itself
    distance = np.linalg.norm(here[:, None] - there, axis=2)
    order = np.argsort(distance, axis=1, kind="stable")[:, :k]
    kth = np.take_along_axis(distance, order, axis=1)[:, -1]
    omega = (1 + (among >= kth[:, None] - 1e-12).sum(axis=1)) / (len(there) + 1)
    return omega, (distance <= np.median(among)).sum(axis=1), order


def test_the_index_equals_brute_force():
    support, k = zero_support(), 10
    rows = np.arange(150)
    opened = support.at(support.logged.x[300:450])
    shares = support.logged.shares[rows]
    found = opened.neighbours(rows, shares)
    omega, count, order = brute_force(support, opened.border, rows, shares, k)
    assert np.allclose(found.omega, omega)
    assert np.array_equal(found.count, count)
    assert np.array_equal(found.nearest, order)
    assert np.allclose(opened.omega(rows, shares[:, None])[:, 0], omega)


def test_omega_of_logged_actions_is_spread_evenly_and_far_places_have_none():
    one = drawn("benign")
    opened = one.support.at(one.x)
    found = opened.omega(one.rows, one.shares[:, None])[:, 0]
    for part in (0.1, 0.5, 0.9):
        assert abs((found <= part).mean() - part) < 0.1
    corner = np.broadcast_to([0.001, 0.001, 0.998], (len(one), 3))
    far = opened.neighbours(one.rows, corner)
    assert np.median(far.omega) < 0.01
    assert np.median(far.count) == 0


def test_a_place_that_is_usual_elsewhere_is_no_support_for_a_move_here():
    """Two kinds of units that the policy treats differently: one kind's shares are no evidence
    for the other's moves.
    """
    random = np.random.default_rng(0)
    kind = np.arange(800) // 4 % 2
    x = np.stack([2.0 * kind - 1, random.normal(size=800)], axis=1).astype(np.float32)
    base = np.where(kind[:, None] == 1, [0.7, 0.2, 0.1], [0.1, 0.2, 0.7])
    shares = base * np.exp(0.2 * random.standard_normal((800, 3)))
    shares /= shares.sum(axis=1, keepdims=True)
    support = fit_support(logged_of(x, shares), SupportConfig(), 0)
    opened = support.at(np.array([[1.0, 0.0]], np.float32))
    usual, elsewhere = opened.omega(
        np.array([0]), np.array([[[0.7, 0.2, 0.1], [0.1, 0.2, 0.7]]])
    )[0]
    assert usual > 0.5
    assert elsewhere < 0.02


def test_the_nearest_neighbour_of_a_logged_action_is_itself():
    support = zero_support()
    found = support.at(support.logged.x).neighbours(np.arange(600), support.logged.shares)
    assert np.array_equal(found.nearest[:, 0], np.arange(600))
    assert (found.count >= 1).all()


@pytest.mark.parametrize("neighbours", [1, 10, 5000])
def test_any_number_of_neighbours_works(neighbours):
    support = zero_support()
    few = support.logged.take(np.arange(40))
    direction = fit_direction(few.x, few.shares, support.density, neighbours)
    assert direction.k == min(neighbours, 19)
    border = support.density.at(few.x)
    found = direction.look(border, np.arange(40), few.shares)
    assert found.nearest.shape == (40, direction.k)
    assert np.array_equal(found.omega, direction.omega(border, np.arange(40), few.shares))
    assert direction.look(border, np.arange(0), few.shares[:0]).nearest.shape == (
        0,
        direction.k,
    )


def test_many_channels_are_looked_up_along_their_widest_axes():
    random = np.random.default_rng(1)
    shares = random.dirichlet(np.full(50, 5.0), size=400)
    x = random.normal(size=(400, 3)).astype(np.float32)
    support = fit_support(logged_of(x, shares), SupportConfig(), 0)
    assert support.direction.axes.shape[1] == 12
    assert np.allclose(
        support.direction.axes.T @ support.direction.axes, np.eye(12), atol=1e-9
    )
    omega = support.at(x).omega(np.arange(400), shares[:, None])
    assert np.median(omega) > 0.3


def test_by_inverse_distance_a_typical_action_has_half_and_far_places_next_to_none():
    one = drawn("benign")
    border = one.support.density.at(one.x)
    direction = one.support.direction
    found = direction.inverse_distance(border, one.rows, one.shares)
    assert ((found > 0) & (found <= 1)).all()
    assert abs(np.median(found) - 0.5) < 0.1
    corner = np.broadcast_to([0.001, 0.001, 0.998], (len(one), 3))
    assert np.median(direction.inverse_distance(border, one.rows, corner)) < 0.1
    rank = direction.omega(border, one.rows, one.shares)
    assert np.all(np.diff(rank[np.argsort(found)]) >= 0)  # the same order
