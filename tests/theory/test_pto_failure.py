"""Proposition 1: a perfect factual fit promises nothing about decisions."""

import numpy as np
import pytest

from realloc.base.simplex import project_tangent

GRID = np.linspace(0, 1, 1001)


@pytest.mark.parametrize("cost", [0.5, 3.0])
@pytest.mark.parametrize("promise", [0.01, 10.0])
def test_zero_factual_risk_leaves_a_constant_regret(cost, promise):
    logged = np.zeros(1000)

    def truth(p):
        return -cost * p

    def predicted(p):
        return promise * p

    assert np.square(predicted(logged) - truth(logged)).mean() == 0
    chosen = GRID[predicted(GRID).argmax()]
    assert truth(GRID).max() - truth(chosen) == cost


def test_the_fit_converges_while_the_field_diverges():
    errors, slopes = [], []
    for n in (10, 100, 1000, 10_000):
        t = (np.arange(200_000) + 0.5) / 200_000  # midpoints, at least 125 in each wave
        errors.append(float(np.mean(np.square(np.sin(n * t)) / n)))
        slope = np.sqrt(n) * np.cos(n * GRID)  # includes 0, where it is largest
        field = project_tangent(
            np.stack([np.zeros_like(slope), slope], axis=-1)
        )  # ∇_p of a function of p₂
        slopes.append(float(np.linalg.norm(field, axis=-1).max()))
        assert errors[-1] == pytest.approx((0.5 - np.sin(2 * n) / (4 * n)) / n, rel=1e-3)
        assert errors[-1] <= 1 / n
        assert slopes[-1] == pytest.approx(np.sqrt(n / 2))
    assert errors[-1] < 1e-2 * errors[0]
    assert slopes[-1] > 30 * slopes[0]


def decide_by_fit(widest: float, seed: int) -> tuple[float, float]:
    """Fit a polynomial to −p + noise logged on [0, widest], go where it is largest: factual risk,
    regret.
    """
    random = np.random.default_rng(seed)
    logged = random.uniform(0, widest, 2000)
    outcome = -logged + 0.05 * random.standard_normal(2000)
    fit = np.polynomial.Polynomial.fit(logged, outcome, 5, domain=[0, widest])
    return float(np.square(fit(logged) + logged).mean()), float(GRID[fit(GRID).argmax()])


def test_a_fitted_flexible_model_is_accurate_on_the_log_and_wrong_about_half_of_the_decisions():
    found = np.array([decide_by_fit(0.1, seed) for seed in range(40)])
    # 6 coefficients, noise variance 0.0025, 2000 rows: the factual risk has mean 7.5e-6 = 0.003 of
    # the noise.
    assert found[:, 0].mean() == pytest.approx(6 * 0.0025 / 2000, rel=0.3)
    # Its sign beyond the log is a coin's: 40 tosses.
    assert np.mean(found[:, 1] > 0.5) == pytest.approx(0.5, abs=4 * 0.5 / np.sqrt(40))


def test_the_same_model_decides_well_where_the_log_covers_what_it_may_choose():
    found = np.array([decide_by_fit(1.0, seed) for seed in range(40)])
    assert found[:, 1].max() < 0.05
