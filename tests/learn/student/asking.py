"""A student asked about many shares at once, as tests like to ask."""

import numpy as np
import torch

from realloc.learn.networks.branch import Branch, BranchShape
from realloc.learn.student.distill import to_potential
from realloc.learn.student.potential import Potential


def gain(student, x, start, end):
    """s(end) − s(start) of every member for shares (n, K): (M, n)."""
    return student.read(x).gain(np.arange(len(x)), start, end[:, None])[..., 0]


def value(student, x, shares):
    """s at shares (n, q, K), relative to even shares: (M, n, q)."""
    even = np.full((len(x), shares.shape[-1]), 1 / shares.shape[-1])
    return student.read(x).gain(np.arange(len(x)), even, shares)


def field(student, x, shares):
    """u at shares (n, q, K): (M, n, q, K)."""
    at = student.read(x)
    rows = np.arange(len(x))
    return np.stack(
        [at.fields(rows, shares[:, place]) for place in range(shares.shape[1])], axis=2
    )


def random_network(members: int, shape: BranchShape, seed: int, size: float) -> Branch:
    """A network whose every parameter is random."""
    network = Branch(members, shape, seed)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(size * torch.randn(parameter.shape, generator=generator))
    return network


def random_student(
    members: int, shape: BranchShape, scaling, seed: int = 0, size: float = 0.3
) -> Potential:
    """A potential that bends in the shares, differently in every state and member."""
    return to_potential(random_network(members, shape, seed, size), scaling)
