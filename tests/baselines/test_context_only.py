"""ContextOnly: slopes of the state alone."""

import numpy as np

from tests.baselines.test_response import places, states, trained


def test_slopes_depend_on_the_state_and_not_on_the_shares():
    response = trained("context_only")
    x = states("context_only", 3)
    here = response.slopes(x, places(3))
    there = response.slopes(x, places(3, seed=1))
    assert np.allclose(here, there, rtol=1e-9)
    assert np.ptp(here, axis=0).max() > 1e-3
