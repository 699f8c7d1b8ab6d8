import numpy as np
import pytest

from realloc.base.errors import ConfigError
from realloc.decide.portfolio.menu import Menu


def test_uses_that_cannot_be_summed_exactly_are_refused():
    with pytest.raises(ConfigError, match="Count in a larger unit of money"):
        Menu(np.zeros((600, 1)), np.full((600, 1, 1), 2**53), np.ones((600, 1), bool))


def test_the_use_of_a_choice_is_exact():
    largest = 2**53 - 1
    menu = Menu(np.zeros((2, 1)), np.full((2, 1, 1), largest), np.ones((2, 1), bool))
    assert menu.used(np.zeros(2, int)).tolist() == [2 * largest]
