import numpy as np
import pytest

from realloc import ConfigError
from realloc.evaluate.bootstrap import Bootstrap, interval


def test_every_draw_has_as_many_units_as_there_are():
    drawn = np.concatenate(list(Bootstrap(draws=30).weights(7, 7)))
    assert drawn.shape == (30, 7)
    assert (drawn.sum(axis=1) == 7).all()
    assert drawn.std() > 0.5


def test_draws_are_the_same_however_many_are_held_at_once():
    whole = np.concatenate(list(Bootstrap(draws=40).weights(9, 9)))
    narrow = np.concatenate(list(Bootstrap(draws=40).weights(9, 1 << 19)))
    assert np.array_equal(whole, narrow)


def test_the_interval_is_the_middle_of_what_is_finite():
    low, high = interval(np.append(np.arange(1.0, 40.0), np.nan))
    assert np.allclose(
        (low, high), (1.0, 39.0)
    )  # the first and the last of 39 leave 1/40 outside each
    assert np.isnan(interval(np.array([1.0, np.nan, np.nan]))).all()
    assert np.isnan(interval(np.empty(0))).all()


def test_too_few_draws_are_refused():
    with pytest.raises(ConfigError, match="Expected at least 20 bootstrap draws"):
        Bootstrap(draws=5)
