import numpy as np
import pytest

from realloc.base.errors import ConfigError
from realloc.decide.portfolio.menu import Menu
from tests.decide.portfolio.test_portfolio import draw_menu


def test_wrong_menus_are_refused():
    good = draw_menu(0, n=2, J=2, R=1)
    with pytest.raises(ConfigError, match=r"Expected gain \(n, J\)"):
        Menu(good.gain[:1], good.use, good.possible)
    with pytest.raises(ConfigError, match="int64 uses"):
        Menu(good.gain, good.use.astype(float), good.possible)
    with pytest.raises(ConfigError, match="option 0 to be keep"):
        Menu(good.gain + 1, good.use, good.possible)
    with pytest.raises(
        ConfigError,
        match="finite gain of every possible option, got nan for option 1 of unit 1",
    ):
        Menu(np.array([[0.0, 1.0], [0.0, np.nan]]), good.use, np.ones((2, 2), bool))
    with pytest.raises(ConfigError, match="Count in a larger unit of money"):
        Menu(np.zeros((600, 1)), np.full((600, 1, 1), 2**53), np.ones((600, 1), bool))


def test_the_use_of_a_choice_is_exact():
    largest = 2**53 - 1
    menu = Menu(np.zeros((2, 1)), np.full((2, 1, 1), largest), np.ones((2, 1), bool))
    assert menu.used(np.zeros(2, int)).tolist() == [2 * largest]
