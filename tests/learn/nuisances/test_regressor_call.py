"""Calls of scikit-learn's regressors: read without running anything, made only if they are one."""

import pytest

from realloc import ConfigError
from realloc.learn.nuisances.config import NuisanceConfig
from realloc.learn.nuisances.regressor_call import parse_regressor

FOREST = "sklearn.ensemble.ExtraTreesRegressor(min_samples_leaf=20, n_estimators=10)"


def test_a_call_is_read_and_made_with_the_seed():
    call = parse_regressor(FOREST)
    assert (call.module, call.name) == ("sklearn.ensemble", "ExtraTreesRegressor")
    made = call.make(seed=3)
    assert (made.min_samples_leaf, made.random_state) == (20, 3)
    own = parse_regressor("sklearn.ensemble.ExtraTreesRegressor(random_state=7)")
    assert own.make(seed=3).random_state == 7
    assert parse_regressor("sklearn.linear_model.HuberRegressor").make(0).epsilon == 1.35


@pytest.mark.parametrize(
    "text",
    [
        "sklearn.ensemble.ExtraTreesRegressor(__import__('os').system('true'))",
        "sklearn.ensemble.ExtraTreesRegressor(max_depth=__import__('os').getpid())",
        "sklearn.ensemble.ExtraTreesRegressor(20)",
        "sklearn.ensemble.ExtraTreesRegressor(**{'a': 1})",
        "sklearn.ensemble.",
        "sklearn.svm.SVR(C=1); 2",
        "sklearn.svm().SVR",
        "sklearn.__builtins__.eval",
        "sklearn.SVR",
    ],
)
def test_anything_but_a_class_with_literal_arguments_is_refused(text):
    with pytest.raises(ConfigError, match="Expected a call such as"):
        NuisanceConfig(models=("ridge", text))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sklearn.svm.SVC()", "Expected a regressor of scikit-learn.*SVC' is none"),
        ("sklearn.svm.Nothing()", "is none"),
        ("sklearn.nothing.SVR()", "is none"),
        ("sklearn.utils.Bunch(a=1)", "is none"),
        ("sklearn.svm.SVR(colour='red')", "unexpected keyword argument 'colour'"),
    ],
)
def test_what_is_no_regressor_is_refused_when_it_is_made(text, message):
    with pytest.raises(ConfigError, match=message):
        parse_regressor(text).make(0)


def test_a_misspelt_model_still_gets_the_nearest_name():
    with pytest.raises(ConfigError, match=r"Unknown model 'rigde'.*Did you mean 'ridge'"):
        NuisanceConfig(models=("rigde",))
