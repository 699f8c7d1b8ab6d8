"""The covariance function: a covariance, with slopes that differentiation gives."""

import numpy as np
import pytest
import torch

from realloc.learn.teacher.kernel import PARTS, Kernel

D, K = 4, 3


def random_kernel(seed=0):
    kernel = Kernel(D).double()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for p in kernel.parameters():
            p.add_(torch.randn(p.shape, generator=generator, dtype=torch.float64) * 0.5)
    return kernel.requires_grad_(False)


def draw(*shape, seed=0):
    return torch.randn(
        *shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64
    )


@pytest.mark.parametrize("seed", range(4))
def test_it_is_symmetric_and_positive_semidefinite(seed):
    kernel = random_kernel(seed)
    x, z = draw(40, D, seed=seed), draw(40, K, seed=seed + 10)
    found = kernel(x, z, x, z)
    assert torch.allclose(found, found.T, atol=1e-12)
    assert torch.linalg.eigvalsh(found).min() > -1e-10 * found.diagonal().sum()


def test_a_kernel_with_a_minus_sign_would_be_found_out():
    kernel, x, z = random_kernel(), draw(40, D), draw(40, K, seed=1)
    contexts = kernel.context("slope", x, x), -kernel.context("curve", x, x)
    wrong = kernel.effect(contexts, z, z)
    assert torch.linalg.eigvalsh(wrong).min() < -1e-3


def test_it_is_the_formula_row_by_row():
    kernel = random_kernel()
    x, z, other_x, other_z = (
        draw(5, size, seed=seed).numpy() for seed, size in enumerate((D, K, D, K))
    )
    value = {name: p.numpy() for name, p in kernel.named_parameters()}
    found = kernel(*(torch.from_numpy(v) for v in (x, z, other_x, other_z))).numpy()
    for i in range(5):
        for j in range(5):
            part = {
                name: np.exp(value[f"amplitude.{name}"])
                * np.exp(
                    -0.5
                    * np.sum(((x[i] - other_x[j]) / np.exp(value[f"length.{name}"])) ** 2)
                )
                + np.sum(np.exp(value[f"linear.{name}"]) * x[i] * other_x[j])
                + np.exp(value[f"constant.{name}"])
                for name in PARTS
            }
            bump = np.exp(
                -np.sum((z[i] - other_z[j]) ** 2) / (2 * np.exp(value["reach"]) ** 2)
            )
            expected = (
                part["baseline"] + z[i] @ other_z[j] * part["slope"] + bump * part["curve"]
            )
            assert found[i, j] == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("channels", [2, 3, 9])
def test_effect_slopes_equal_automatic_differentiation(channels):
    kernel = random_kernel()
    x, other_x = draw(6, D), draw(8, D, seed=1)
    z, other_z, weights = (
        draw(6, channels, seed=2).requires_grad_(),
        draw(8, channels, seed=3),
        draw(8, 2, seed=4),
    )
    contexts = kernel.context("slope", x, other_x), kernel.context("curve", x, other_x)
    effect = kernel.effect(contexts, z, other_z) @ weights  # (n, M)
    expected = torch.stack(
        [torch.autograd.grad(effect[:, m].sum(), z, retain_graph=True)[0] for m in range(2)]
    )
    found = kernel.effect_slopes(contexts, z.detach(), other_z, weights)
    assert found.shape == (2, 6, channels)
    assert torch.allclose(found, expected, atol=1e-12)
    assert not torch.allclose(
        kernel.effect_slopes(contexts, z.detach() + 0.1, other_z, weights),
        expected,
        atol=1e-3,
    )


def prior_of_moves(channels: int) -> tuple[float, float]:
    """Prior variance of a move between two drawn places, by slopes and by curvature."""
    generator = torch.Generator().manual_seed(channels)
    kernel = Kernel(D, channels).requires_grad_(False)
    x, z, end = torch.zeros(4000, D), *torch.randn(2, 4000, channels, generator=generator)
    slope = (end - z).square().sum(1) * kernel.context("slope", x[:1], x[:1])
    near = torch.exp(-0.5 * (end - z).square().sum(1) * torch.exp(-2 * kernel.reach))
    return float(slope.mean()), float(
        2 * (1 - near).mean() * kernel.context("curve", x[:1], x[:1])
    )


@pytest.mark.parametrize("channels", [5, 9, 20])
def test_a_search_begins_with_the_same_worth_of_moves_for_any_number_of_channels(
    channels: int,
):
    assert prior_of_moves(channels) == pytest.approx(prior_of_moves(3), rel=0.25)


@pytest.mark.parametrize("channels", [2, 3])
def test_up_to_three_channels_begin_alike(channels: int):
    found = Kernel(D, channels).state_dict()
    assert all(
        torch.equal(values, found[name]) for name, values in Kernel(D).state_dict().items()
    )
