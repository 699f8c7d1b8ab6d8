"""The potential: every way from one allocation to another is worth the same, and the field is
its slope.
"""

import numpy as np
import pytest
import torch

from realloc.learn.networks.branch import BranchShape
from realloc.learn.student import potential
from realloc.learn.student.potential import FORMS, Potential, build
from realloc.learn.teacher.sample import scale

M, N, D, K = 2, 20, 3, 4


def random_potential(form, seed=0, outcome=5.0):
    """A potential that bends, of an outcome with the given spread."""
    random = np.random.default_rng(seed)
    scaling = scale(random.dirichlet(np.ones(K), 200), outcome * random.normal(size=200))
    found = build(form, M, BranchShape(inputs=D, channels=K, width=8, trunk=6), scaling, seed)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for p in found.network.parameters():
            p.add_(torch.randn(p.shape, generator=generator) * 0.3)
    found.network.requires_grad_(False)
    return found


def states(seed=0, n=N):
    return np.random.default_rng(seed).normal(size=(n, D)).astype(np.float32)


def shares(*shape, seed=1):
    return np.random.default_rng(seed).dirichlet(np.ones(K), shape)


def rounding(found, x, p):
    """What single precision leaves of values this large."""
    return 50 * np.finfo(np.float32).eps * np.abs(found.value(x, p)).max()


def in_double(found):
    """The same network in double precision, as a function of tensors."""
    network = found.network.double()

    def value(x, p):
        z = (p - found.scaling.centre) * found.scaling.inverse
        return (
            network.open(x.expand(M, -1, -1)).value(z.expand(M, *z.shape)) * found.scaling.outcome
        )

    return value


@pytest.mark.parametrize("form", FORMS)
def test_gains_along_a_trace_add_up_to_the_gain_of_its_ends(form):
    found, x, trace = random_potential(form), states(), shares(N, 9)
    steps = [found.gain(x, trace[:, t], trace[:, t + 1]) for t in range(8)]
    whole = found.gain(x, trace[:, 0], trace[:, -1])
    assert np.abs(np.sum(steps, axis=0) - whole).max() < 8 * rounding(found, x, trace)
    assert np.abs(np.sum(steps[:-1], axis=0) - whole).max() > 100 * rounding(found, x, trace)


@pytest.mark.parametrize("form", FORMS)
def test_there_and_back_is_worth_nothing(form):
    found, x, p = random_potential(form), states(), shares(N, 2)
    there, back = found.gain(x, p[:, 0], p[:, 1]), found.gain(x, p[:, 1], p[:, 0])
    assert np.abs(there + back).max() < rounding(found, x, p)
    assert np.abs(there).min() > 0


@pytest.mark.parametrize("form", FORMS)
def test_staying_is_worth_nothing(form):
    found, x, p = random_potential(form), states(), shares(N)
    assert np.abs(found.gain(x, p, p)).max() < rounding(found, x, p[:, None])


@pytest.mark.parametrize("form", FORMS)
def test_the_field_is_tangent(form):
    found, x, p = random_potential(form), states(), shares(N, 5)
    field = found.field(x, p)
    assert field.shape == (M, N, 5, K)
    assert np.abs(field.sum(-1)).max() < 1e-5 * np.abs(field).max()
    assert np.abs(field).max() > 1


@pytest.mark.parametrize("form", FORMS)
def test_the_field_equals_projected_finite_differences_of_the_value(form):
    found, x, p = random_potential(form), states(), shares(N, 1)
    field = found.field(x, p)[:, :, 0]
    value, eps = in_double(found), 1e-5
    around = np.concatenate([p + eps * np.eye(K), p - eps * np.eye(K)], axis=1)  # (n, 2K, K)
    values = value(torch.from_numpy(x).double(), torch.from_numpy(around)).numpy()
    slopes = (values[..., :K] - values[..., K:]) / (2 * eps)
    expected = slopes - slopes.mean(-1, keepdims=True)
    assert np.abs(field - expected).max() < 1e-4 * np.abs(expected).max()
    assert (
        np.abs(slopes.mean(-1)).max() > 1e-2 * np.abs(expected).max()
    )  # the projection does something


@pytest.mark.parametrize("form", FORMS)
def test_a_new_potential_is_zero_everywhere(form):
    scaling = random_potential(form).scaling
    fresh = build(form, M, BranchShape(inputs=D, channels=K, width=8, trunk=6), scaling, 0)
    assert fresh.members == M
    assert not fresh.value(states(), shares(N, 2)).any()
    assert not fresh.field(states(), shares(N, 2)).any()


@pytest.mark.parametrize("form", FORMS)
def test_rows_in_parts_equal_all_at_once_and_no_rows_are_fine(form, monkeypatch):
    found, x, p = random_potential(form), states(), shares(N, 3)
    whole = found.value(x, p), found.field(x, p)
    monkeypatch.setattr(potential, "CHUNK", 7)
    for a, b in zip(whole, (found.value(x, p), found.field(x, p)), strict=True):
        assert np.allclose(a, b, atol=1e-4 * np.abs(a).max())
    assert found.value(x[:0], p[:0]).shape == (M, 0, 3)
    assert found.field(x[:0], p[:0]).shape == (M, 0, 3, K)


def test_values_are_in_units_of_the_outcome():
    found, x, p = random_potential("branch"), states(), shares(N, 2)
    scaling = type(found.scaling)(
        found.scaling.centre, found.scaling.inverse, 10 * found.scaling.outcome
    )
    larger = Potential(found.network, scaling)
    assert larger.value(x, p) == pytest.approx(10 * found.value(x, p), rel=1e-5)
    assert larger.field(x, p) == pytest.approx(10 * found.field(x, p), rel=1e-4, abs=1e-3)


def test_inputs_that_may_not_be_written_are_read():
    found, x, p = random_potential("branch"), states(), shares(N, 2)
    x.flags.writeable = p.flags.writeable = False
    assert np.isfinite(found.gain(x, p[:, 0], p[:, 1])).all()
