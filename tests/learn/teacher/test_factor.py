"""Factors of covariances that single precision leaves indefinite."""

import pytest
import torch
from numpy.linalg import LinAlgError

from realloc.learn.teacher.factor import cholesky, eigh
from realloc.learn.teacher.gaussian import negative_log_likelihood
from realloc.learn.teacher.kernel import Kernel


def test_a_sound_matrix_has_torchs_own_factor():
    root = torch.randn(20, 20, generator=torch.Generator().manual_seed(0))
    matrix = root @ root.T + torch.eye(20)
    assert torch.equal(cholesky(matrix), torch.linalg.cholesky(matrix))


def test_a_slightly_indefinite_matrix_has_a_factor_nearby():
    matrix = torch.ones(50, 50, dtype=torch.float64) - 1e-7 * torch.eye(50)
    factor = cholesky(matrix)
    assert (factor @ factor.T - matrix).abs().max() < 1e-5


def test_numbers_that_are_not_finite_have_no_factor():
    with pytest.raises(LinAlgError):
        cholesky(torch.full((2, 2), float("nan")))
    with pytest.raises(LinAlgError):
        eigh(torch.full((2, 2), float("nan")))


def test_very_short_lengths_still_have_a_likelihood_and_a_slope():
    """Rows that are nearly alike, far from 0 in units of the length: distances cancel."""
    generator = torch.Generator().manual_seed(0)
    x = 8 + 1e-3 * torch.randn(300, 2, generator=generator)
    z = torch.randn(300, 3, generator=generator)
    kernel = Kernel(2)
    with torch.no_grad():
        for length in kernel.length.values():
            length.fill_(-4.5)
        kernel.noise.fill_(-9.0)
        kernel.amplitude["baseline"].fill_(1.0)
        covariance = kernel(x, z, x, z) + 2e-4 * torch.eye(300)
    assert int(torch.linalg.cholesky_ex(covariance).info) > 0
    loss = negative_log_likelihood(kernel, x, z, z[:, 0])
    loss.backward()
    assert bool(loss.isfinite())
    assert all(p.grad is None or bool(p.grad.isfinite().all()) for p in kernel.parameters())
