"""Links: every loss is least at the mean, zero at a perfect prediction, and finite at zeros."""

import numpy as np
import pytest
import torch

from realloc.learn.nuisances.config import OUTCOMES
from realloc.learn.nuisances.link import deviance, fit_link, response


@pytest.mark.parametrize("kind", OUTCOMES)
def test_the_loss_of_a_constant_is_least_at_the_mean(kind):
    z = torch.tensor(
        np.random.default_rng(0).gamma(0.5, 2, size=500) * (np.arange(500) % 3 > 0)
    )
    grid = torch.linspace(-1.5, 1.5, 3001, dtype=torch.float64)
    losses = deviance(kind, z[:, None], grid[None]).mean(0)
    assert response(kind, grid[losses.argmin()]).item() == pytest.approx(
        z.mean().item(), abs=2e-3
    )
    assert torch.isfinite(losses).all()


@pytest.mark.parametrize("kind", OUTCOMES)
def test_a_perfect_prediction_costs_nothing(kind):
    z = torch.tensor([0.3, 1.0, 4.0], dtype=torch.float64)
    f = z if kind == "real" else z.log()
    assert deviance(kind, z, f).numpy() == pytest.approx(0, abs=1e-12)
    assert (deviance(kind, z, f + 0.3) > 0).all()


@pytest.mark.parametrize("kind", OUTCOMES)
def test_the_scale_of_an_outcome_does_not_matter(kind):
    y, w = np.random.default_rng(1).gamma(2, 3, size=200), np.ones(200)
    assert fit_link(kind, 1e6 * y, w).forward(1e6 * y) == pytest.approx(
        fit_link(kind, y, w).forward(y)
    )
    link = fit_link(kind, y, w)
    assert link.mean(link.forward(y)) == pytest.approx(y)
