"""Jobs: no fold on two sides, every fold predicted, every repeat stopped by another fold."""

import numpy as np
import pytest

from realloc.learn.nuisances.jobs import plan_jobs
from realloc.learn.nuisances.sample import check_sample
from tests.learn.nuisances.synthetic import draw


@pytest.mark.parametrize(
    ("folds", "repeats", "jobs"), [(2, 3, 2), (3, 2, 6), (3, 5, 6), (5, 1, 5), (5, 2, 10)]
)
def test_sides_are_disjoint_and_every_fold_is_predicted(folds, repeats, jobs):
    sample = check_sample(*draw(n=400, folds=folds).inputs, None)
    plan = plan_jobs(sample, repeats, 0)
    assert len(plan) == jobs
    for job in plan:
        assert np.array_equal(
            np.sort(np.r_[job.train, job.held_out, job.away]), np.arange(400)
        )
        assert set(sample.fold[job.away]) == {job.fold}
        assert job.fold not in sample.fold[np.r_[job.train, job.held_out]]
        if folds > 2:
            assert not set(sample.fold[job.train]) & set(sample.fold[job.held_out])
    stops = {(job.fold, tuple(job.held_out)) for job in plan}
    assert len(stops) == jobs
