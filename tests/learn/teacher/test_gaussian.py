"""The Gaussian-process surface against exact Gaussian-process regression."""

from dataclasses import replace
from typing import Any

import pytest
import torch

from realloc.learn.teacher import gaussian
from realloc.learn.teacher.config import KernelConfig
from realloc.learn.teacher.gaussian import (
    JITTER,
    fit_kernel,
    learn_kernel,
)
from realloc.learn.teacher.kernel import Kernel
from realloc.learn.teacher.likelihood import likelihood
from tests.learn.teacher.simulated import sample_of, simulate

ALL = KernelConfig(inducing=10_000, steps=1)


@pytest.fixture
def fixed(monkeypatch):
    """Kernels are not learned: what remains is a regression that can be written down."""
    monkeypatch.setattr(
        gaussian,
        "learn_kernel",
        lambda sample, *_: Kernel(sample.x.shape[1]).requires_grad_(False),
    )


def contrast_at(fit, x, sample):
    pair = fit.surface.values(x, torch.stack([sample.z, sample.e], dim=1))
    return pair[..., 0] - pair[..., 1]  # (M, n)


def exact(sample, noise_too=0.0):
    """The exact posterior mean of the shares' part at the rows, in float64; `noise_too` is added to
    the noise.
    """
    kernel = Kernel(sample.x.shape[1]).double().requires_grad_(False)
    x, z = sample.x.double(), sample.z.double()
    contexts = kernel.context("slope", x, x), kernel.context("curve", x, x)
    noise = kernel.noise.exp() + noise_too
    covariance = kernel(x, z, x, z) + noise * torch.eye(len(x), dtype=torch.float64)
    return kernel.effect(contexts, z, z) @ torch.linalg.solve(covariance, sample.y.double())


def jitter_bound(sample):
    """The jitter j moves a posterior mean by less than j/σ² of the outcomes."""
    kernel = Kernel(sample.x.shape[1])
    with torch.no_grad():
        diagonal = kernel(sample.x, sample.z, sample.x, sample.z).diagonal().mean()
        return float(
            JITTER * diagonal / kernel.noise.exp() * sample.y.norm() / len(sample.y) ** 0.5
        )


def distance(a, b):
    return float((a - b).double().square().mean().sqrt())


def test_with_all_rows_inducing_it_is_exact_regression(fixed):
    sample = sample_of(simulate(n=300))
    fit = fit_kernel(sample, 1, ALL, 0)
    found = fit.surface.values(sample.x, sample.z[:, None])[0, :, 0]
    assert distance(found, exact(sample)) < jitter_bound(sample)
    assert distance(found, exact(sample, noise_too=0.2)) > 2 * jitter_bound(sample)


def test_learning_raises_the_likelihood():
    sample = sample_of(simulate(n=300))
    learned = learn_kernel(
        sample,
        KernelConfig(inducing=10, steps=25, rows=150),
        torch.Generator().manual_seed(0),
    )
    before, after = (
        likelihood(kernel, sample.x, sample.z, sample.y).value
        for kernel in (Kernel(3), learned)
    )
    assert after < before - 0.1


def test_a_later_search_begins_where_the_last_one_ended_and_takes_fewer_steps():
    sample, seen = sample_of(simulate(n=300)), []
    config = KernelConfig(inducing=10, steps=60, later_steps=2, rows=150)
    first = learn_kernel(sample, config, torch.Generator().manual_seed(0))
    kept = torch.cat([p.flatten() for p in first.parameters()])
    later = learn_kernel(
        sample, config, torch.Generator().manual_seed(1), lambda *at: seen.append(at), first
    )
    anew = learn_kernel(sample, replace(config, steps=2), torch.Generator().manual_seed(1))
    loss = [likelihood(k, sample.x, sample.z, sample.y).value for k in (first, later, anew)]
    assert [at[1:] for at in seen] == [(1, 2), (2, 2)]
    assert abs(loss[1] - loss[0]) < 0.2 * (loss[2] - loss[0])
    assert torch.equal(
        torch.cat([p.flatten() for p in first.parameters()]), kept
    )  # the former kernel is not touched


@pytest.mark.parametrize("steps", [1, 5, 10])
def test_any_number_of_steps_can_be_asked_for(steps):
    """Of five steps, a fifth to warm up is one step, which torch divides by zero for."""
    sample = sample_of(simulate(n=60))
    learn_kernel(
        sample,
        KernelConfig(inducing=10, steps=steps, rows=30),
        torch.Generator().manual_seed(0),
    )


def test_the_mean_of_members_is_the_solution_of_one():
    sample = sample_of(simulate(n=400))
    config = KernelConfig(inducing=50, steps=5, rows=100)
    one: Any = fit_kernel(sample, 1, config, 0).surface
    many: Any = fit_kernel(sample, 6, config, 0).surface
    scale = one.weights.abs().max()
    assert torch.allclose(many.weights.mean(1), one.weights[:, 0], atol=1e-5 * float(scale))
    assert not torch.allclose(
        many.weights[:, 0], one.weights[:, 0], atol=1e-2 * float(scale)
    )


def test_members_disagree_more_where_there_is_no_data(fixed):
    sample = sample_of(simulate(n=600))
    fit = fit_kernel(sample, 10, KernelConfig(inducing=100), 0)
    spread = [
        float(
            contrast_at(fit, sample.x + torch.tensor([away, 0.0, 0.0]), sample)
            .std(0)
            .mean()
        )
        for away in (0.0, 4.0, 8.0)
    ]
    assert spread[1] > 1.5 * spread[0]
    assert spread[2] > 1.5 * spread[1]


