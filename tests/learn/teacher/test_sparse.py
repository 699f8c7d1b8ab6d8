"""The sparse surface: what it finds, what it leaves out, and what it may cost."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from realloc.base.simplex import project_tangent
from realloc.learn.teacher import sparse
from realloc.learn.teacher.sparse import (
    choose_columns,
    contrasts,
    fit_sparse,
    products,
    relevant,
    sum_groups,
)
from tests.learn.teacher.simulated import known, sample_of, simulate


def bent(n=3000, noise=0.3, seed=0):
    """y = 3 sin(x0) + 2 x1 (p0 − p1) + (4 + 3 x2)(p0 − e0)(p1 − e1) …: slopes and curvature, each
    steered by one column.
    """
    simulated = simulate(n=n, noise=noise, seed=seed)
    p, x = simulated.window.shares, simulated.window.x
    more = (8 + 6 * x[:, 2]) * p[:, 0] * p[:, 1]
    field = simulated.field.copy()
    field[:, 0] += (8 + 6 * x[:, 2]) * p[:, 1]
    field[:, 1] += (8 + 6 * x[:, 2]) * p[:, 0]
    e = simulated.nuisances.shares
    expected = (
        (8 + 6 * x[:, 2]) * e[:, 0] * e[:, 1] * (1 - 1 / 7)
    )  # Dirichlet of mean e, concentration 6
    window = replace(simulated.window, outcome=simulated.window.outcome + more)
    return replace(
        simulated,
        window=window,
        nuisances=known(simulated.nuisances.outcome + expected, e),
        field=field,
    )


def saturating(n=4000):
    """y = 3 sin(x0) − 4 (1 − p0)⁴ …: no parabola follows it."""
    simulated = simulate(n=n, noise=0.1)
    p = simulated.window.shares[:, 0]
    outcome = simulated.window.outcome - 4 * (1 - p) ** 4
    field = simulated.field.copy()
    field[:, 0] += 16 * (1 - p) ** 3
    rows = np.column_stack(
        [np.ones(n), simulated.nuisances.shares, simulated.nuisances.shares**2]
    )
    expected = rows @ np.linalg.lstsq(rows, -4 * (1 - p) ** 4, rcond=None)[0]
    nuisances = known(simulated.nuisances.outcome + expected, simulated.nuisances.shares)
    return replace(
        simulated,
        window=replace(simulated.window, outcome=outcome),
        nuisances=nuisances,
        field=field,
    )


def field_of(simulated, **options):
    sample = sample_of(simulated)
    fit = fit_sparse(sample, 1, seed=0, **options)
    return project_tangent(
        sample.scaling.field(fit.surface.slopes(sample.x, sample.z))[0].double().numpy()
    )


@pytest.mark.parametrize("channels", [2, 3, 5])
def test_slopes_that_change_with_the_state_are_found(channels):
    simulated = simulate(n=2000, channels=channels)
    assert (
        np.corrcoef(field_of(simulated).ravel(), project_tangent(simulated.field).ravel())[
            0, 1
        ]
        > 0.97
    )


def test_curvature_is_found_and_straight_slopes_alone_would_miss_it(monkeypatch):
    simulated = bent()
    truth = project_tangent(simulated.field).ravel()
    found = np.corrcoef(field_of(simulated).ravel(), truth)[0, 1]
    monkeypatch.setattr(
        sparse, "products", lambda channels: np.empty((0, 2), dtype=np.int64)
    )
    straight = np.corrcoef(field_of(simulated).ravel(), truth)[0, 1]
    assert found > 0.95
    assert straight < found - 0.05


def test_a_response_that_saturates_needs_the_cubes(monkeypatch):
    simulated = saturating()
    truth = project_tangent(simulated.field)

    def error():
        return np.square(field_of(simulated) - truth).mean() / np.square(truth).mean()

    found = error()
    kept = sparse.curves
    monkeypatch.setattr(
        sparse,
        "curves",
        lambda z, pairs: kept(z, pairs) * np.repeat([1.0, 0.0], [len(pairs), z.shape[1]]),
    )
    assert found < 0.03
    assert error() > 2 * found


def test_columns_that_steer_nothing_are_switched_off():
    simulated = simulate(n=2000)
    noise = np.random.default_rng(1).normal(size=(2000, 20)).astype(np.float32)
    window = replace(simulated.window, x=np.hstack([simulated.window.x, noise]))
    wider = replace(simulated, window=window)
    with_noise, without = field_of(wider), field_of(simulated)
    truth = project_tangent(simulated.field)
    error = lambda field: np.square(field - truth).mean()  # noqa: E731
    assert error(with_noise) < 4 * error(without)  # 20 columns of noise among 3
    assert error(with_noise) < 0.05 * np.square(truth).mean()


def test_pure_noise_gives_almost_nothing():
    simulated = simulate(n=1000)
    y = np.random.default_rng(5).normal(size=1000)
    nothing = replace(
        simulated,
        window=replace(simulated.window, outcome=y),
        nuisances=known(np.zeros(1000), simulated.nuisances.shares),
    )
    sample = sample_of(nothing)
    fit = fit_sparse(sample, 1, seed=0)
    assert float(fit.contrast.square().mean()) < 0.02 * float(sample.y.square().mean())


def test_slopes_are_the_gradient_of_the_values():
    sample = sample_of(bent(n=400))
    surface = fit_sparse(sample, 3, seed=0).surface
    step = 0.01
    ends = sample.z[:, None] + step * torch.cat([torch.eye(3), -torch.eye(3)])
    values = surface.values(sample.x, ends)
    slopes = (values[..., :3] - values[..., 3:]) / (2 * step)
    assert surface.members == 3
    assert torch.allclose(slopes, surface.slopes(sample.x, sample.z), atol=2e-3, rtol=1e-3)


def test_a_contrast_comes_from_rows_that_left_the_unit_out():
    """Another outcome in one fold changes the contrasts of all folds but its own."""
    simulated = simulate(n=600)
    outcome = simulated.window.outcome.copy()
    own = simulated.window.folds == 0
    outcome[own] += np.random.default_rng(2).normal(size=own.sum())
    sample = sample_of(simulated)
    changed = replace(
        sample,
        y=torch.from_numpy(
            (outcome - simulated.window.outcome) / sample.scaling.outcome
        ).float()
        + sample.y,
    )
    one, other = (
        fit_sparse(each, 1, seed=0).contrast.numpy() for each in (sample, changed)
    )
    assert np.allclose(one[own], other[own], atol=1e-5)
    assert not np.allclose(one[~own], other[~own], atol=1e-3)


def test_members_are_spread_around_the_solution_of_all_rows():
    sample = sample_of(simulate(n=600))
    alone: Any = fit_sparse(sample, 1, seed=1).surface
    many: Any = fit_sparse(sample, 6, seed=1).surface
    assert torch.allclose(many.slope.mean(0), alone.slope[0], atol=1e-4)
    assert float(many.slope.std(0).max()) > 0


def test_more_columns_than_wanted_are_chosen_by_what_they_explain(monkeypatch):
    monkeypatch.setattr(sparse, "MOST", 24)
    simulated = simulate(n=2000)
    noise = np.random.default_rng(1).normal(size=(2000, 30)).astype(np.float32)
    wider = replace(
        simulated,
        window=replace(simulated.window, x=np.hstack([noise, simulated.window.x])),
    )
    sample = sample_of(wider)
    wide = np.column_stack([np.ones(2000), sample.x.double().numpy()])
    parts = contrasts(sample, products(3), wide)
    columns = choose_columns(wide, parts, (sample.y - sample.m).double().numpy(), 3)
    assert len(columns.state) <= 24
    assert {0, 32} <= set(columns.state)  # the constant, and x1 behind 30 columns of noise
    assert (
        np.corrcoef(field_of(wider).ravel(), project_tangent(simulated.field).ravel())[0, 1]
        > 0.97
    )


def test_many_channels_bend_each_by_itself():
    assert products(3).tolist() == [[0, 0], [0, 1], [0, 2], [1, 1], [1, 2], [2, 2]]
    assert products(12).tolist() == [[k, k] for k in range(12)]
    simulated = simulate(n=300, channels=12)
    assert np.isfinite(field_of(simulated)).all()


def test_rows_without_weight_say_nothing():
    simulated = simulate(n=600)
    half = np.repeat([1.0, 0.0], 300)
    outcome = np.where(half > 0, simulated.window.outcome, 1e3)
    sample = sample_of(
        replace(simulated, window=replace(simulated.window, weights=2 * half))
    )
    shouting = replace(
        sample,
        y=torch.from_numpy(
            (outcome - outcome[:300].mean()) / sample.scaling.outcome
        ).float(),
    )
    quiet = replace(
        sample, y=torch.where(torch.from_numpy(half > 0), shouting.y, torch.zeros(600))
    )
    one: Any = fit_sparse(shouting, 1, seed=0).surface
    other: Any = fit_sparse(quiet, 1, seed=0).surface
    assert torch.allclose(one.slope, other.slope, atol=1e-5)


def test_precisions_are_those_of_the_evidence():
    """Two groups, one of which is nothing: its precision goes to the bound, the other's to 1 / mean
    square.
    """
    random = np.random.default_rng(0)
    features = random.normal(size=(4000, 6))
    truth = np.array([1.0, -1.0, 2.0, 0, 0, 0])
    r = features @ truth + random.normal(size=4000)
    sums = sparse.SparseSums(
        (features.T @ features)[None],
        (features.T @ r)[None],
        np.array([r @ r]),
        np.array([4000.0]),
        np.zeros(1, np.int64),
    )
    solved = relevant(sums, np.ones(1), np.array([0, 0, 0, 1, 1, 1]))
    assert np.allclose(solved.mean[:3], truth[:3], atol=0.06)
    assert np.allclose(solved.precision[:3], 3 / np.square(truth).sum(), rtol=0.1)
    assert solved.precision[3:].min() > 100
    assert np.abs(solved.mean[3:]).max() < 0.02
    assert np.isclose(solved.noise, 1, atol=0.06)


def test_sums_of_groups_add_up():
    sample = sample_of(simulate(n=200))
    wide = np.column_stack([np.ones(200), sample.x.double().numpy()])
    parts, r = contrasts(sample, products(3), wide), (sample.y - sample.m).double().numpy()
    columns = choose_columns(wide, parts, r, 3)
    sums = sum_groups(wide, parts, r, columns, sample)
    whole = wide[:, columns.state] * parts[:, columns.part]
    assert np.allclose(sums.gram.sum(0), whole.T @ whole)
    assert np.allclose(sums.moment.sum(0), whole.T @ r)
    assert np.isclose(sums.square.sum(), r @ r)
    assert np.isclose(sums.weight.sum(), 200)
