import numpy as np
import pytest

from realloc.base.simplex import project_tangent
from realloc.decide.gain_std import gain_std
from realloc.learn.teacher.gaussian import fit_kernel
from tests.learn.teacher.simulated import QUICK, sample_of, simulate


def fitted(n=600, seed=0, **options):
    simulated = simulate(n=n, seed=seed, **options)
    fit = fit_kernel(sample_of(simulated), 2, QUICK.kernel, seed=1)
    assert fit.covariance is not None
    return simulated, fit.covariance


@pytest.fixture(scope="module")
def known():
    return fitted()


def test_covariances_are_symmetric_and_positive(known):
    simulated, covariance = known
    found = covariance.covariance(simulated.window.x, simulated.window.shares)
    assert found.shape == (600, 3, 3)
    assert np.allclose(
        found, found.transpose(0, 2, 1), rtol=1e-3, atol=1e-3 * np.abs(found).max()
    )
    values = np.linalg.eigvalsh((found + found.transpose(0, 2, 1)) / 2)
    assert (values[:, 1:] > 0).all()  # along moves; across them nothing is asked
    assert np.abs(values[:, 0]).max() < 1e-12


def test_more_rows_leave_less_doubt():
    few, many = (fitted(n=n)[1] for n in (150, 2400))
    x, shares = simulate(n=100, seed=9).window.x, simulate(n=100, seed=9).window.shares
    start, ends = shares, shares[::-1, None]
    fewer, more = (
        gain_std(one.covariance(x, start), start, ends).mean() for one in (few, many)
    )
    assert more < fewer


def test_places_far_from_every_row_are_doubted_more(known):
    simulated, covariance = known
    x, shares = simulated.window.x[:100], simulated.window.shares[:100]
    corner = np.eye(3)[None, :1].repeat(100, axis=0)
    usual, odd = (
        gain_std(covariance.covariance(at, shares), shares, corner) for at in (x, x + 50)
    )
    assert np.median(odd) > np.median(usual)


def test_the_true_field_lies_within_its_doubt():
    """By a fit of many rows.

    Were the covariance a fiftieth of what it is, the truth would lie outside too often.
    """
    simulated = simulate(n=1500, seed=3)
    fit = fit_kernel(sample_of(simulated), 2, QUICK.kernel, seed=1)
    assert fit.covariance is not None
    sample = sample_of(simulated)
    shares = simulated.window.shares
    slopes = fit.surface.slopes(sample.x, sample.z).mean(0)
    found = project_tangent(sample.scaling.field(slopes).double().numpy())
    off = project_tangent(np.random.default_rng(0).standard_normal((1500, 3))) * 0.05
    error = ((found - simulated.field) * off).sum(axis=1)
    sigma = gain_std(
        fit.covariance.covariance(simulated.window.x, shares),
        shares,
        (shares + off)[:, None],
    )[:, 0]
    z = error / sigma
    assert (np.abs(z) < 1.645).mean() > 0.9
    assert (np.abs(50 * z) < 1.645).mean() < 0.9


def test_a_rows_covariance_is_the_same_in_any_company(known):
    simulated, covariance = known
    x, shares = simulated.window.x[:50], simulated.window.shares[:50]
    whole = covariance.covariance(x, shares)
    parts = [
        covariance.covariance(x[i : i + 7], shares[i : i + 7]) for i in range(0, 50, 7)
    ]
    assert np.array_equal(np.concatenate(parts), whole)
    assert covariance.covariance(x[:0], shares[:0]).shape == (0, 3, 3)
