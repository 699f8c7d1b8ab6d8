"""Functions of state and shares: zero at zero, and their slopes are what differentiation gives."""

import pytest
import torch

from realloc.learn.networks.branch import Branch, BranchShape, Plain

M, N, Q, D = 2, 5, 4, 3


def random_module(kind, K, seed=0):
    """A module in float64 with all parameters random."""
    module = kind(
        M, BranchShape(inputs=D, channels=K, width=8, trunk=6, heads=1), seed
    ).double()
    generator = torch.Generator().manual_seed(seed + 1)
    with torch.no_grad():
        for p in module.parameters():
            p.copy_(torch.randn(p.shape, generator=generator, dtype=torch.float64))
    return module


def draw(*shape, seed=7):
    return torch.randn(
        *shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64
    )


def places(K, wide):
    return draw(M, N, Q, K) if wide else draw(M, N, K)


@pytest.mark.parametrize("K", [2, 3, 9])
@pytest.mark.parametrize("wide", [False, True])
def test_a_branch_is_zero_at_zero_and_nowhere_else(K, wide):
    opened = random_module(Branch, K).open(draw(M, N, D))
    z = places(K, wide)
    # A vector's last numbers and its first ones round SiLU differently.
    assert opened.value(torch.zeros_like(z)).abs().max() < 1e-14
    assert opened.value(z).abs().min() > 1e-6


@pytest.mark.parametrize("kind", [Branch, Plain])
@pytest.mark.parametrize("K", [2, 3, 9])
@pytest.mark.parametrize("wide", [False, True])
def test_slopes_equal_automatic_differentiation(kind, K, wide):
    opened = random_module(kind, K).open(draw(M, N, D))
    z = places(K, wide).requires_grad_()
    expected = torch.autograd.grad(opened.value(z).sum(), z)[0]
    found = opened.slopes(z)
    assert found.shape == z.shape
    assert torch.allclose(found, expected, atol=1e-10)
    assert not torch.allclose(opened.slopes(z + 1), expected, atol=1e-2)  # it bends


@pytest.mark.parametrize("kind", [Branch, Plain])
def test_several_shares_per_state_equal_one_after_the_other(kind):
    opened = random_module(kind, 3).open(draw(M, N, D))
    z = places(3, wide=True)
    for found, one in ((opened.value(z), opened.value), (opened.slopes(z), opened.slopes)):
        assert torch.allclose(
            found, torch.stack([one(z[:, :, j]) for j in range(Q)], dim=2), atol=1e-12
        )


@pytest.mark.parametrize("kind", [Branch, Plain])
def test_slopes_teach_the_parameters(kind):
    """The gradient of a loss on the slopes equals finite differences in a parameter."""
    module, x, z = random_module(kind, 3), draw(M, N, D), places(3, wide=True)

    def loss():
        return module.open(x).slopes(z).square().mean()

    loss().backward()
    for p in [next(iter(module.parameters())), list(module.parameters())[-1]]:
        eps, at = 1e-6, tuple(0 for _ in p.shape)
        with torch.no_grad():
            p[at] += eps
        above = loss().item()
        with torch.no_grad():
            p[at] -= 2 * eps
        below = loss().item()
        with torch.no_grad():
            p[at] += eps
        assert float(p.grad[at]) == pytest.approx(
            (above - below) / (2 * eps), rel=1e-4, abs=1e-6
        )


def test_slopes_without_learning_leave_no_graph():
    module = random_module(Plain, 3)
    with torch.no_grad():
        assert not module.open(draw(M, N, D)).slopes(places(3, wide=False)).requires_grad
    assert module.open(draw(M, N, D)).slopes(places(3, wide=False)).requires_grad


@pytest.mark.parametrize("kind", [Branch, Plain])
def test_a_new_module_is_zero_and_the_same_for_the_same_seed(kind):
    shape = BranchShape(inputs=D, channels=3, width=8, trunk=6)
    opened = kind(M, shape, 0).open(draw(M, N, D).float())
    z = places(3, wide=True).float()
    assert torch.equal(opened.value(z), torch.zeros(M, N, Q))
    assert torch.equal(opened.slopes(z), torch.zeros(M, N, Q, 3))
    a, b, c = (
        torch.cat([p.flatten() for p in kind(M, shape, seed).parameters()])
        for seed in (1, 1, 2)
    )
    assert torch.equal(a, b)
    assert not torch.equal(a, c)


def test_heads_are_functions_of_the_state_alone():
    module, x = random_module(Branch, 3), draw(M, N, D)
    heads = module.open(x).heads
    assert heads.shape == (M, N, 1)
    assert not torch.allclose(heads, module.open(x + 1).heads)
    assert module.members == M
