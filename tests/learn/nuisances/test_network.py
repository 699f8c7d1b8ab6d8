"""The network: what joins its members is the clock alone."""

import numpy as np
import pytest

from realloc.learn.nuisances.jobs import plan_jobs
from realloc.learn.nuisances.network import fit_networks
from realloc.learn.nuisances.ridge import fit_starts
from realloc.learn.nuisances.sample import check_sample
from tests.learn.nuisances.synthetic import draw, quick, r2


def fit(rows, config, kind="real", jobs=slice(None)):
    sample = check_sample(*rows.inputs, weights=None)
    plan = plan_jobs(sample, 1, 0)[jobs]
    steps = []
    starts = fit_starts(sample, plan, kind)
    found = fit_networks(
        sample, plan, starts, config, 0, lambda done, total: steps.append((done, total))
    )
    return plan, starts, found, steps


def test_it_learns_what_its_start_cannot():
    rows = draw(n=3000)
    plan, starts, found, steps = fit(rows, quick(epochs=10, width=32), jobs=slice(0, 1))
    job = plan[0]
    start = starts[0].link.mean(starts[0].f)[job.away]
    assert r2(rows.m[job.away], found[0].outcome) > r2(rows.m[job.away], start) + 0.02
    assert steps == [(i, 10) for i in range(1, 11)]


def test_all_epochs_run_so_that_no_member_waits_for_another():
    config = quick(epochs=12, rate=0.5)  # far too fast: all members are stale soon
    assert len(fit(draw(n=300), config)[3]) == 12


@pytest.mark.parametrize("rate", [1e-2, 1e6])
def test_predictions_are_finite_even_where_training_diverges(rate):
    for found in fit(draw(n=300), quick(epochs=2, rate=rate))[2]:
        assert np.isfinite(found.outcome).all()
        assert found.shares.sum(axis=1) == pytest.approx(
            np.ones(len(found.shares)), abs=1e-12
        )


def test_folds_of_different_size_are_predicted_whole():
    rows = draw(n=500)
    rows.folds[:] = np.repeat(np.arange(5), [40, 60, 100, 120, 180])
    plan, _, found, _ = fit(rows, quick(epochs=2))
    assert [len(prediction.outcome) for prediction in found] == [40, 60, 100, 120, 180]
    assert [len(prediction.held_outcome) for prediction in found] == [
        len(job.held_out) for job in plan
    ]
