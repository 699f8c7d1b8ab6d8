"""What a fitted kernel leaves behind, and how little is lost by keeping less of it."""

import numpy as np
import torch

from realloc.decide.gain_std import gain_std
from realloc.learn.teacher import gaussian
from realloc.learn.teacher import posterior as module
from realloc.learn.teacher.covariance import GainCovariance
from realloc.learn.teacher.posterior import KernelParts, fit_covariance, slim, to_kernel
from realloc.learn.teacher.sample import scale
from tests.learn.teacher.test_covariance import fitted
from tests.small import same_bits


def test_what_a_fit_leaves_behind_is_not_changed_by_using_it():
    _, covariance = fitted()
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
    gram = parts.gram.double() + parts.noise * torch.eye(
        len(parts.gram), dtype=torch.float64
    )
    settled = parts.noise * torch.linalg.inv(gram) - torch.eye(
        len(gram), dtype=torch.float64
    )
    z = torch.from_numpy(scaling.shares(shares))
    slopes = parts.kernel.slope_features(torch.from_numpy(x), z, parts.x, parts.z)
    phi = torch.stack(slopes, dim=1).double() @ parts.whiten.T.double()
    prior = parts.kernel.slope_variance(torch.from_numpy(x)).double() * (
        1 + GainCovariance.alone**2
    )
    found = phi @ settled @ phi.transpose(1, 2) + prior[:, None, None] * torch.eye(
        z.shape[1]
    )
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
    assert (
        covariance.factor.shape[1] < len(covariance.x) / 2
    )  # otherwise nothing was left out
    x, shares = simulated.window.x, simulated.window.shares
    ends = np.random.default_rng(0).dirichlet(np.ones(3), (len(x), 4))
    wanted = gain_std(exact(parts, covariance.scaling, x, shares), shares, ends)
    assert np.allclose(
        gain_std(whole.covariance(x, shares), shares, ends), wanted, rtol=1e-3
    )
    found = gain_std(covariance.covariance(x, shares), shares, ends)
    assert (found >= wanted * (1 - 1e-3)).all()
    assert (
        found <= wanted * np.sqrt(1 + 3 * module.LEFT_OUT)
    ).all()  # rows that are no inducing ones, a little more
    monkeypatch.setattr(module, "LEFT_OUT", 0.5)
    coarse = gain_std(slim(whole).covariance(x, shares), shares, ends)
    assert (coarse > wanted * np.sqrt(1 + 3e-2)).any()  # what the check above would notice
