"""Regressors of scikit-learn as nuisance models: they find what ridge cannot, and stay in range."""

from dataclasses import replace

import numpy as np
import pytest

from realloc import ConfigError, ReAlloc, load
from realloc.learn.nuisances.crossfit import cross_fit
from tests.learn.nuisances.synthetic import draw, quick, r2
from tests.small import CONFIG, today, window

TREES = "sklearn.ensemble.HistGradientBoostingRegressor(max_iter=60)"
NEIGHBORS = "sklearn.neighbors.KNeighborsRegressor(n_neighbors=30)"


def test_steps_that_ridge_cannot_follow_are_found():
    rows = draw(n=2000, kind="step")
    ridge = cross_fit(*rows.inputs, quick(models=("ridge",)))
    both = cross_fit(*rows.inputs, quick(models=("ridge", TREES)))
    assert r2(rows.m, both.outcome) > r2(rows.m, ridge.outcome) + 0.1
    assert np.allclose(both.shares.sum(axis=1), 1)
    assert both.diagnostics.outcome.weights[TREES] > 0.5


def test_the_same_seed_gives_the_same_bits():
    rows = draw(n=600)
    config = quick(models=("sklearn.ensemble.ExtraTreesRegressor(n_estimators=5)",))
    one, other, third = (
        cross_fit(*rows.inputs, config, seed).outcome for seed in (1, 1, 2)
    )
    assert np.array_equal(one, other)
    assert not np.array_equal(one, third)


@pytest.mark.parametrize("outcome", ["count", "positive"])
def test_means_of_outcomes_that_are_never_negative_are_above_zero(outcome):
    rows = draw(n=800, kind=outcome)
    found = cross_fit(*rows.inputs, quick(models=(NEIGHBORS,), outcome=outcome))
    assert found.outcome.min() > 0
    assert r2(rows.m, found.outcome) > 0.5


def test_weights_count_and_are_refused_where_the_regressor_takes_none():
    rows = draw(n=600, kind="step")
    weights = np.where(rows.x[:, 0] > 0.3, 10.0, 0.1)
    config = quick(models=(TREES,))
    even = cross_fit(*rows.inputs, config).outcome
    assert not np.allclose(cross_fit(*rows.inputs, config, weights=weights).outcome, even)
    with pytest.raises(ConfigError, match="KNeighborsRegressor.*does not"):
        cross_fit(*rows.inputs, quick(models=(NEIGHBORS,)), weights=weights)


def test_a_model_that_learned_with_one_is_saved_with_its_name(tmp_path):
    config = replace(CONFIG, nuisances=quick(folds=3, models=("ridge", NEIGHBORS)))
    model = ReAlloc(config).fit(window())
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert again.config.nuisances.models == ("ridge", NEIGHBORS)
    assert np.array_equal(again.field(today()), model.field(today()))
