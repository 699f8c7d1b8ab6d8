"""CausalForestDML: it finds the way up."""

from dataclasses import replace
from typing import Any

import numpy as np

from realloc.baselines import CausalForestDMLPolicy
from tests.baselines.peers import QUICK, confounded


def test_a_forest_finds_the_way_up(econml):
    task, _ = confounded(600)
    task = replace(
        task,
        window=replace(
            task.window, outcome=task.window.x[:, 0] + 5 * task.window.shares[:, 1]
        ),
    )
    response: Any = CausalForestDMLPolicy(trees=20, **QUICK).fit_response(task)
    slopes = response.slopes(task.window.x, task.window.shares)
    assert np.mean(slopes.argmax(axis=1) == 1) > 0.95
