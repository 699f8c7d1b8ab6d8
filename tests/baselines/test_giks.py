"""GIKS: near labels, and a Gaussian process for far ones."""

import pytest
import torch

from realloc import ConfigError
from realloc.baselines.giks import NOISE, GIKSConfig, kernel, predict


@pytest.mark.parametrize("change", [{"near": 0.0}, {"near": 1.1}, {"interpolation": -1.0}])
def test_settings_that_cannot_be_used_are_refused(change):
    with pytest.raises(
        ConfigError, match=r"`smoothing` of at least 0 and `near` in \(0, 1\]"
    ):
        GIKSConfig(**change)


def places(n, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return (
        torch.randn(2, n, 4, generator=generator),
        torch.randn(2, n, 3, generator=generator),
    )


def test_the_kernel_is_one_at_home_and_falls_with_the_distance():
    phi, z = places(5)
    within = kernel(phi, z, phi, z)
    assert torch.allclose(within.diagonal(dim1=1, dim2=2), torch.ones(2, 5), atol=1e-3)
    assert torch.allclose(within, within.transpose(1, 2), atol=1e-5)
    assert (kernel(phi, z, phi + 1, z).diagonal(dim1=1, dim2=2) < 0.9).all()
    assert (kernel(phi, z, phi + 99, z) < 1e-6).all()


def test_the_process_is_that_of_the_textbook():
    phi, z = places(6)
    other_phi, other_z = places(4, seed=1)
    within = kernel(phi, z, phi, z)
    across = kernel(other_phi, other_z, phi, z)
    y = torch.arange(12.0).view(2, 6)
    mean, variance = predict(within, across, y)
    inverse = torch.linalg.inv(within + NOISE * torch.eye(6))
    assert torch.allclose(mean, (across @ inverse @ y.unsqueeze(-1))[..., 0], atol=1e-4)
    explained = (across @ inverse * across).sum(-1)
    assert torch.allclose(variance, 1 - explained, atol=1e-4)
    assert (variance < 1).all()


def test_far_from_every_known_row_nothing_is_known():
    phi, z = places(6)
    mean, variance = predict(
        kernel(phi, z, phi, z), kernel(phi + 99, z, phi, z), torch.full((2, 6), 5.0)
    )
    assert mean.abs().max() < 1e-5
    assert torch.allclose(variance, torch.ones(2, 6))
