"""The interval of a sum is not the sum of bounds."""

import numpy as np
import pandas as pd
import pytest

from realloc import LogError, total_gain


def answer(gain, sigma, common):
    return pd.DataFrame({"gain": gain, "gain_error": sigma, "common_error": common})


def test_errors_of_single_rows_average_out():
    found = total_gain(answer(np.full(400, 1.0), np.full(400, 2.0), np.zeros(400)))
    assert found.value == 400
    assert found.high - found.value == pytest.approx(1.96 * 2 * 20, rel=1e-3)
    assert found.n == 400


def test_what_gains_have_in_common_does_not():
    found = total_gain(answer(np.full(400, 1.0), np.full(400, 0.2), np.full(400, 0.2)))
    assert found.value - found.low == pytest.approx(1.96 * 0.2 * 400, rel=1e-3)


def test_rows_without_an_answer_bring_nothing():
    found = total_gain(answer([1.0, np.nan], [0.1, np.nan], [0.1, np.nan]))
    assert found.value == 1.0


def test_a_gain_that_the_long_layout_repeats_counts_once():
    once = answer([1.0, 2.0, 2.0], 0.5, 0.1)
    keys = pd.DataFrame({"unit": ["a", "b", "b"], "day": [1, 1, 2], "share": 0.5})
    long = pd.concat([keys, once], axis=1)
    assert total_gain(pd.concat([long, long])) == total_gain(once)


def test_another_table_is_refused_by_name():
    with pytest.raises(LogError, match="column 'gain_error' is missing"):
        total_gain(pd.DataFrame({"gain": [1.0]}))
