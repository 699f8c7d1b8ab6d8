from dataclasses import replace

import numpy as np
import pytest
import torch

from realloc.base.simplex import (
    Floats,
    edge_directions,
    project_tangent,
    softmax,
    tangent_basis,
)
from realloc.world import State, World, WorldParameters
from realloc.world.response import TrueSurface, anchor, gradient_energies
from realloc.world.world import calibration_sample
from tests.world.drawn import ALL_REGIMES, draw


def everywhere(n: int, channels: int, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).dirichlet(np.ones(channels), n)


def as_torch(surface: TrueSurface, shares: torch.Tensor) -> torch.Tensor:
    """The response written a second time, from the paper's equations, row by row in torch."""
    w, p = surface.weights, surface.parameters
    t = torch.as_tensor
    z = shares @ t(np.array(tangent_basis(shares.shape[1]))) - t(surface.anchor.T)
    local = (t(surface.slope.T) * z).sum(1)
    A = t(np.moveaxis(surface.curvature, -1, 0).copy())
    shift = t(w.shift).expand_as(z)
    interaction = 0.5 * torch.einsum("ni,nij,nj->n", z, A, z) + torch.einsum(
        "ni,nij,nj->n", z, A, shift
    )
    r = z.norm(dim=1)
    bumps = torch.exp(
        -(z[:, None, :] - t(w.centres)).square().sum(-1) / (2 * p.peak_width**2)
    )
    bracket = (t(surface.peaks.T) * bumps).sum(1) - p.cannibalization
    far = r**2 * torch.sigmoid((r - p.far_distance) / p.far_softness) * bracket
    total = w.scales[0] * local + w.scales[1] * interaction + w.scales[2] * far
    return t(surface.baseline) + t(surface.scale) * total


@pytest.mark.parametrize("channels", [2, 3, 6])
def test_value_and_gradient_equal_torch_autograd(channels):
    world = World("hard", 7, channels)
    _, state, _ = draw(world)
    surface, p = world.surface(state), everywhere(len(state), channels)
    shares = torch.tensor(p, requires_grad=True)
    value = as_torch(surface, shares)
    value.sum().backward()
    assert shares.grad is not None
    assert np.allclose(world.response(state, p), value.detach().numpy(), rtol=1e-12)
    assert np.allclose(
        world.gradient(state, p), project_tangent(shares.grad.numpy()), atol=1e-9
    )


@pytest.mark.parametrize("channels", [2, 3, 6])
def test_gradient_equals_finite_differences(channels):
    world = World("benign", 3, channels)
    _, state, _ = draw(world)
    p, step = everywhere(len(state), channels), 1e-5
    gradient = world.gradient(state, p)
    for direction in edge_directions(channels):
        slope = (
            world.response(state, p + step * direction)
            - world.response(state, p - step * direction)
        ) / (2 * step)
        # Central differences err by step²·third derivative/6, here below 1e-6.
        assert np.allclose(gradient @ direction, slope, atol=1e-5)


def test_gradient_is_tangent():
    world = World("hard", 1)
    _, state, shares = draw(world)
    assert np.abs(world.gradient(state, shares).sum(axis=1)).max() < 1e-10


def test_response_is_the_same_in_every_regime():
    worlds = [World(regime, 5) for regime in ALL_REGIMES]
    _, state, shares = draw(worlds[0])
    values = [world.response(state, shares) for world in worlds]
    assert all(np.array_equal(values[0], other) for other in values[1:])
    assert not np.array_equal(values[0], World("benign", 6).response(state, shares))


def test_outcomes_are_the_response_plus_noise():
    world = World("hard", 1)
    logs, state, shares = draw(world, units=5000, periods=2)
    noise = logs.outcome - world.response(state, shares)
    sd, n = world.parameters.noise, len(logs)
    assert abs(noise.mean()) < 5 * sd / np.sqrt(n)
    assert abs(noise.std() - sd) < 5 * sd / np.sqrt(2 * n)


