"""The network surface: it learns the field, and every member without its fold."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from realloc.learn.networks.branch import Branch, BranchShape, Plain
from realloc.learn.networks.config import TrainConfig
from realloc.learn.teacher.config import FactualConfig, NetworkConfig
from realloc.learn.teacher.network import factual_loss, fit_network, teacher_loss
from tests.learn.teacher.simulated import sample_of, simulate

ONCE = NetworkConfig(least_steps=0, epochs=1, width=8, trunk=4, batch=64)


def weights_of(branch, member):
    return torch.cat([p[member].flatten() for p in branch.parameters()])


def random_branch(members, K, heads=2):
    branch = Branch(
        members, BranchShape(inputs=3, channels=K, width=8, trunk=4, heads=heads), 0
    ).double()
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for p in branch.parameters():
            p.copy_(0.5 * torch.randn(p.shape, generator=generator, dtype=torch.float64))
    return branch


@pytest.mark.parametrize("centred", [True, False])
def test_the_loss_is_the_composite_loss_of_the_branch(centred):
    """r = f(p) − f(e), g = ∇f(e) by automatic differentiation, the rest in numpy."""
    sample, branch = sample_of(simulate(n=40)), random_branch(2, 3)
    sample = replace(
        sample,
        **{
            name: getattr(sample, name).double()
            for name in ("x", "z", "y", "m", "e", "weights")
        },
    )
    rows = torch.stack([torch.arange(0, 10), torch.arange(10, 20)])
    config = NetworkConfig(factual=0.7, residual=0.4, gradient=0.3, centred=centred)
    opened = branch.open(sample.x[rows])
    z, e = sample.z[rows], sample.e[rows].requires_grad_()
    g = torch.autograd.grad(opened.value(e).sum(), e, retain_graph=True)[0]
    r = (opened.value(z) - opened.value(e)).detach().numpy()
    linear = (g * (z - e)).sum(-1).detach().numpy()
    y, m = sample.y[rows].numpy(), sample.m[rows].numpy()
    heads = opened.heads.detach().numpy()
    baseline, centre = (heads[..., 0], heads[..., 1]) if centred else (m, 0.0)
    ell = (
        0.7 * (y - baseline - r) ** 2
        + 0.4 * (y - m - centre - r) ** 2
        + 0.3 * (y - m - linear) ** 2
    )
    assert teacher_loss(branch, sample, config, rows).tolist() == pytest.approx(
        ell.mean(1).tolist()
    )


def test_a_network_that_goes_on_keeps_what_it_knew():
    sample = sample_of(simulate(n=2000, noise=0.3))
    config = NetworkConfig(least_steps=0, epochs=15, width=32, trunk=16, batch=128)
    known = fit_network(sample, 2, config, 0).surface
    pause = replace(config, epochs=1, rate=1e-9)
    later, anew = (
        fit_network(sample, 2, pause, 1, start=start).surface for start in (known, None)
    )
    found = [surface.slopes(sample.x, sample.z) for surface in (known, later, anew)]
    assert torch.allclose(found[0], found[1], atol=1e-5)
    assert not torch.allclose(found[0], found[2], atol=1e-2)


def test_it_finds_the_field_under_confounding():
    simulated = simulate(n=2000, noise=0.3)
    sample = sample_of(simulated)
    fit = fit_network(
        sample, 3, NetworkConfig(least_steps=0, epochs=15, width=32, trunk=16, batch=128), 0
    )
    found = sample.scaling.field(fit.surface.slopes(sample.x, sample.z)).mean(0).numpy()
    assert np.corrcoef(found.ravel(), simulated.field.ravel())[0, 1] > 0.8
    clear = np.abs(simulated.field[:, 0]) > 1
    assert np.mean(np.sign(found[clear, 0]) == np.sign(simulated.field[clear, 0])) > 0.9
    shuffled = np.random.default_rng(0).permutation(2000)
    assert abs(np.corrcoef(found.ravel(), simulated.field[shuffled].ravel())[0, 1]) < 0.3


def branch_of(fit) -> Any:
    """The network of a surface that has one."""
    return fit.surface.branch


def test_a_member_never_learns_from_the_fold_that_it_holds_out(monkeypatch):
    """One epoch, so that held-out rows have no epoch to choose: the weights are the same to the
    last bit.
    """
    monkeypatch.setattr(
        NetworkConfig, "training", lambda _: TrainConfig(epochs=1, batch=64)
    )
    sample = sample_of(simulate(n=400))
    planted = replace(sample, y=torch.where(sample.folds == 0, 1e3, sample.y))
    clean = branch_of(fit_network(sample, 3, ONCE, 0))
    wild = branch_of(fit_network(planted, 3, ONCE, 0))
    assert torch.equal(weights_of(clean, 0), weights_of(wild, 0))
    assert not torch.equal(weights_of(clean, 1), weights_of(wild, 1))
    assert not torch.equal(weights_of(clean, 2), weights_of(wild, 2))


def test_the_contrast_of_a_row_is_that_of_the_members_that_held_its_fold_out():
    sample = sample_of(simulate(n=300))
    fit = fit_network(
        sample, 5, NetworkConfig(least_steps=0, epochs=3, width=8, trunk=4, batch=64), 0
    )
    pair = fit.surface.values(sample.x, torch.stack([sample.z, sample.e], dim=1))
    each = (pair[..., 0] - pair[..., 1]).numpy()  # (M, n)
    judges = {0: [0, 3], 1: [1, 4], 2: [2]}
    expected = [
        each[judges[fold], i].mean() for i, fold in enumerate(sample.folds.tolist())
    ]
    assert fit.contrast.tolist() == pytest.approx(expected, abs=1e-6)


def test_with_fewer_members_than_folds_some_rows_have_no_judge():
    sample = sample_of(simulate(n=300))
    contrast = fit_network(sample, 2, ONCE, 0).contrast
    assert torch.equal(contrast.isnan(), sample.folds == 2)


def test_the_same_seed_gives_the_same_bits_and_another_does_not():
    sample = sample_of(simulate(n=300))
    first = weights_of(branch_of(fit_network(sample, 2, ONCE, 1)), 0)
    again = weights_of(branch_of(fit_network(sample, 2, ONCE, 1)), 0)
    other = weights_of(branch_of(fit_network(sample, 2, ONCE, 2)), 0)
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_the_factual_surface_is_a_plain_network_on_outcomes():
    sample = sample_of(simulate(n=1200))
    config = FactualConfig(least_steps=0, epochs=15, width=32, batch=128)
    branch = Plain(2, BranchShape(inputs=3, channels=3, width=8), 0)
    rows = torch.arange(20).expand(2, -1)
    by_hand = (
        (sample.y[:20] - branch.open(sample.x[rows]).value(sample.z[rows])).square().mean(1)
    )
    torch.testing.assert_close(factual_loss(branch, sample, rows), by_hand)
    fit = fit_network(sample, 3, config, 0)
    assert isinstance(branch_of(fit), Plain)
    assert bool(fit.contrast.isfinite().all())
    assert (
        float(torch.corrcoef(torch.stack([fit.contrast, sample.y - sample.m]))[0, 1]) > 0.4
    )
