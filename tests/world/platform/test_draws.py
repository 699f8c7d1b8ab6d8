import numpy as np
import pytest

from realloc.world.platform.draws import Draws, choose


@pytest.mark.parametrize(
    ("first", "count"), [(0, 1), (0, 1000), (3, 5), (999, 1), (517, 300)]
)
def test_an_item_draws_the_same_in_every_block(first: int, count: int) -> None:
    whole = Draws((4, 2), 0, 1000).normal("noise", 7)
    assert np.array_equal(
        whole[first : first + count], Draws((4, 2), first, count).normal("noise", 7)
    )


def test_names_days_and_roots_give_unrelated_draws() -> None:
    n = 20_000
    streams = [
        Draws((1, 0), 0, n).normal("a", 0),
        Draws((1, 0), 0, n).normal("a", 1),
        Draws((1, 0), 0, n).normal("a", -1),
        Draws((1, 0), 0, n).normal("b", 0),
        Draws((1, 1), 0, n).normal("a", 0),
        Draws((2, 0), 0, n).normal("a", 0),
    ]
    correlation = np.corrcoef(streams) - np.eye(len(streams))
    assert np.abs(correlation).max() < 4.5 / np.sqrt(n)


def test_normal_draws_are_standard_normal() -> None:
    n = 200_000
    z = Draws((1,), 0, n).normal("z")
    assert abs(z.mean()) < 4.5 / np.sqrt(n)
    assert abs(z.var() - 1) < 4.5 * np.sqrt(2 / n)
    assert np.isfinite(z).all()


def test_choice_follows_the_weights_and_never_takes_a_zero() -> None:
    n = 100_000
    weights = np.array([0.0, 2.0, 0.0, 1.0, 5.0, 0.0])
    uniform = Draws((1,), 0, n).uniform("choice")
    uniform[:2] = 0.0, np.nextafter(1.0, 0.0)  # both ends of what a generator can give
    counts = np.bincount(choose(uniform, np.broadcast_to(weights, (n, 6))), minlength=6)
    p = weights / weights.sum()
    assert (counts[p == 0] == 0).all()
    assert (np.abs(counts / n - p) <= 4.5 * np.sqrt(p * (1 - p) / n)).all()


@pytest.mark.parametrize("total", [1.0, 0.1, 3.0, 1 - 2.0**-53, 7.7e-3])
def test_the_largest_uniform_stays_below_the_total(total: float) -> None:
    assert choose(np.array([1 - 2.0**-53]), np.array([[total, 0.0]])).tolist() == [0]
