"""Uniform: the same share for every channel."""

import numpy as np

from realloc import read_logs
from realloc.baselines.uniform import Uniform
from tests.small import schema_of, window


def test_every_budget_is_split_evenly_and_no_support_is_claimed():
    decision = Uniform().fit(window()).decide(window(1))
    assert np.array_equal(decision.shares, np.full((len(window(1)), 3), 1 / 3))
    assert set(decision.reason) == {"moved"}
    assert (decision.support == 0).all()
    assert (decision.steps == 1).all()
    assert (decision.gain == 0).all()


def test_a_row_that_is_even_already_is_not_moved():
    frame = window(1).to_pandas()
    frame.loc[0, ["ads", "coupon", "rebate"]] = 1 / 3
    decision = Uniform().fit(window()).decide(read_logs(frame, schema_of(window())))
    assert (decision.reason == "no_gain").sum() == 1
    assert (decision.steps == 0).sum() == 1
    assert (decision.support == 1).sum() == 1
