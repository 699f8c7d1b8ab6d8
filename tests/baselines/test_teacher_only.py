"""TeacherOnly: one teacher, deployed directly."""

from functools import cache

import numpy as np

from realloc.baselines.teacher_only import TeacherOnly, TeacherResponse
from tests.baselines.test_response import places
from tests.small import CONFIG, window


@cache
def fitted():
    return TeacherOnly(config=CONFIG, surfaces=("kernel",)).fit(window())


def deployed() -> TeacherResponse:
    response = fitted().response
    assert isinstance(response, TeacherResponse)
    return response


def test_it_is_the_papers_teacher_unless_other_surfaces_are_asked_for():
    plain = TeacherOnly(config=CONFIG)
    assert plain.config.teacher.surfaces == ("network",)
    assert plain.config.teacher.members == 1
    assert plain.config.support == CONFIG.support
    assert plain.start() is None
    assert len(deployed().teacher.surfaces) == 1


def test_slopes_are_the_derivative_of_values_along_moves():
    response = deployed()
    x = fitted().encoder.encode(window()).values[:6]
    start = places(3)
    move = 0.02 * np.array([1.0, -1.0, 0.0])
    values = response.values(x, np.stack([start + move, start - move], axis=1))
    slopes = response.slopes(x, start)
    assert np.allclose(slopes.sum(axis=1), 0, atol=1e-4)
    assert np.allclose(
        (values[:, 0] - values[:, 1]) / 2, slopes @ move, rtol=0.05, atol=1e-3
    )
    assert np.abs(slopes @ move).max() > 1e-3
