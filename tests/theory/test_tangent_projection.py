"""Every field is tangent to the simplex: the world's, the teacher's, the student's."""

import numpy as np
import pytest
import torch

from realloc import World
from realloc.base.simplex import edge_directions, project_tangent, tangent_basis
from realloc.learn.networks.branch import Branch, BranchShape
from realloc.learn.student.distill import to_network
from realloc.learn.teacher.committee import CommitteeWeights
from realloc.learn.teacher.fit import Teacher
from realloc.learn.teacher.gaussian import KernelSurface
from realloc.learn.teacher.kernel import Kernel
from realloc.learn.teacher.network import NetworkSurface
from realloc.learn.teacher.sample import TensorScaling
from tests.learn.student.asking import field as field_of
from tests.theory.exact import random_student

SINGLE = 1e-5  # float32 sums of a few terms, relative to the largest


def places(n: int = 50, channels: int = 3) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    return random.normal(size=(n, 5)).astype(np.float32), random.dirichlet(
        np.full(channels, 3.0), n
    )


def random_teacher(channels: int = 3, members: int = 2) -> Teacher:
    """Both surfaces with random parameters."""
    generator = torch.Generator().manual_seed(0)
    branch = Branch(
        members,
        BranchShape(inputs=5, channels=channels, width=16, trunk=8, heads=2),
        seed=0,
    )
    with torch.no_grad():
        for parameter in branch.parameters():
            parameter.add_(0.5 * torch.randn(parameter.shape, generator=generator))
    drawn = [torch.randn(30, size, generator=generator) for size in (5, channels, members)]
    kernel = KernelSurface(Kernel(5).requires_grad_(False), *drawn)
    scaling = TensorScaling(
        torch.full((channels,), 1 / channels), torch.linspace(4.0, 7.0, channels), 3.0
    )
    weighing = CommitteeWeights((0.6, 0.4), 1.0, (1.0, 1.0), 1.0, 30, (1.0, 1.0), 9.0, 0.1)
    return Teacher(
        (kernel, NetworkSurface(branch.requires_grad_(False))), weighing, scaling
    )


@pytest.mark.parametrize("channels", [2, 3, 7])
def test_projector_is_the_orthogonal_projection_onto_the_tangent_space(channels):
    P = project_tangent(np.eye(channels))
    Q = tangent_basis(channels)
    ones = np.ones(channels)
    assert np.allclose(P @ P, P, atol=1e-14)
    assert np.allclose(P, P.T, atol=0)
    assert np.allclose(P @ ones, 0, atol=1e-14)
    assert np.allclose(Q @ Q.T, P, atol=1e-14)
    v = np.random.default_rng(0).normal(size=(20, channels))
    assert np.allclose(project_tangent(v), v @ P, atol=1e-14)
    assert np.allclose(project_tangent(project_tangent(v)), project_tangent(v), atol=1e-14)


@pytest.mark.parametrize("channels", [2, 3, 5])
def test_the_worlds_field_sums_to_zero(channels):
    world = World("hard", seed=3, channels=channels)
    state = world.state(world.sample(units=50, periods=1))
    field = world.gradient(state, places(len(state), channels)[1])
    assert np.abs(field.sum(-1)).max() < 1e-12 * np.abs(field).max()


@pytest.mark.parametrize("channels", [2, 3, 5])
def test_the_students_field_sums_to_zero_and_its_slopes_alone_do_not(channels):
    student, (x, shares) = random_student(channels=channels), places(channels=channels)
    field = field_of(student, x, shares[:, None])
    assert np.abs(field.sum(-1)).max() < SINGLE * np.abs(field).max()
    states = torch.from_numpy(x).expand(2, -1, -1)
    z = torch.from_numpy(student.scaling.shares(shares))
    slopes = to_network(student).open(states).slopes(z.expand(2, -1, -1)).detach()
    slopes = slopes * torch.from_numpy(student.scaling.inverse)
    assert slopes.sum(-1).abs().median() > 0.1 * slopes.abs().median()


def test_the_teachers_field_sums_to_zero_and_its_slopes_alone_do_not():
    teacher, (x, shares) = random_teacher(), places()
    states, p = torch.from_numpy(x), torch.from_numpy(shares).float()
    field = teacher.field(states, p)
    assert field.sum(-1).abs().max() < SINGLE * field.abs().max()
    for surface in teacher.surfaces:
        slopes = surface.slopes(states, teacher.scaling.shares(p)) * teacher.scaling.inverse
        assert slopes.sum(-1).abs().median() > 0.1 * slopes.abs().median()


def test_projection_leaves_the_worth_of_every_transfer_as_it_was():
    slopes = np.random.default_rng(0).normal(size=(20, 4))
    moves = edge_directions(4)
    assert np.allclose(project_tangent(slopes) @ moves.T, slopes @ moves.T, atol=1e-14)


def test_the_teachers_field_is_the_slope_of_its_values_along_every_transfer():
    teacher, (x, shares) = random_teacher(), places()
    states, p, step = torch.from_numpy(x), torch.from_numpy(shares).float(), 1e-2
    moves = torch.from_numpy(edge_directions(3)).float()
    ends = p[:, None] + step * torch.cat([moves, -moves])
    values = teacher.values(states, ends)  # (M, n, 12)
    found = (values[..., :6] - values[..., 6:]) / (2 * step)
    expected = teacher.field(states, p) @ moves.T
    # Central differences err by step² times a third derivative, and by float32 over the step.
    assert (found - expected).abs().max() < 1e-2 * expected.abs().max()
