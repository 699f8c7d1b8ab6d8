"""Theorem 1: uplift is the path integral of the field; and a potential's gains telescope along
every trace.
"""

import numpy as np
import pytest

from realloc import World
from realloc.base.simplex import Floats, tangent_basis
from realloc.decide.search.greedy import SearchConfig, gain_of_potential, search_greedy
from tests.geometry import path_length
from tests.learn.student.asking import field as field_of
from tests.learn.student.asking import gain as gain_of
from tests.learn.student.asking import value as value_of
from tests.theory.exact import Path, bent, integrate, random_student, through

ROWS = 40
NODES = 48


def ways(seed: int = 0) -> tuple[Floats, Floats, list[list[Path]]]:
    """Start, end, and four paths between them: straight, by three random points, curved one way and
    the other.
    """
    random = np.random.default_rng(seed)
    start, end, *others = (random.dirichlet(np.full(3, 3.0), ROWS) for _ in range(5))
    bends = [random.normal(size=(ROWS, 3)) for _ in range(2)]
    return (
        start,
        end,
        [
            through([start, end]),
            through([start, *others, end]),
            *([bent(start, end, b)] for b in bends),
        ],
    )


def field_at(student, x, p):
    """u at shares (n, K) or (n, q, K)."""
    return (
        field_of(student, x, p[:, None])[:, :, 0]
        if p.ndim == 2
        else field_of(student, x, p)
    )


def states(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(ROWS, 5)).astype(np.float32)


@pytest.mark.parametrize("regime", ["benign", "hard"])
def test_uplift_is_the_integral_of_the_worlds_field_along_any_path(regime):
    world = World(regime, seed=3)
    surface = world.surface(world.sample(units=ROWS, periods=1))
    start, end, paths = ways()
    uplift = surface.value(end) - surface.value(start)
    for pieces in paths:
        coarse, fine = (
            integrate(surface.gradient, pieces, nodes) for nodes in (NODES // 2, NODES)
        )
        # The coarser rule's error, which is its distance to the finer one, is more than the finer
        # one's.
        tolerance = np.abs(fine - coarse).max() + 1e-12 * np.abs(uplift).max()
        assert tolerance < 1e-3 * np.abs(uplift).max()
        assert np.abs(fine - uplift).max() <= tolerance


def test_the_students_gain_is_the_integral_of_its_field_along_any_path():
    student, x = random_student(), states()
    start, end, paths = ways()
    gain = gain_of(student, x, start, end)
    for member in range(student.members):
        for pieces in paths:
            found = integrate(
                lambda p, member=member: field_at(student, x, p)[member], pieces, NODES
            )
            scale = np.abs(
                field_of(student, x, np.stack([start, end], axis=1))
            ).max()  # × a length of about one
            assert np.abs(found - gain[member]).max() < 1e-5 * scale


def test_a_field_that_rotates_has_no_potential_and_its_integrals_differ_between_paths():
    student, x = random_student(), states()
    _, _, paths = ways()
    Q = tangent_basis(3)
    turn = Q @ np.array([[0.0, 1.0], [-1.0, 0.0]]) @ Q.T

    def potential(p: Floats) -> Floats:
        return field_at(student, x, p)[0]

    def rotating(p: Floats) -> Floats:
        return potential(p) + (p - 1 / 3) @ turn * np.abs(potential(p)).mean()

    def disagreement(field) -> Floats:
        values = np.stack([integrate(field, pieces, NODES) for pieces in paths])
        return np.ptp(values, axis=0) / np.abs(values).mean()

    assert disagreement(potential).max() < 1e-5
    assert np.median(disagreement(rotating)) > 0.05


def greedy(gain) -> tuple:
    start = np.random.default_rng(1).dirichlet(np.full(3, 3.0), ROWS)
    config = SearchConfig(steps=(0.01, 0.02, 0.05), max_steps=12, max_length=0.5)
    return start, search_greedy(
        start, gain, lambda rows, s, c: np.ones(c.shape[:2], dtype=bool), config
    )


def test_gains_of_the_greedy_trace_telescope():
    student, x = random_student(), states()
    start, trace = greedy(
        gain_of_potential(lambda rows, p: value_of(student, x[rows], p).mean(0))
    )
    assert trace.steps.max() > 5
    assert trace.length == pytest.approx(path_length(trace.points), abs=1e-12)
    values = value_of(student, x, trace.points).mean(0)
    promised = np.diff(values, axis=1).sum(1)
    gain = gain_of(student, x, start, trace.shares).mean(0)
    assert trace.gain == pytest.approx(promised, abs=1e-5 * np.abs(values).max())
    assert trace.gain == pytest.approx(gain, abs=1e-5 * np.abs(values).max())
    assert trace.gain.min() >= 0


def test_gains_by_slopes_alone_do_not_telescope():
    student, x = random_student(), states()

    def first_order(rows, shares: Floats, candidates: Floats) -> Floats:
        slopes = field_at(student, x[rows], shares).mean(0)
        return ((candidates - shares[:, None]) * slopes[:, None]).sum(-1)

    start, trace = greedy(first_order)
    gain = gain_of(student, x, start, trace.shares).mean(0)
    assert np.median(np.abs(trace.gain - gain)[trace.steps > 0]) > 0.02 * np.median(
        trace.gain[trace.steps > 0]
    )