@pytest.mark.parametrize("channels", [2, 3, 5])
def test_energy_shares_are_the_papers(channels):
    world = World("hard", 2, channels)
    state, shares = calibration_sample(world.seed, world.policy, world.parameters)
    surface = world.surface(state)
    energy = gradient_energies(surface, shares) * world.response_weights.scales**2
    assert np.allclose(energy / energy.sum(), [0.45, 0.35, 0.20])
    assert np.isclose(np.sqrt(energy.sum()), world.parameters.treatment_scale)


def test_energy_shares_hold_on_fresh_contexts():
    """The calibration sample is independent of any log; on another one the shares hold to sampling
    error.
    """
    world = World("hard", 2)
    parts = []
    for regime in ALL_REGIMES:
        _, state, shares = draw(World(regime, 2), units=4000, periods=1)
        parts.append(gradient_energies(world.surface(state), shares))
    energy = np.mean(parts, axis=0) * world.response_weights.scales**2
    # One day's shock moves all contexts together, so the bound is loose.
    assert np.abs(energy / energy.sum() - [0.45, 0.35, 0.20]).max() < 0.1


def test_far_field_vanishes_with_its_slope_at_the_anchor():
    world = World("hard", 1)
    _, state, _ = draw(world)
    surface = world.surface(state)
    zero = np.zeros((2, len(state)))
    assert np.all(surface.components(zero)[2] == 0)
    assert np.all(surface.component_gradients(zero)[2] == 0)


def test_far_from_every_peak_the_far_field_cannibalizes():
    world = World("hard", 1, parameters=replace(WorldParameters(), peak_width=0.05))
    _, state, _ = draw(world)
    away = np.full((2, len(state)), 0.9)
    assert np.all(world.surface(state).components(away)[2] < 0)


def test_the_anchor_is_where_an_unconfounded_logging_mean_would_be():
    world = World("hard", 1)
    _, state, _ = draw(world)
    w = world.policy.weights
    logits = 0.45 * (state.S @ w.W_S.T + np.log1p(state.B)[:, None] * w.w_B)
    assert np.allclose(
        anchor(state, world.response_weights, world.parameters), softmax(logits)
    )


@pytest.mark.parametrize("alignment", [0.0, 0.28, 1.0])
def test_slopes_share_the_logging_directions_as_far_as_they_are_aligned(alignment):
    world = World(
        "hard", 1, parameters=replace(WorldParameters(), slope_alignment=alignment)
    )
    known = tangent_basis(3).T @ world.policy.weights.W_C
    rest = world.response_weights.W_C - alignment * known
    own = np.sqrt(1 - alignment**2) * world.parameters.confounder_scale
    assert np.allclose(np.linalg.norm(rest, axis=1), own)


def test_many_allocations_per_context_equal_one_by_one():
    world = World("hard", 1)
    _, state, shares = draw(world)
    stack = np.stack([shares, everywhere(len(shares), 3)], axis=1)
    for m in range(2):
        assert np.allclose(
            world.response(state, stack)[:, m], world.response(state, stack[:, m])
        )
        assert np.allclose(
            world.gradient(state, stack)[:, m], world.gradient(state, stack[:, m])
        )


def test_batch_equals_row_by_row():
    world = World("hard", 1)
    _, state, shares = draw(world, units=5, periods=1)
    single = [
        world.response(state.take(np.array([i])), shares[[i]])[0]
        for i in range(len(shares))
    ]
    assert np.allclose(world.response(state, shares), single, rtol=1e-13)


def test_baseline_by_hand():
    C = np.zeros((1, 6))
    C[0, :4] = [1.0, 2.0, np.pi / 2, 3.0]
    world = World("hard", 1)
    state = State(C, np.zeros((1, 6)), np.zeros((1, 6)), np.array([np.e - 1]))
    assert np.isclose(world.surface(state).baseline[0], 10 + 2 + 4 + 1.25 + 1.8 + 2)
