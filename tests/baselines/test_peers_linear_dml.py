"""LinearDML: the effects of EconML, and a quadratic one recovered."""

from typing import Any

import numpy as np
import pytest

from realloc.base.simplex import tangent_basis
from tests.baselines.peers import PLACES, confounded, linear_dml


@pytest.mark.parametrize("degree", [1, 2])
def test_values_are_the_effects_of_econml(degree, econml):
    task, _ = confounded(300)
    response: Any = linear_dml(degree).fit_response(task)
    x, Q = task.window.x[:4], tangent_basis(3)
    values = response.values(x, np.tile(PLACES, (4, 1, 1)))
    for number, place in enumerate(PLACES):
        to = np.tile(place @ Q, (4, 1))
        assert (
            np.abs(values[:, number] - response.estimator.effect(x, T0=0 * to, T1=to)).max()
            < 1e-6
        )


def test_squares_recover_a_quadratic_effect_under_confounding(econml):
    task, p = confounded()
    response: Any = linear_dml(2).fit_response(task)
    ends = np.stack([p, np.tile(PLACES[0], (len(p), 1))], axis=1)
    found = np.diff(response.values(task.window.x, ends), axis=1)[:, 0]
    truth = 8 * np.square(p - PLACES[0]).sum(axis=1)
    assert np.corrcoef(found, truth)[0, 1] > 0.97
    assert abs(found.mean() / truth.mean() - 1) < 0.1
