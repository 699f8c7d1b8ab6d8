import numpy as np
import pytest
import torch

from realloc.base.simplex import project_tangent
from realloc.decide.gain_std import gain_std
from realloc.learn.teacher import gaussian
from realloc.learn.teacher import posterior as module
from realloc.learn.teacher.covariance import GainCovariance
from realloc.learn.teacher.gaussian import fit_kernel
from realloc.learn.teacher.posterior import KernelParts, fit_covariance, slim, to_kernel
from realloc.learn.teacher.sample import scale
from tests.learn.teacher.simulated import QUICK, sample_of, simulate
from tests.small import same_bits


def fitted(n=600, seed=0, **options):
    simulated = simulate(n=n, seed=seed, **options)
    fit = fit_kernel(sample_of(simulated), 2, QUICK.kernel, seed=1)
    assert fit.covariance is not None
    return simulated, fit.covariance


@pytest.fixture(scope="module")
def known():
    return fitted()


def test_deviation_is_the_quadratic_form_of_the_way():
    random = np.random.default_rng(0)
    root = random.standard_normal((4, 3, 3))
    covariance = root @ root.transpose(0, 2, 1)
    start, ends = random.dirichlet(np.ones(3), 4), random.dirichlet(np.ones(3), (4, 5))
    found = gain_std(covariance, start, ends)
    for a in range(4):
        for m in range(5):
            off = ends[a, m] - start[a]
            assert np.isclose(found[a, m], np.sqrt(off @ covariance[a] @ off))
    assert (gain_std(covariance, start, start[:, None]) == 0).all()


def test_doubt_grows_in_proportion_to_the_way():
    covariance = np.eye(3)[None] * 2
    start, end = np.array([[0.2, 0.3, 0.5]]), np.array([[0.3, 0.3, 0.4]])
    near, far = (
        gain_std(covariance, start, (start + part * (end - start))[:, None])[0, 0]
        for part in (0.5, 1.0)
    )
    assert np.isclose(far, 2 * near)


def test_covariances_are_symmetric_and_positive(known):
    simulated, covariance = known
    found = covariance.covariance(simulated.window.x, simulated.window.shares)
    assert found.shape == (600, 3, 3)
    assert np.allclose(found, found.transpose(0, 2, 1), rtol=1e-3, atol=1e-3 * np.abs(found).max())
    values = np.linalg.eigvalsh((found + found.transpose(0, 2, 1)) / 2)
    assert (values[:, 1:] > 0).all()  # along moves; across them nothing is asked
    assert np.abs(values[:, 0]).max() < 1e-12


def test_more_rows_leave_less_doubt():
    few, many = (fitted(n=n)[1] for n in (150, 2400))
    x, shares = simulate(n=100, seed=9).window.x, simulate(n=100, seed=9).window.shares
    start, ends = shares, shares[::-1, None]
    fewer, more = (gain_std(one.covariance(x, start), start, ends).mean() for one in (few, many))
    assert more < fewer


def test_places_far_from_every_row_are_doubted_more(known):
    simulated, covariance = known
    x, shares = simulated.window.x[:100], simulated.window.shares[:100]
    corner = np.eye(3)[None, :1].repeat(100, axis=0)
    usual, odd = (gain_std(covariance.covariance(at, shares), shares, corner) for at in (x, x + 50))
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
        fit.covariance.covariance(simulated.window.x, shares), shares, (shares + off)[:, None]
    )[:, 0]
    z = error / sigma
    assert (np.abs(z) < 1.645).mean() > 0.9
    assert (np.abs(50 * z) < 1.645).mean() < 0.9


def test_a_rows_covariance_is_the_same_in_any_company(known):
    simulated, covariance = known
    x, shares = simulated.window.x[:50], simulated.window.shares[:50]
    whole = covariance.covariance(x, shares)
    parts = [covariance.covariance(x[i : i + 7], shares[i : i + 7]) for i in range(0, 50, 7)]
    assert np.array_equal(np.concatenate(parts), whole)
    assert covariance.covariance(x[:0], shares[:0]).shape == (0, 3, 3)


def test_what_a_fit_leaves_behind_is_not_changed_by_using_it(known):
    _, covariance = known
    m = len(covariance.x)
    for kind in (torch.float32, torch.float64):
        x, z = torch.from_numpy(covariance.x), torch.from_numpy(covariance.z)
        eye = torch.eye(m, dtype=kind)
        parts = KernelParts(to_kernel(covariance), x, z, torch.eye(m), eye, 0.5)
        scaling = scale(np.eye(3), np.arange(3.0))
        one, other = (fit_covariance(parts, scaling).factor for _ in range(2))
        assert same_bits(one, other)
        assert torch.equal(parts.gram, torch.eye(m, dtype=kind))


def exact(parts, scaling, x, shares):
    """V with everything that the rows have settled, in float64."""
    gram = parts.gram.double() + parts.noise * torch.eye(len(parts.gram), dtype=torch.float64)
    settled = parts.noise * torch.linalg.inv(gram) - torch.eye(len(gram), dtype=torch.float64)
    z = torch.from_numpy(scaling.shares(shares))
    slopes = parts.kernel.slope_features(torch.from_numpy(x), z, parts.x, parts.z)
    phi = torch.stack(slopes, dim=1).double() @ parts.whiten.T.double()
    prior = parts.kernel.slope_variance(torch.from_numpy(x)).double() * (
        1 + GainCovariance.alone**2
    )
    found = phi @ settled @ phi.transpose(1, 2) + prior[:, None, None] * torch.eye(z.shape[1])
    scale = torch.from_numpy(scaling.inverse).double() * scaling.outcome
    return (found * scale[:, None] * scale).detach().numpy()


def test_what_is_left_out_of_the_factor_makes_doubt_larger_by_next_to_nothing(monkeypatch):
    kept = []
    monkeypatch.setattr(
        gaussian,
        "fit_covariance",
        lambda parts, scaling: kept.append(parts) or fit_covariance(parts, scaling),
    )
    simulated, whole = fitted()
    covariance, (parts,) = slim(whole), kept
    assert covariance.factor.shape[1] < len(covariance.x) / 2  # otherwise nothing was left out
    x, shares = simulated.window.x, simulated.window.shares
    ends = np.random.default_rng(0).dirichlet(np.ones(3), (len(x), 4))
    wanted = gain_std(exact(parts, covariance.scaling, x, shares), shares, ends)
    assert np.allclose(gain_std(whole.covariance(x, shares), shares, ends), wanted, rtol=1e-3)
    found = gain_std(covariance.covariance(x, shares), shares, ends)
    assert (found >= wanted * (1 - 1e-3)).all()
    assert (
        found <= wanted * np.sqrt(1 + 3 * module.LEFT_OUT)
    ).all()  # rows that are no inducing ones, a little more
    monkeypatch.setattr(module, "LEFT_OUT", 0.5)
    coarse = gain_std(slim(whole).covariance(x, shares), shares, ends)
    assert (coarse > wanted * np.sqrt(1 + 3e-2)).any()  # what the check above would notice
