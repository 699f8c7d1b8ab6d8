"""The composite loss is the printed one, term by term."""

import numpy as np
import pytest
import torch

from realloc.learn.teacher.loss import Heads, Terms, composite_loss

M, N = 2, 6


def draw(seed):
    return np.random.default_rng(seed).normal(size=(M, N))


def terms():
    return Terms(*(torch.from_numpy(draw(seed)) for seed in range(4)))


def weights(kind):
    return torch.ones(M, N) if kind == "even" else torch.from_numpy(np.abs(draw(9)))


@pytest.mark.parametrize("kind", ["even", "uneven"])
@pytest.mark.parametrize(
    "lambdas", [(1.0, 0.5, 0.25), (1.0, 0.0, 0.0), (0.0, 2.0, 0.0), (0.0, 0.0, 3.0)]
)
def test_without_heads_it_is_the_printed_formula(kind, lambdas):
    y, m, r, linear = (draw(seed) for seed in range(4))
    w = weights(kind).numpy()
    mu, residual = m + r, y - m
    ell = (
        lambdas[0] * (y - mu) ** 2
        + lambdas[1] * (residual - r) ** 2
        + lambdas[2] * (residual - linear) ** 2
    )
    expected = [np.average(ell[i], weights=w[i]) for i in range(M)]
    found = composite_loss(terms(), weights(kind), lambdas, None)
    assert found.tolist() == pytest.approx(expected)


def test_every_weight_of_the_loss_changes_it():
    reference = composite_loss(terms(), weights("even"), (1.0, 1.0, 1.0), None)
    for lambdas in [(2.0, 1.0, 1.0), (1.0, 2.0, 1.0), (1.0, 1.0, 2.0)]:
        assert not torch.allclose(
            composite_loss(terms(), weights("even"), lambdas, None), reference
        )


def test_heads_take_the_place_of_m_and_of_the_mean_of_r():
    y, m, r, linear = (draw(seed) for seed in range(4))
    baseline, centre = draw(5), draw(6)
    ell = (
        (y - baseline - r) ** 2
        + 0.5 * (y - m - centre - r) ** 2
        + 0.25 * (y - m - linear) ** 2
    )
    heads = Heads(torch.from_numpy(baseline), torch.from_numpy(centre))
    found = composite_loss(terms(), weights("even"), (1.0, 0.5, 0.25), heads)
    assert found.tolist() == pytest.approx(ell.mean(1).tolist())


def test_rows_of_weight_zero_have_no_part():
    whole, w = terms(), torch.ones(M, N)
    w[:, 2:] = 0
    first = Terms(*(getattr(whole, name)[:, :2] for name in ("y", "m", "r", "linear")))
    found = composite_loss(whole, w, (1.0, 0.5, 0.5), None)
    assert torch.allclose(
        found, composite_loss(first, torch.ones(M, 2), (1.0, 0.5, 0.5), None)
    )
    assert not torch.allclose(
        found, composite_loss(whole, torch.ones(M, N), (1.0, 0.5, 0.5), None)
    )
