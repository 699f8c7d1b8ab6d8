"""The potential: every way from one allocation to another is worth the same, and the field is
its slope.
"""

import numpy as np
import pytest
import torch

from realloc.learn.networks.branch import Branch, BranchShape
from realloc.learn.student import potential
from realloc.learn.student.distill import to_network, to_potential
from realloc.learn.student.potential import Potential
from realloc.learn.teacher.sample import scale
from tests.learn.student.asking import field, gain, random_student, value

M, N, D, K = 2, 20, 3, 4


SHAPE = BranchShape(inputs=D, channels=K, width=8, trunk=6)


def random_potential(seed=0, outcome=5.0):
    """A potential that bends, of an outcome with the given spread."""
    random = np.random.default_rng(seed)
    scaling = scale(random.dirichlet(np.ones(K), 200), outcome * random.normal(size=200))
    return random_student(M, SHAPE, scaling.numpy(), seed)


def states(seed=0, n=N):
    return np.random.default_rng(seed).normal(size=(n, D)).astype(np.float32)


def shares(*shape, seed=1):
    return np.random.default_rng(seed).dirichlet(np.ones(K), shape)


def rounding(found, x, p):
    """What single precision leaves of values this large."""
    return 50 * np.finfo(np.float32).eps * np.abs(value(found, x, p)).max()


def in_double(found):
    """The same network in double precision, as a function of tensors."""
    network = to_network(found).double().requires_grad_(False)

    def value(x, p):
        centre = torch.from_numpy(found.scaling.centre)
        z = (p - centre) * torch.from_numpy(found.scaling.inverse)
        return (
            network.open(x.expand(M, -1, -1)).value(z.expand(M, *z.shape))
            * found.scaling.outcome
        )

    return value


def test_gains_along_a_trace_add_up_to_the_gain_of_its_ends():
    found, x, trace = random_potential(), states(), shares(N, 9)
    steps = [gain(found, x, trace[:, t], trace[:, t + 1]) for t in range(8)]
    whole = gain(found, x, trace[:, 0], trace[:, -1])
    assert np.abs(np.sum(steps, axis=0) - whole).max() < 8 * rounding(found, x, trace)
    assert np.abs(np.sum(steps[:-1], axis=0) - whole).max() > 100 * rounding(
        found, x, trace
    )


def test_there_and_back_is_worth_nothing():
    found, x, p = random_potential(), states(), shares(N, 2)
    there, back = gain(found, x, p[:, 0], p[:, 1]), gain(found, x, p[:, 1], p[:, 0])
    assert np.abs(there + back).max() < rounding(found, x, p)
    assert np.abs(there).min() > 0


def test_staying_is_worth_nothing():
    found, x, p = random_potential(), states(), shares(N)
    assert np.abs(gain(found, x, p, p)).max() < rounding(found, x, p[:, None])


def test_the_field_is_tangent():
    found, x, p = random_potential(), states(), shares(N, 5)
    slopes_found = field(found, x, p)
    assert slopes_found.shape == (M, N, 5, K)
    assert np.abs(slopes_found.sum(-1)).max() < 1e-5 * np.abs(slopes_found).max()
    assert np.abs(slopes_found).max() > 1


def test_the_field_equals_projected_finite_differences_of_the_value():
    found, x, p = random_potential(), states(), shares(N, 1)
    slopes_found = field(found, x, p)[:, :, 0]
    in_doubles, eps = in_double(found), 1e-5
    around = np.concatenate(
        [p + eps * np.eye(K), p - eps * np.eye(K)], axis=1
    )  # (n, 2K, K)
    values = in_doubles(torch.from_numpy(x).double(), torch.from_numpy(around)).numpy()
    slopes = (values[..., :K] - values[..., K:]) / (2 * eps)
    expected = slopes - slopes.mean(-1, keepdims=True)
    assert np.abs(slopes_found - expected).max() < 1e-4 * np.abs(expected).max()
    assert (
        np.abs(slopes.mean(-1)).max() > 1e-2 * np.abs(expected).max()
    )  # the projection does something


def test_a_new_potential_is_zero_everywhere():
    scaling = random_potential().scaling
    fresh = to_potential(Branch(M, SHAPE, 0), scaling)
    assert fresh.members == M
    assert not value(fresh, states(), shares(N, 2)).any()
    assert not field(fresh, states(), shares(N, 2)).any()


def test_rows_in_parts_equal_all_at_once_and_no_rows_are_fine(monkeypatch):
    found, x, p = random_potential(), states(), shares(N, 3)
    whole = value(found, x, p)
    monkeypatch.setattr(potential, "AT_ONCE", 7)
    assert np.array_equal(whole, value(found, x, p))
    assert value(found, x[:0], p[:0]).shape == (M, 0, 3)
    assert field(found, x[:0], p[:0]).shape == (M, 0, 3, K)


def test_gains_and_slopes_are_those_of_the_network_that_was_trained():
    found, x, p = random_potential(), states(), shares(N, 3)
    trained = (
        to_network(found).requires_grad_(False).open(torch.from_numpy(x).expand(M, -1, -1))
    )
    z = torch.from_numpy(found.scaling.shares(p)).expand(M, -1, -1, -1)
    values = trained.value(z).double().numpy() * found.scaling.outcome
    gains = value(found, x, p)
    expected = values - values[..., :1] + gains[..., :1]
    assert np.abs(gains - expected).max() < 1e-5 * np.abs(values).max()
    slopes = found.scaling.field(trained.slopes(z).numpy())
    assert np.abs(field(found, x, p) - slopes).max() < 1e-5 * np.abs(slopes).max()
    mean = found.read(x).field(np.arange(N), p[:, 0])
    assert np.abs(mean - slopes[:, :, 0].mean(0)).max() < 1e-5 * np.abs(slopes).max()


def test_values_are_in_units_of_the_outcome():
    found, x, p = random_potential(), states(), shares(N, 2)
    scaling = type(found.scaling)(
        found.scaling.centre, found.scaling.inverse, 10 * found.scaling.outcome
    )
    larger = Potential(found.weights, scaling)
    assert value(larger, x, p) == pytest.approx(10 * value(found, x, p), rel=1e-5)
    assert field(larger, x, p) == pytest.approx(10 * field(found, x, p), rel=1e-4, abs=1e-3)


def test_inputs_that_may_not_be_written_are_read():
    found, x, p = random_potential(), states(), shares(N, 2)
    x.flags.writeable = p.flags.writeable = False
    assert np.isfinite(gain(found, x, p[:, 0], p[:, 1])).all()
