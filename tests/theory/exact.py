"""What the statements are checked on: exact finite laws, quadrature rules and paths instead of
large samples.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from realloc.base.simplex import Floats, tangent_basis
from realloc.learn.networks.branch import BranchShape
from realloc.learn.scaling import Scaling
from realloc.learn.student.potential import Potential
from tests.learn.student.asking import random_student as make_student

# Times (q,) → points and velocities, both (n, q, K).
Path = Callable[[Floats], tuple[Floats, Floats]]


@dataclass(frozen=True, eq=False)
class Law:
    """A finite joint law of state, shares and outcome, its rows listed with their probabilities."""

    state: np.ndarray  # (n,)
    shares: Floats  # (n, 3)
    outcome: Floats  # (n,)
    mass: Floats  # (n,)


def finite_law(confounded: bool = True, curved: float = 0.0, seed: int = 0) -> Law:
    """3 states × 9 shares × 2 outcomes: y = intercept + ⟨slope(x), p⟩ + curved · ‖p‖² ± noise."""
    random = np.random.default_rng(seed)
    habits = (
        np.array([[6.0, 2, 2], [2, 6, 2], [2, 3, 7]])
        if confounded
        else np.full((3, 3), 3.0)
    )
    points = [random.dirichlet(habit, 9) for habit in habits]
    odds = [random.dirichlet(np.full(9, 3.0)) for _ in habits]
    if not confounded:
        points, odds = [points[0]] * 3, [odds[0]] * 3
    state = np.repeat(np.arange(3), 9)
    shares, mass = np.concatenate(points), np.concatenate(odds) / 3
    slope = random.normal(size=(3, 3)) * 2
    mean = (
        np.array([3.0, -1, 5])[state]
        + (slope[state] * shares).sum(1)
        + curved * np.square(shares).sum(1)
    )
    noise = random.uniform(0.5, 1.5, len(state))
    return Law(
        np.tile(state, 2),
        np.tile(shares, (2, 1)),
        np.concatenate([mean + noise, mean - noise]),
        np.tile(mass, 2) / 2,
    )


def disc(
    place: Floats,
    radius: float,
    angles: tuple[float, float] = (0.0, 2 * np.pi),
    nodes: int = 24,
) -> tuple[Floats, Floats]:
    """Shares (n, 3) in a disc (or a sector of it) around a place and their areas: Gauss–Legendre in
    both directions.
    """
    at, weight = np.polynomial.legendre.leggauss(nodes)
    r, r_weight = (at + 1) / 2 * radius, weight / 2 * radius
    low, high = angles
    phi, phi_weight = low + (at + 1) / 2 * (high - low), weight / 2 * (high - low)
    z = np.stack([np.outer(r, np.cos(phi)), np.outer(r, np.sin(phi))], axis=-1).reshape(
        -1, 2
    )
    return place + z @ tangent_basis(3).T, np.outer(r * r_weight, phi_weight).ravel()


def straight(start: Floats, end: Floats) -> Path:
    """The segment from start (n, K) to end (n, K)."""

    def follow(t: Floats) -> tuple[Floats, Floats]:
        points = start[:, None] + t[:, None] * (end - start)[:, None]
        return points, np.broadcast_to((end - start)[:, None], points.shape)

    return follow


def bent(start: Floats, end: Floats, bend: Floats) -> Path:
    """A smooth curve: softmax of a line of log-shares plus sin(πt) · bend (n, K)."""

    def follow(t: Floats) -> tuple[Floats, Floats]:
        t = t[:, None]
        a, b, c = np.log(start)[:, None], np.log(end)[:, None], bend[:, None]
        raised = np.exp((1 - t) * a + t * b + np.sin(np.pi * t) * c)
        points = raised / raised.sum(-1, keepdims=True)
        speed = b - a + np.pi * np.cos(np.pi * t) * c
        return points, points * (speed - (points * speed).sum(-1, keepdims=True))

    return follow


def through(waypoints: list[Floats]) -> list[Path]:
    """The pieces of a piecewise-linear path."""
    return [straight(a, b) for a, b in pairwise(waypoints)]


def integrate(field: Callable[[Floats], Floats], pieces: list[Path], nodes: int) -> Floats:
    """∫ field·dγ over the pieces of a path, (n,), with so many Gauss–Legendre nodes on each."""
    at, weight = np.polynomial.legendre.leggauss(nodes)
    total = 0.0
    for piece in pieces:
        points, velocity = piece((at + 1) / 2)
        total = total + ((field(points) * velocity).sum(-1) * weight / 2).sum(-1)
    return np.asarray(total)


def random_student(
    states: int = 5, channels: int = 3, members: int = 2, seed: int = 0
) -> Potential:
    """A potential whose every parameter is random: curved, and different in every state."""
    scaling = Scaling(
        np.full(channels, 1 / channels, np.float32),
        np.linspace(4.0, 7.0, channels, dtype=np.float32),
        3.0,
    )
    shape = BranchShape(inputs=states, channels=channels, width=16, trunk=8)
    return make_student(members, shape, scaling, seed, size=0.5)
