"""Polynomials around a start are the potential there, nearly: near enough to choose among
places.
"""

import numpy as np
import pytest
import torch

from realloc.learn.networks.branch import Branch, BranchShape
from realloc.learn.scaling import Scaling
from realloc.learn.student.distill import to_potential
from realloc.learn.student.local_polynomial import REACH, Bend

RADIUS = 0.22


def potential(channels, steep=1.0):
    network = Branch(3, BranchShape(inputs=6, channels=channels, trunk=16), 0)
    with torch.no_grad():
        for name, part in network.named_parameters():
            part.mul_(steep if name == "directions" else 1.0).add_(
                0.1 * torch.randn(part.shape, generator=torch.Generator().manual_seed(1))
            )
    centre = np.full(channels, 1 / channels, np.float32)
    return to_potential(network, Scaling(centre, np.full(channels, 5.0, np.float32), 2.0))


def ways(channels, n=40, m=30):
    random = np.random.default_rng(0)
    start = random.dirichlet(np.full(channels, 4.0), n)
    off = random.dirichlet(np.ones(channels), (n, m)) - start[:, None]
    length = np.linalg.norm(off, axis=-1, keepdims=True)
    ends = start[:, None] + off * np.minimum(
        1, RADIUS * random.random(length.shape) / length
    )
    return random.normal(size=(n, 6)).astype(np.float32), start, ends


@pytest.mark.parametrize("channels", [2, 3, 4, 5, 7])
def test_gains_are_nearly_those_of_the_network(channels):
    x, start, ends = ways(channels)
    reading = potential(channels).read(x)
    rows = np.arange(len(x))
    rough, true = (
        reading.near(start, RADIUS)(rows, start, ends),
        reading.mean_gain(rows, start, ends),
    )
    assert np.abs(rough - true).max() < 2e-3 * np.abs(true).max()
    some = rows[::3]
    between = reading.near(start, RADIUS)(
        some, ends[some, 0], ends[some, 1:]
    )  # from another place than the start
    assert (
        np.abs(between - reading.mean_gain(some, ends[some, 0], ends[some, 1:])).max()
        < 4e-3 * np.abs(true).max()
    )


def test_a_lower_degree_would_not_be_near_enough():
    x, start, ends = ways(3)
    reading = potential(3, steep=1.2).read(x)
    rows = np.arange(len(x))
    true = reading.mean_gain(rows, start, ends)
    line = reading.field(rows, start)
    flat = np.einsum("amk,ak->am", ends - start[:, None], line)
    rough = reading.near(start, RADIUS)(rows, start, ends)
    assert np.abs(rough - true).max() < 0.05 * np.abs(flat - true).max()


def test_the_degree_follows_the_reach_and_a_few_units_stay_as_they_are():
    x, start, ends = ways(3)
    degrees = []
    for steep in (0.5, 1.0, 1.5, 2.5, 9.0):
        reading = potential(3, steep).read(x)
        found = reading.near(start, RADIUS)
        degrees.append(found.degree)
        rows = np.arange(len(x))
        true = reading.mean_gain(rows, start, ends)
        assert np.abs(found(rows, start, ends) - true).max() < 2e-3 * np.abs(true).max()
    assert degrees[0] == min(REACH)
    assert len(set(degrees)) > 1
    assert len(found.steep.numbers) > 0


def test_many_channels_are_followed_unit_by_unit():
    x, start, _ = ways(3)
    few = potential(3).read(x).near(start, RADIUS)
    assert few.coefficients.shape[1] > 0
    assert few.bends.shape[2] == 0
    x, start, _ = ways(7)
    many = potential(7).read(x).near(start, RADIUS)
    assert many.coefficients.shape[1] == 0
    assert many.bends.shape == (
        len(x),
        many.degree,
        potential(7).directions[..., 0, :].size,
    )


@pytest.mark.parametrize("degree", REACH)
def test_the_reach_of_a_degree_is_where_it_is_off_by_less_than_promised(degree):
    at = np.linspace(-12, 12, 97)[:, None]
    bend = Bend(np.full((1, 1), REACH[degree], np.float32))
    count = degree + 1
    nodes = np.cos(np.pi * (np.arange(count) + 0.5) / count)
    t = np.linspace(-1, 1, 101)
    fitted = np.polynomial.polynomial.polyvander(t, degree) @ np.linalg.solve(
        np.vander(nodes, increasing=True), silu(at + REACH[degree] * nodes).T
    )
    assert np.abs(fitted.T - silu(at + REACH[degree] * t)).max() < 6.1e-3
    assert bend.degree <= degree


def silu(x):
    return x / (1 + np.exp(-x))
