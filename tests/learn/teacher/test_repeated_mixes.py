"""What repeats of a mix say: recovered variances, shrinkage, and silence where mixes do not
repeat.
"""

import numpy as np
import pytest

from realloc.learn.teacher.repeated_mixes import (
    LEAST_REPEATS,
    MOST,
    RepeatedMixes,
    fit_mixes,
)


def never() -> np.ndarray:
    raise AssertionError("residuals are not needed where mixes do not repeat")


def repeated(
    mixes: int = 60, times: int = 6, lasting: float = 4.0, noise: float = 1.0, seed: int = 0
):
    """Shares, units of one row each, residuals, and the mixes' true parts."""
    random = np.random.default_rng(seed)
    which = np.repeat(np.arange(mixes), times)
    true = random.normal(0, lasting**0.5, mixes)
    residual = true[which] + random.normal(0, noise**0.5, len(which))
    return random.dirichlet(np.ones(4), mixes)[which], np.arange(len(which)), residual, true


def fit(
    shares: np.ndarray,
    units: np.ndarray,
    residual: np.ndarray,
    weights: np.ndarray | None = None,
):
    return fit_mixes(
        shares,
        units,
        np.ones(len(shares)) if weights is None else weights,
        lambda: residual,
    )


def test_variances_are_those_that_made_the_readings():
    found = [fit(*repeated(seed=seed)[:3]) for seed in range(40)]
    # standard error of a mean of 40: below 3 % of the noise (300 degrees each) and 4 % of what
    # lasts (59 each)
    assert np.mean([p.noise for p in found]) == pytest.approx(1.0, abs=0.06)
    assert np.mean([p.lasting for p in found]) == pytest.approx(4.0, abs=0.5)


def test_a_mean_residual_counts_by_the_part_that_lasts():
    places = fit(*repeated()[:3])
    assert places.rho == pytest.approx(places.lasting / (places.lasting + places.noise / 6))
    assert places.residual @ places.count == pytest.approx(0, abs=1e-9)


def test_shrunk_readings_are_nearer_to_the_truth_than_readings_or_nothing():
    shares, units, residual, true = repeated(lasting=1.0, noise=4.0, times=3)
    places = fit(shares, units, residual)
    start, ends = shares[:1], shares[3::3][None]
    gain, wanted = places.gain(start, ends)[0], true[1:] - true[0]
    raw = residual.reshape(-1, 3).mean(axis=1)
    error = np.square(gain - wanted).mean()
    assert error < np.square(raw[1:] - raw[0] - wanted).mean()
    assert error < np.square(wanted).mean()


def test_gains_add_up_along_a_way_and_float_error_is_no_other_mix():
    shares, units, residual, _ = repeated()
    places = fit(shares, units, residual)
    a, b, c = shares[0], shares[6], shares[12]
    legs = places.gain(a[None], b[None, None]) + places.gain(
        b[None], (c + 1e-15)[None, None]
    )
    assert legs == pytest.approx(places.gain(a[None], c[None, None]))


def test_a_mix_that_was_never_logged_adds_nothing_but_doubt():
    shares, units, residual, _ = repeated()
    places = fit(shares, units, residual)
    other = np.full((1, 1, 4), 0.25)
    start = np.array([[0.26, 0.24, 0.25, 0.25]])
    assert places.gain(start, other).tolist() == [[0.0]]
    assert places.sigma(np.array([[2.0]]), start, other)[0, 0] == pytest.approx(
        (4 + 2 * places.lasting) ** 0.5
    )


def test_between_two_logged_mixes_the_surface_counts_only_as_far_as_readings_do_not():
    shares, units, residual, _ = repeated()
    places = fit(shares, units, residual)
    rho = places.rho[0]
    known = places.sigma(np.array([[2.0]]), shares[:1], shares[None, 6:7])[0, 0]
    assert known == pytest.approx(
        (((1 - rho) * 2) ** 2 + 2 * places.lasting * (1 - rho)) ** 0.5
    )


def test_without_repeats_there_are_no_places_and_residuals_are_not_even_asked_for():
    shares = np.random.default_rng(0).dirichlet(np.ones(3), 500)
    assert fit_mixes(shares, np.arange(500), np.ones(500), never) is None


def test_too_few_repeats_are_none():
    shares = np.random.default_rng(0).dirichlet(np.ones(3), 500)
    shares[-LEAST_REPEATS + 1 :] = shares[0]
    assert fit_mixes(shares, np.arange(500), np.ones(500), never) is None


def test_a_unit_that_keeps_its_mix_is_one_reading_of_it():
    """Else its own level would be taken for the mix's."""
    shares, _, _, _ = repeated()
    assert fit_mixes(shares, np.repeat(np.arange(60), 6), np.ones(360), never) is None


def test_more_mixes_than_a_table_holds_are_no_places():
    shares = np.random.default_rng(0).dirichlet(np.ones(3), MOST + 1)
    shares = np.concatenate([shares, shares])
    assert fit_mixes(shares, np.arange(len(shares)), np.ones(len(shares)), never) is None


def test_pure_noise_has_no_places():
    found = [fit(*repeated(lasting=0.0, seed=seed)[:3]) for seed in range(40)]
    assert sum(p is not None for p in found) <= 3  # one in a hundred is expected
    assert all(
        fit(*repeated(seed=seed)[:3]) is not None for seed in range(3)
    )  # what lasts is found


def test_rows_without_weight_do_not_count():
    shares, units, residual, _ = repeated()
    weights = np.ones(len(shares))
    weights[::6] = 0
    spoiled = residual.copy()
    spoiled[::6] = 1e6
    one, other = fit(shares, units, residual, weights), fit(shares, units, spoiled, weights)
    assert one.residual.tolist() == other.residual.tolist()
    assert set(one.count) == {5}


def test_exact_copies_are_taken_at_their_word():
    mixes = np.random.default_rng(1).dirichlet(np.ones(3), 30)
    worth = np.random.default_rng(2).normal(size=30)
    places = fit(np.tile(mixes, (2, 1)), np.arange(60), np.tile(worth, 2))
    assert isinstance(places, RepeatedMixes)
    assert places.rho.tolist() == [1.0] * 30
    assert places.gain(mixes[:1], mixes[None, 1:])[0] == pytest.approx(worth[1:] - worth[0])
