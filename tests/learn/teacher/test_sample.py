"""Units: scaled shares and back."""

import numpy as np
import pytest
import torch

from realloc.learn.teacher.sample import STILL, scale
from tests.learn.teacher.simulated import sample_of, simulate


def test_scaled_shares_have_mean_zero_and_spread_one():
    sample = sample_of(simulate(n=500))
    assert torch.allclose(sample.z.mean(0), torch.zeros(3), atol=1e-5)
    assert torch.allclose(sample.z.std(0, correction=0), torch.ones(3), atol=1e-5)
    assert float(sample.y.std(correction=0)) == pytest.approx(1, abs=1e-5)
    assert sample.count == 3


def test_a_field_is_the_chain_rule_and_tangent():
    random = np.random.default_rng(0)
    scaling = scale(random.dirichlet(np.ones(4), 100), 7 * random.normal(size=100))
    slopes = torch.from_numpy(random.normal(size=(5, 4))).float()
    plain = slopes * scaling.inverse * scaling.outcome
    found = scaling.field(slopes)
    assert torch.allclose(found.sum(-1), torch.zeros(5), atol=1e-3)
    assert torch.allclose(found - found[:, :1], plain - plain[:, :1], rtol=1e-4)


def test_a_channel_that_never_moved_is_taken_out():
    shares = np.tile([0.3, 0.7, 0.0], (50, 1)) + np.linspace(-0.1, 0.1, 50)[:, None] * [
        1,
        -1,
        0,
    ]
    still = scale(shares, np.zeros(50))
    assert still.inverse[2] == 0
    assert (still.inverse[:2] > 0).all()
    assert still.outcome == 1.0  # a constant outcome has no unit of its own
    shares[0, 2] += 100 * STILL
    assert scale(shares, np.zeros(50)).inverse[2] > 0
