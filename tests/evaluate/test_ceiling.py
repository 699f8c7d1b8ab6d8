import numpy as np
import pytest

from realloc import ConfigError, LogError
from realloc.evaluate.bootstrap import Bootstrap
from realloc.evaluate.ceiling import effect_sd, noise_ceiling


@pytest.mark.parametrize(("effect", "noise"), [(0.018, 0.34), (1.0, 1.0), (3.0, 1.0)])
def test_the_ceiling_of_normal_effects_is_the_known_one(effect, noise):
    found = noise_ceiling(effect, noise, events=2000, draws=300)
    r = effect / np.hypot(effect, noise)
    assert abs(found.value - 6 / np.pi * np.arcsin(r / 2)) < 4 * error_of(found)
    assert error_of(found) < 0.003


def error_of(found):
    """The Monte Carlo's standard error."""
    return (found.high - found.low) / 2 / 1.959964


def test_the_papers_ceiling():
    found = noise_ceiling(0.018, 0.34, events=10_000, draws=60)
    assert abs(found.value - 0.050) < 0.004


def test_the_monte_carlo_error_is_how_far_repeats_stray():
    repeats = [
        noise_ceiling(1.0, 3.0, events=200, draws=25, seed=seed) for seed in range(60)
    ]
    values = np.array([found.value for found in repeats])
    errors = np.array([error_of(found) for found in repeats])
    assert np.isclose(values.std(ddof=1), errors.mean(), rtol=4 / np.sqrt(2 * 59))


def test_more_noise_lowers_the_ceiling_and_none_leaves_it_at_one():
    values = [
        noise_ceiling(1.0, noise, events=500, draws=20).value
        for noise in (0.0, 0.5, 2.0, 100.0)
    ]
    assert values[0] == 1
    assert values == sorted(values, reverse=True)
    assert values[-1] < 0.05
    assert abs(noise_ceiling(0.0, 1.0, events=500, draws=50).value) < 0.05


@pytest.mark.parametrize(
    ("effect", "noise", "message"),
    [
        (-1.0, 1.0, "Expected a standard deviation of the effect of at least 0, got -1.0"),
        (
            1.0,
            float("nan"),
            "Expected a standard deviation of the noise of at least 0, got nan",
        ),
    ],
)
def test_sizes_that_are_none_are_refused(effect, noise, message):
    with pytest.raises((ConfigError, LogError), match=message):
        noise_ceiling(effect, noise)


def test_too_small_a_monte_carlo_is_refused():
    with pytest.raises(
        ConfigError, match="Expected at least 3 events and 2 draws, got 2 and 200"
    ):
        noise_ceiling(1.0, 1.0, events=2)


def responses(effect, seed, n=4000):
    rng = np.random.default_rng(seed)
    units = np.repeat(np.arange(n // 4), 4)
    return rng.normal(0, 1, n) + rng.normal(0, effect, n), units, rng.normal(0, 1, n), units


def test_the_size_of_effects_is_found_with_its_interval():
    hits = 0
    for seed in range(40):
        found = effect_sd(*responses(0.6, seed), Bootstrap(draws=200, seed=seed))
        hits += found.low <= 0.6 <= found.high
    assert hits >= 34  # 38 expected, standard deviation 1.4
    assert abs(effect_sd(*responses(0.6, 0, n=40_000)).value - 0.6) < 0.05


def test_an_effect_that_may_be_none_has_an_interval_from_zero():
    found = [responses(0.0, seed) for seed in range(20)]
    positive = [data for data in found if data[0].var() > data[2].var()]
    assert 3 <= len(positive) <= 17
    lows = [effect_sd(*data, Bootstrap(draws=200)).low for data in positive]
    assert np.mean(np.array(lows) == 0) >= 0.8


def test_effects_that_drown_in_noise_are_refused():
    moved, units, placebo, others = responses(0.6, 0)
    with pytest.raises(
        LogError,
        match="Expected responses of moved events to vary more than those of placebos, got",
    ):
        effect_sd(placebo, others, moved, units)
    with pytest.raises(
        LogError, match="Expected two or more finite responses of placebo events, got 0"
    ):
        effect_sd(moved, units, placebo[:0], others[:0])


def test_one_unit_gives_a_size_without_an_interval():
    moved, units, placebo, others = responses(0.6, 0)
    found = effect_sd(moved, units * 0, placebo, others)
    assert found.value > 0
    assert np.isnan([found.low, found.high]).all()
