"""PSI and the part of it that chance explains."""

import numpy as np
import pytest

from realloc.logs.divergence import divergence


def test_equal_samples_do_not_diverge_and_others_do():
    assert divergence(np.array([50, 50]), np.array([500, 500])).psi == 0
    apart = divergence(np.array([900, 100]), np.array([100, 900]))
    assert apart.psi == pytest.approx(2 * 0.8 * np.log(9), rel=0.01)
    assert apart.beyond > 3
    assert apart.chance < 1e-6


@pytest.mark.parametrize(
    ("new", "old"), [([0, 0], [1, 2]), ([1, 2], [0, 0]), ([5, 0], [9, 0])]
)
def test_nothing_to_compare_is_no_divergence(new, old):
    found = divergence(np.array(new), np.array(old))
    assert (found.psi, found.beyond, found.chance) == (0, 0, 1)


def test_the_null_of_the_distance_is_what_it_says():
    """Of samples of one population, one in a hundred lies beyond the 99th percentile."""
    random = np.random.default_rng(0)
    p = np.full(10, 0.1)
    chances = [
        divergence(random.multinomial(500, p), random.multinomial(3000, p)).chance
        for _ in range(2000)
    ]
    assert np.mean(np.array(chances) < 0.01) == pytest.approx(0.01, abs=0.007)
    assert np.mean(np.array(chances) < 0.5) == pytest.approx(0.5, abs=0.05)
