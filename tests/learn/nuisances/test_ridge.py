"""Ridge: least squares where rows are many, products where they help, nothing wild far away."""

import numpy as np
import pytest

from realloc.learn.nuisances.jobs import plan_jobs
from realloc.learn.nuisances.ridge import expansions, fit_smooth
from realloc.learn.nuisances.sample import check_sample, to_simplex
from tests.learn.nuisances.synthetic import draw, r2


def first_job(rows, weights=None):
    sample = check_sample(*rows.inputs, weights=weights)
    return sample, plan_jobs(sample, 1, 0)[0]


def test_a_line_is_found_as_by_least_squares():
    rows = draw(n=2000, kind="linear")
    weights = np.random.default_rng(0).uniform(0.1, 2, 2000)
    sample, job = first_job(rows, weights)
    found = fit_smooth(sample, [job], rows.outcome[:, None], [slice(0, 1)])[0][:, 0]
    design = np.column_stack([np.ones(2000), rows.x.astype(float)])
    root = np.sqrt(weights[job.train])
    line = np.linalg.lstsq(
        design[job.train] * root[:, None], rows.outcome[job.train] * root, rcond=None
    )[0]
    assert (
        np.abs(found - design @ line)[job.away].mean() < 0.1
    )  # products, if taken, add only noise
    assert r2(rows.m[job.away], found[job.away]) > 0.99


def test_a_product_of_features_is_found():
    rows = draw(n=2000)
    target = (rows.x[:, 1] * rows.x[:, 2]).astype(float)
    sample, job = first_job(rows)
    found = fit_smooth(sample, [job], target[:, None], [slice(0, 1)])[0][:, 0]
    assert r2(target[job.away], found[job.away]) > 0.98


def test_each_group_of_targets_is_chosen_for_itself():
    rows = draw(n=1000)
    sample, job = first_job(rows)
    targets = np.column_stack([rows.x[:, 1] * rows.x[:, 2], rows.shares])
    both = fit_smooth(sample, [job], targets, [slice(0, 1), slice(1, None)])[0]
    assert both[:, 1:] == pytest.approx(
        fit_smooth(sample, [job], targets[:, 1:], [slice(0, 3)])[0], abs=1e-9
    )
    assert both[:, 1:].sum(axis=1) == pytest.approx(
        np.ones(1000)
    )  # ridge keeps the sum by itself


def test_a_constant_and_a_doubled_feature_are_no_trouble():
    rows = draw(n=1000, kind="linear")
    x = np.column_stack([rows.x, rows.x[:, 0], np.full(1000, 3.0)])
    sample = check_sample(x, rows.shares, rows.outcome, rows.folds, None)
    job = plan_jobs(sample, 1, 0)[0]
    found = fit_smooth(sample, [job], rows.outcome[:, None], [slice(0, 1)])[0][:, 0]
    assert r2(rows.m[job.away], found[job.away]) > 0.97


def test_products_need_rows():
    assert [pairs.shape[1] for pairs in expansions(10, 12_000)] == [0, 10, 55]
    assert [pairs.shape[1] for pairs in expansions(10, 300)] == [0, 10]
    assert [pairs.shape[1] for pairs in expansions(10, 60)] == [0]
    assert [pairs.shape[1] for pairs in expansions(200, 10**6)] == [0, 200]


def test_rows_off_the_simplex_come_back_to_it():
    found = to_simplex(np.array([[-0.1, 0.55, 0.55], [-1.0, -1.0, -1.0], [0.2, 0.3, 0.5]]))
    assert found == pytest.approx(np.array([[0, 0.5, 0.5], [1 / 3] * 3, [0.2, 0.3, 0.5]]))
