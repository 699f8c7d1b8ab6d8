"""Boosting: adds to its start where there is something, and nothing where there is not."""

import numpy as np
import pytest

from realloc.learn.nuisances.boosting import Trees, fit_boosting
from realloc.learn.nuisances.jobs import plan_jobs
from realloc.learn.nuisances.ridge import fit_starts
from realloc.learn.nuisances.sample import check_sample
from tests.learn.nuisances.synthetic import draw, quick, r2


def prepare(kind):
    rows = draw(n=2000, kind=kind)
    sample = check_sample(*rows.inputs, None)
    return rows, sample, plan_jobs(sample, 1, 0)[:1]


def test_steps_that_ridge_cannot_follow_are_found():
    rows, sample, jobs = prepare("step")
    start = fit_starts(sample, jobs[:1], "real")[0]
    found = fit_boosting(sample, jobs, [start], quick(), 0, lambda done, total: None)[0]
    away = jobs[0].away
    assert (
        r2(rows.m[away], found.outcome)
        > r2(rows.m[away], start.link.mean(start.f)[away]) + 0.1
    )
    assert r2(rows.m[jobs[0].held_out], found.held_outcome) > 0.9


def test_a_start_without_error_is_kept_as_it_is():
    _, sample, jobs = prepare("linear")
    trees = Trees(sample, jobs[0], quick(), 0)
    assert np.array_equal(
        trees.boost_from(sample.shares.copy(), sample.shares), sample.shares
    )


def test_the_log_scale_keeps_the_total():
    rows, sample, jobs = prepare("positive")
    trees = Trees(sample, jobs[0], quick(), 0)
    z = rows.outcome / 100
    means = trees.boost_log(z, np.zeros(2000), "tweedie")
    assert means.min() > 0
    assert means[jobs[0].away].mean() == pytest.approx(
        z[np.r_[jobs[0].train, jobs[0].held_out]].mean(), rel=0.1
    )
