import numpy as np
import pytest

from realloc.learn.support.conformal import ConformalRanks


@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.parametrize("n", [30, 99, 500])
def test_a_fresh_value_exceeds_the_border_with_at_most_the_nominal_probability(n, level):
    """Exact for exchangeable values: the border is the ceil(level (n + 1))-th of n, so coverage
    is that part of n + 1.
    """
    random = np.random.default_rng(0)
    covered = [
        random.standard_normal()
        <= ConformalRanks(np.sort(random.standard_normal(n))).at(level)
        for _ in range(4000)
    ]
    exact = np.ceil(level * (n + 1)) / (n + 1)
    assert exact >= level
    assert abs(np.mean(covered) - exact) < 4 * np.sqrt(exact * (1 - exact) / 4000)


def test_a_level_that_too_few_values_can_speak_for_lets_nothing_in():
    few = ConformalRanks(np.arange(1.0, 51.0))
    assert few.at(0.99) == 0  # the largest of 50 would cover only 98 %
    assert few.at(0.98) == 50
    assert ConformalRanks(np.empty(0)).at(0.5) == 0


def test_scores_fall_with_distance_and_stay_between_0_and_1():
    ranks = ConformalRanks(np.sort(np.random.default_rng(0).exponential(size=99)))
    found = ranks.score(np.linspace(0, 50, 1000))
    assert (np.diff(found) <= 0).all()
    assert found[0] == 1
    assert found[-1] == 1 / 100


def test_scores_of_fresh_values_are_never_too_often_small():
    random = np.random.default_rng(1)
    scores = np.array(
        [
            ConformalRanks(np.sort(random.random(99))).score(random.random(1))[0]
            for _ in range(4000)
        ]
    )
    for part in (0.05, 0.2, 0.5):
        assert abs((scores <= part).mean() - part) < 4 * np.sqrt(part * (1 - part) / 4000)


def test_border_and_score_agree():
    ranks = ConformalRanks(np.sort(np.random.default_rng(2).random(200)))
    limit = ranks.at(0.95)
    assert ranks.score(np.array([limit]))[0] > 0.05
    assert ranks.score(np.array([limit + 1e-9]))[0] <= 0.05


def test_equal_values_count_as_at_least_as_far():
    assert ConformalRanks(np.zeros(9)).score(np.array([0.0, 1e-12])).tolist() == [1.0, 0.1]
