"""RLearner: residuals on residuals, with slopes of the state alone."""

import numpy as np

from realloc.baselines.r_learner import RLearner
from tests.baselines.test_response import places, states, trained


def test_slopes_depend_on_the_state_and_not_on_the_shares():
    response = trained("r_learner")
    x = states("r_learner", 3)
    here = response.slopes(x, places(3))
    assert np.allclose(here, response.slopes(x, places(3, seed=1)), rtol=1e-9)
    assert np.ptp(here, axis=0).max() > 1e-3


def test_it_is_not_the_fit_without_nuisances():
    x = states("r_learner", 3)
    orthogonal = trained("r_learner").slopes(x, places(3))
    assert not np.allclose(orthogonal, trained("context_only").slopes(x, places(3)))


def test_residuals_get_more_decay_by_default():
    assert RLearner().settings.weight_decay == 1.5
