"""The observational gradient is the causal one plus the shortcut bias; orthogonality does not take
the bias away.
"""

import numpy as np
import pytest
import torch
from torch import Tensor

from realloc.base.simplex import Floats, project_tangent, tangent_basis
from tests.theory.exact import disc
from tests.theory.moment import local_nuisances, localise, solve_moment

PRIOR = torch.tensor(
    [0.5, 0.3, 0.2], dtype=torch.float64
)  # of an unobserved U with three values
CONFOUNDED = torch.tensor(
    [[6.0, 3, 3], [3, 6, 2], [2, 3, 5]], dtype=torch.float64
)  # Dirichlet logging given U
IGNORABLE = CONFOUNDED[:1].expand(3, 3)
PLACES = np.random.default_rng(0).dirichlet([5, 5, 5], 6)


def log_logging(p: Tensor, habits: Tensor) -> Tensor:
    """log π_b(p | u) of every u, (3,)."""
    constant = torch.lgamma(habits.sum(1)) - torch.lgamma(habits).sum(1)
    return constant + ((habits - 1) * p.log()).sum(1)


def structural(p: Tensor) -> Tensor:
    """φ(p, u) of every u, (3,): levels and slopes both depend on u."""
    slopes = torch.tensor([[1.0, 2, 3], [4, 0, -1], [-2, 1, 2]], dtype=torch.float64)
    return (
        torch.tensor([0.0, 3, -2], dtype=torch.float64)
        + slopes @ p
        + (2 * slopes @ p).sin()
    )


def posterior(p: Tensor, habits: Tensor) -> Tensor:
    """f(u | p)."""
    return torch.softmax(PRIOR.log() + log_logging(p, habits), 0)


def observed(p: Tensor, habits: Tensor) -> Tensor:
    """m(p) = E[Y | P = p]."""
    return (posterior(p, habits) * structural(p)).sum()


def jacobian(function, place: Floats) -> Tensor:
    return torch.autograd.functional.jacobian(function, torch.tensor(place))


def parts(place: Floats, habits: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Causal gradient, re-weighted slopes less the causal gradient, and the covariance with the
    logging score.
    """
    p = torch.tensor(place)
    slopes, scores = (
        jacobian(structural, place),
        jacobian(lambda q: log_logging(q, habits), place),
    )  # (3, K)
    f, phi = posterior(p, habits), structural(p)
    causal = PRIOR @ slopes
    covariance = (f * phi) @ scores - (f @ phi) * (f @ scores)
    return causal, f @ slopes - causal, covariance


@pytest.mark.parametrize("place", PLACES)
def test_posterior_score_is_the_logging_score_less_its_mean(place):
    found = jacobian(lambda q: posterior(q, CONFOUNDED).log(), place)
    scores = jacobian(lambda q: log_logging(q, CONFOUNDED), place)
    expected = scores - posterior(torch.tensor(place), CONFOUNDED) @ scores
    assert (found - expected).abs().max() < 1e-12


@pytest.mark.parametrize("place", PLACES)
def test_observational_gradient_is_causal_plus_shortcut(place):
    causal, weighting, covariance = parts(place, CONFOUNDED)
    found = jacobian(lambda q: observed(q, CONFOUNDED), place)
    assert (found - causal - weighting - covariance).abs().max() < 1e-11
    # Neither part may be left out, and together they are as large as the effect itself.
    tangent = [project_tangent(part.numpy()) for part in (causal, weighting, covariance)]
    assert min(np.linalg.norm(part) for part in tangent[1:]) > 1e-2
    assert np.linalg.norm(tangent[1] + tangent[2]) > 0.1 * np.linalg.norm(tangent[0])


@pytest.mark.parametrize("place", PLACES)
def test_shortcut_bias_is_zero_under_ignorability(place):
    causal, weighting, covariance = parts(place, IGNORABLE)
    found = jacobian(lambda q: observed(q, IGNORABLE), place)
    assert (found - causal).abs().max() < 1e-12
    assert max(weighting.abs().max(), covariance.abs().max()) < 1e-12


@pytest.mark.parametrize(("habits", "ignorable"), [(CONFOUNDED, False), (IGNORABLE, True)])
def test_the_orthogonal_moment_finds_the_observational_gradient_whatever_the_causal_one_is(
    habits, ignorable
):
    place, width = PLACES[0], 1e-3
    shares, area = disc(place, width)
    rows = [torch.tensor(row) for row in shares]
    outcome = np.array([float(observed(p, habits)) for p in rows])
    density = np.array([float((PRIOR * log_logging(p, habits).exp()).sum()) for p in rows])
    local = localise(shares, outcome, place, width, area * density)
    field = tangent_basis(3) @ solve_moment(local, local_nuisances(local))
    seen = project_tangent(jacobian(lambda q: observed(q, habits), place).numpy())
    causal = project_tangent(parts(place, habits)[0].numpy())
    assert field == pytest.approx(seen, abs=1e-4)
    # The bandwidth's own bias is of order width², here 4e-6.
    assert (
        np.linalg.norm(field - causal) < 1e-4
        if ignorable
        else np.linalg.norm(field - causal) > 1
    )