def test_members_disagree_less_with_more_data(fixed):
    few, many = (sample_of(simulate(n=n, noise=1.0)) for n in (200, 2000))
    config = KernelConfig(inducing=60)
    spread = [
        float(contrast_at(fit_kernel(s, 20, config, 0), s.x, s).std(0).mean())
        for s in (few, many)
    ]
    assert spread[1] < 0.7 * spread[0]


def test_the_contrast_of_a_fold_does_not_depend_on_its_outcomes(fixed):
    """Given the kernel: its few lengths and variances are learned from all rows."""
    sample = sample_of(simulate(n=300))
    mine = sample.folds == 1
    planted = replace(sample, y=torch.where(mine, 100.0, sample.y))
    clean, wild = (
        fit_kernel(s, 1, KernelConfig(inducing=50), 0).contrast for s in (sample, planted)
    )
    assert torch.equal(clean[mine], wild[mine])
    assert (clean[~mine] - wild[~mine]).abs().median() > 0.1


def test_the_contrast_is_that_of_a_fit_without_the_fold(fixed):
    sample = sample_of(simulate(n=240))
    away = sample.folds == 1
    rest = replace(
        sample,
        **{
            name: getattr(sample, name)[~away]
            for name in ("x", "z", "y", "m", "e", "folds", "units")
        },
    )
    rest = replace(rest, weights=torch.ones(len(rest.y)))
    found = fit_kernel(sample, 1, ALL, 0).contrast
    own = replace(sample, x=sample.x[away], z=sample.z[away], e=sample.e[away])
    expected = contrast_at(fit_kernel(rest, 1, ALL, 0), own.x, own)[0]
    assert distance(found[away], expected) < 2 * jitter_bound(sample)
    whole = contrast_at(fit_kernel(sample, 1, ALL, 0), own.x, own)[0]
    assert distance(whole, expected) > 2 * jitter_bound(sample)


def test_rows_without_a_judge_have_no_contrast(fixed, monkeypatch):
    monkeypatch.setattr(gaussian, "JUDGED", 100)
    contrast = fit_kernel(
        sample_of(simulate(n=300)), 1, KernelConfig(inducing=20), 0
    ).contrast
    assert contrast[::3].isfinite().all()  # spread over all units
    assert int(contrast.isnan().sum()) == 200


def test_rows_of_weight_zero_are_as_good_as_removed(fixed):
    sample = sample_of(simulate(n=300))
    out = torch.arange(300) % 5 == 0
    weights, wild = torch.where(out, 0.0, 1.0), torch.where(out, 50.0, sample.y)
    names = ("x", "z", "y", "m", "e", "folds", "units", "weights")
    removed = replace(sample, **{name: getattr(sample, name)[~out] for name in names})

    def values(s):
        return fit_kernel(s, 1, ALL, 0).surface.values(sample.x, sample.z[:, None])[0, :, 0]

    expected = values(removed)
    assert distance(
        values(replace(sample, y=wild, weights=weights)), expected
    ) < 2 * jitter_bound(sample)
    assert distance(values(replace(sample, y=wild)), expected) > 1


def test_rows_of_weight_zero_do_not_teach_the_kernel():
    sample = sample_of(simulate(n=200))
    out = torch.arange(200) % 5 == 0
    weights = torch.where(out, 0.0, 1.0)
    config = KernelConfig(inducing=10, steps=6, rows=50)

    def lengths(s):
        return torch.cat(
            [
                p.flatten()
                for p in learn_kernel(
                    s, config, torch.Generator().manual_seed(0)
                ).parameters()
            ]
        )

    clean, wild = (
        replace(sample, weights=weights),
        replace(sample, y=torch.where(out, 50.0, sample.y)),
    )
    assert torch.equal(lengths(clean), lengths(replace(wild, weights=weights)))
    assert not torch.equal(lengths(clean), lengths(wild))


def test_a_double_weight_is_as_good_as_the_row_twice(fixed):
    sample = sample_of(simulate(n=200))
    double = torch.where(torch.arange(200) < 50, 2.0, 1.0)
    rows = torch.cat([torch.arange(200), torch.arange(50)])
    names = ("x", "z", "y", "m", "e", "folds", "units", "weights")
    twice = replace(sample, **{name: getattr(sample, name)[rows] for name in names})

    def values(s):
        return fit_kernel(s, 1, ALL, 0).surface.values(sample.x, sample.z[:, None])[0, :, 0]

    expected = values(twice)
    assert distance(values(replace(sample, weights=double)), expected) < jitter_bound(
        sample
    )
    assert distance(values(sample), expected) > 3 * jitter_bound(sample)


def test_rows_in_parts_equal_all_at_once(fixed, monkeypatch):
    sample = sample_of(simulate(n=100))
    surface = fit_kernel(sample, 2, KernelConfig(inducing=20), 0).surface
    whole = surface.values(sample.x, sample.z[:, None]), surface.slopes(sample.x, sample.z)
    monkeypatch.setattr(gaussian, "CHUNK", 7)
    parts = surface.values(sample.x, sample.z[:, None]), surface.slopes(sample.x, sample.z)
    for a, b in zip(whole, parts, strict=True):
        assert torch.allclose(a, b, atol=1e-5)
