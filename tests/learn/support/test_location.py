import numpy as np
import pytest

from realloc.learn.support.location import choose_tail, fit_location, refit

N, NOISE = 4000, 0.5


def simulate(seed=0, columns=12, n=N, tail=None):
    """v = (1 + 0.8 a, −0.6 b) + s z, log s = −0.7 + 0.3 a, of twelve columns of which two
    matter.
    """
    random = np.random.default_rng(seed)
    x = random.normal(size=(n, columns))
    design = np.concatenate([np.ones((n, 1)), x], axis=1)
    centre = np.stack([1 + 0.8 * x[:, 0], -0.6 * x[:, 1]], axis=1)
    scale = NOISE * np.exp(0.3 * x[:, 0])
    z = random.standard_normal((n, 2)) if tail is None else random.standard_t(tail, (n, 2))
    return design, centre + scale[:, None] * z, centre, scale


def test_centre_and_scale_of_a_simulated_law_are_recovered():
    design, v, centre, scale = simulate()
    found = fit_location(design, v)
    error = design @ found.centre - centre
    assert np.sqrt(np.square(error).mean()) < 4 * NOISE * np.sqrt(13 / N)
    ratio = design @ found.log_scale - np.log(scale)
    assert ratio.std() < 4 * np.sqrt(13 / (4 * N))
    assert abs(ratio.mean()) < 0.05
    assert found.tail >= 25


def test_columns_that_do_not_steer_cost_almost_nothing():
    design, v, centre, _ = simulate(columns=60, n=1000)
    found = fit_location(design, v)
    plain = np.linalg.lstsq(design, v, rcond=None)[0]
    ours, theirs = (
        np.square(design @ one - centre).mean() for one in (found.centre, plain)
    )
    assert ours < theirs / 3


def test_heavy_tails_do_not_pull_the_location():
    """One row in twenty lies thirty deviations off, all on one side."""
    design, v, centre, scale = simulate()
    far = np.random.default_rng(1).random(N) < 0.05
    v = v + 30 * (far * scale)[:, None]
    found, plain = fit_location(design, v), np.linalg.lstsq(design, v, rcond=None)[0]
    ours, theirs = (
        np.sqrt(np.square(design @ one - centre).mean()) for one in (found.centre, plain)
    )
    assert ours < 0.1
    assert theirs > 0.5  # least squares follow them
    assert abs((design @ found.log_scale - np.log(scale)).mean()) < 0.25
    assert found.tail == 2.5


@pytest.mark.parametrize(("tail", "low", "high"), [(3, 2.5, 4), (None, 60, 1000)])
def test_the_tail_is_told_from_the_radii(tail, low, high):
    random = np.random.default_rng(2)
    z = random.standard_normal((5000, 2))
    if tail is not None:
        z /= np.sqrt(random.chisquare(tail, (5000, 1)) / tail)
    assert low <= choose_tail(np.square(z).sum(axis=1), 2) <= high


def test_members_err_as_much_as_they_say():
    """Rows of 1 by their own weights: the spread of refits is the standard error of the centre."""
    design, v, centre, _ = simulate(n=1500)
    found, random = fit_location(design, v), np.random.default_rng(3)
    members = [refit(found, design, v, random.exponential(size=1500)) for _ in range(24)]
    spread = np.mean(
        [np.square(design @ (one.centre - found.centre)) for one in members], axis=0
    )
    z = np.square(design @ found.centre - centre).mean() / spread.mean()
    assert 0.3 < z < 3
