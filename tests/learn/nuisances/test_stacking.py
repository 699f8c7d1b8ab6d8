"""Stack weights: exact on the simplex, and a single model where that is better."""

import numpy as np
import pytest
from scipy.optimize import minimize

from realloc.learn.nuisances.stacking import choose, gram, simplex_weights


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("models", [2, 3, 4])
def test_weights_are_the_simplex_constrained_least_squares(seed, models):
    rng = np.random.default_rng(seed)
    common = rng.normal(size=50)
    residuals = common + rng.normal(size=(models, 50)) * rng.uniform(
        0.2, 2, size=(models, 1)
    )
    a = gram(residuals, np.ones(50))
    found = simplex_weights(a)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1)
    reference = minimize(
        lambda w: w @ a @ w / np.trace(a),
        np.full(models, 1 / models),
        bounds=[(0, 1)] * models,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1},
        method="SLSQP",
        options={"ftol": 1e-12},
    )
    assert found @ a @ found <= reference.fun * np.trace(a) * (1 + 1e-6)


def test_two_models_have_the_closed_form():
    a = np.array([[2.0, 0.5], [0.5, 1.0]])
    w = (1.0 - 0.5) / (2.0 + 1.0 - 2 * 0.5)
    assert simplex_weights(a) == pytest.approx([w, 1 - w])


def test_equal_perfect_and_useless_models_are_no_trouble():
    assert simplex_weights(np.zeros((2, 2))).sum() == pytest.approx(1)
    assert simplex_weights(np.ones((3, 3))).sum() == pytest.approx(1)
    assert simplex_weights(np.diag([0.0, 5.0])) == pytest.approx([1, 0])
    assert simplex_weights(np.array([[1.0, 2.0], [2.0, 9.0]])) == pytest.approx([1, 0])


def test_row_weights_and_channels_count():
    residuals = np.array([[[1.0, 2.0], [3.0, 0.0]]])
    assert gram(residuals, np.array([1.0, 10.0])) == pytest.approx(np.array([[95.0]]))


def test_models_that_err_differently_are_stacked():
    rng = np.random.default_rng(0)
    parts = [gram(rng.normal(size=(2, 500)), np.ones(500)) for _ in range(2)]
    found = choose(parts, ("a", "b"))
    assert found.name == "stack"
    assert found.weights == pytest.approx([0.5, 0.5], abs=0.1)


def test_a_single_model_is_taken_where_weights_do_not_carry_over():
    left, right = np.array([[1.0, 0.0], [0.0, 5.0]]), np.array([[1.0, 1.2], [1.2, 1.5]])
    unstable = [left * 1.0, right * 30.0]
    assert choose(unstable, ("a", "b")).name == "a"
    assert choose(unstable, ("a", "b")).weights == pytest.approx([1, 0])


def test_one_model_is_its_own_choice_under_its_own_name():
    assert choose([np.array([[3.0]])], ("ridge",)).name == "ridge"
    assert (
        choose([np.eye(2)], ("a", "b")).name == "stack"
    )  # one part: no honest comparison to be had
