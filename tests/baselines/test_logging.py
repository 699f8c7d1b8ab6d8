"""Logging: the old policy moves nothing."""

import numpy as np

from realloc.baselines.logging import Logging
from tests.small import window


def test_every_mix_is_kept():
    decision = Logging().fit(window()).decide(window(1))
    assert np.array_equal(decision.shares, window(1).shares)
    assert set(decision.reason) == {"no_gain"}
    assert (decision.steps == 0).all()
    assert (decision.gain == 0).all()
