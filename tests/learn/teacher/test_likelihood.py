"""The likelihood of a block of rows, and a gradient that nothing differentiated."""

import numpy as np
import pytest
import torch
from scipy import stats

from realloc.learn.teacher.kernel import Kernel
from realloc.learn.teacher.likelihood import LEAST_NOISE, likelihood


def draw(rows=50, features=4):
    """A kernel with parameters of its own each, and rows, in double precision."""
    generator = torch.Generator().manual_seed(0)
    kernel = Kernel(features).double()
    with torch.no_grad():
        for p in kernel.parameters():
            p.add_(0.3 * torch.randn(p.shape, generator=generator, dtype=torch.float64))
    sizes = ((rows, features), (rows, 3), (rows,))
    block = [torch.randn(s, generator=generator, dtype=torch.float64) for s in sizes]
    return kernel, block


def covariance_of(kernel, x, z):
    return kernel(x, z, x, z) + torch.eye(len(x), dtype=x.dtype) * (
        kernel.noise.exp() + LEAST_NOISE
    )


def test_it_is_that_of_a_normal_up_to_its_constant():
    kernel, (x, z, y) = draw()
    covariance = covariance_of(kernel, x, z).detach().numpy()
    normal = stats.multivariate_normal(np.zeros(50), covariance)
    expected = -normal.logpdf(y.numpy()) - 25 * np.log(2 * np.pi)
    assert likelihood(kernel, x, z, y).value == pytest.approx(expected / 50, rel=1e-9)


def test_the_gradient_is_that_of_automatic_differentiation():
    kernel, (x, z, y) = draw()
    covariance = covariance_of(kernel, x, z)
    fit = y @ torch.linalg.solve(covariance, y)
    (0.5 * (fit + torch.logdet(covariance)) / len(y)).backward()
    found = likelihood(kernel, x, z, y).gradient
    assert set(found) == {name for name, _ in kernel.named_parameters()}
    for name, parameter in kernel.named_parameters():
        assert found[name].shape == parameter.shape
        assert found[name].numpy() == pytest.approx(parameter.grad.numpy(), rel=1e-5), name


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
    found = likelihood(kernel, x, z, z[:, 0])
    assert np.isfinite(found.value)
    assert all(bool(values.isfinite().all()) for values in found.gradient.values())
