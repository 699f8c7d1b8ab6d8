"""Cross-fitting: right about known means, blind to the fold it predicts, never off the simplex."""

import json
from dataclasses import asdict

import numpy as np
import pytest

from realloc.learn.nuisances.config import MODELS
from realloc.learn.nuisances.crossfit import cross_fit
from tests.learn.nuisances.synthetic import draw, quick, r2


@pytest.fixture(scope="module")
def smooth():
    return draw()


@pytest.fixture(scope="module")
def fitted(smooth):
    return cross_fit(*smooth.inputs, config=quick(epochs=8, width=32), seed=3)


def check_simplex(shares):
    assert np.isfinite(shares).all()
    assert shares.min() >= 0
    assert np.abs(shares.sum(axis=1) - 1).max() < 1e-12


def test_known_means_are_recovered(smooth, fitted):
    assert r2(smooth.m, fitted.outcome) > 0.95
    assert r2(smooth.e[:, 0], fitted.shares[:, 0]) > 0.9
    best = r2(smooth.outcome, smooth.m)
    assert best - 0.05 < fitted.diagnostics.outcome_r2 < best + 0.02
    for k in range(3):
        assert (
            r2(smooth.shares[:, k], smooth.e[:, k]) - 0.04 < fitted.diagnostics.share_r2[k]
        )


def test_the_stack_is_as_good_as_its_best_member(fitted):
    for found in (fitted.diagnostics.outcome, fitted.diagnostics.shares):
        best = min(found.errors[name] for name in MODELS)
        assert found.errors["chosen"] < 1.01 * best
        assert sum(found.weights.values()) == pytest.approx(1)


def test_shares_lie_on_the_simplex(fitted):
    check_simplex(fitted.shares)


def test_the_same_seed_gives_the_same_bits_and_another_seed_does_not():
    smooth, config = draw(n=800), quick(epochs=2, trees=10)
    first, again, other = (
        cross_fit(*smooth.inputs, config, seed=seed) for seed in (1, 1, 2)
    )
    assert first.outcome.tobytes() == again.outcome.tobytes()
    assert first.shares.tobytes() == again.shares.tobytes()
    assert first.diagnostics == again.diagnostics
    assert first.outcome.tobytes() != other.outcome.tobytes()


@pytest.mark.parametrize("folds", [2, 3, 5])
def test_no_row_has_a_part_in_what_is_predicted_for_its_fold(folds):
    rows = draw(n=600, folds=folds)
    config = quick(epochs=3, trees=20, folds=folds, repeats=2)
    away = rows.folds == folds - 1
    outcome, shares = rows.outcome.copy(), rows.shares.copy()
    outcome[away] = 1e4 * np.random.default_rng(0).permutation(outcome[away])
    shares[away] = np.eye(3)[0]
    before = cross_fit(*rows.inputs, config)
    after = cross_fit(rows.x, shares, outcome, rows.folds, config)
    assert np.array_equal(before.outcome[away], after.outcome[away])
    assert np.array_equal(before.shares[away], after.shares[away])
    assert not np.isclose(
        before.outcome[~away], after.outcome[~away], rtol=0.5
    ).all()  # those did learn from it


def test_the_callers_arrays_stay_as_they_are_and_may_be_read_only(smooth):
    copies = [values.copy() for values in smooth.inputs]
    for values in smooth.inputs:
        values.setflags(write=False)
    cross_fit(*smooth.inputs, config=quick(epochs=1, trees=2))
    for values, copy in zip(smooth.inputs, copies, strict=True):
        assert np.array_equal(values, copy)


def single_errors(rows):
    return {
        name: cross_fit(
            *rows.inputs, config=quick(models=(name,))
        ).diagnostics.outcome.errors[name]
        for name in MODELS
    }


def test_steps_go_to_the_trees():
    rows = draw(kind="step", n=1500)
    single = single_errors(rows)
    found = cross_fit(*rows.inputs, config=quick()).diagnostics.outcome
    assert single["boosting"] < 0.9 * min(single["ridge"], single["network"])
    assert found.weights["boosting"] > 0.7
    assert found.errors["chosen"] < 1.01 * single["boosting"]


def test_a_line_loses_nothing_to_freer_models():
    rows = draw(kind="linear", n=1500)
    single = single_errors(rows)
    found = cross_fit(*rows.inputs, config=quick()).diagnostics.outcome
    assert single["ridge"] < 1.005 * min(single.values())
    assert found.errors["chosen"] < 1.005 * single["ridge"]


@pytest.mark.parametrize("kind", ["count", "positive"])
@pytest.mark.parametrize("model", ["network", "boosting"])
def test_log_links_find_the_mean_and_beat_a_constant(kind, model):
    rows = draw(kind=kind, n=2500)
    found = cross_fit(*rows.inputs, config=quick(outcome=kind, models=(model,)))
    assert found.outcome.min() >= 0
    assert r2(rows.m, found.outcome) > 0.75
    assert found.outcome.mean() == pytest.approx(
        rows.outcome.mean(), rel=0.05
    )  # the mean, not the median


def test_counts_gain_from_the_log_link():
    rows = draw(kind="count", n=2000)
    log, plain = (
        cross_fit(*rows.inputs, config=quick(outcome=kind, models=("network",)))
        for kind in ("count", "real")
    )
    assert np.mean((log.outcome - rows.m) ** 2) < np.mean((plain.outcome - rows.m) ** 2)


@pytest.mark.parametrize("model", MODELS)
def test_weights_decide_what_is_learned(model):
    rows = draw(n=1000, kind="linear")
    odd = np.arange(1000) % 2 == 1
    outcome = np.where(odd, rows.outcome + 20, rows.outcome)
    inputs = (rows.x, rows.shares, outcome, rows.folds)
    config = quick(models=(model,))
    only_even = cross_fit(*inputs, config, weights=np.where(odd, 0.0, 3.0))
    evenly = cross_fit(*inputs, config, weights=np.full(1000, 1e-3))
    assert abs((only_even.outcome - rows.m).mean()) < 0.5
    assert (evenly.outcome - rows.m).mean() == pytest.approx(10, abs=0.7)


@pytest.mark.parametrize("channels", [2, 12])
def test_exact_zeros_and_a_channel_that_is_never_used(channels):
    rows = draw(n=1000, channels=channels)
    shares = np.where(rows.shares < 0.5 / channels, 0, rows.shares)
    shares[:, -1] = 0 if channels > 2 else shares[:, -1]
    shares /= shares.sum(axis=1, keepdims=True)
    found = cross_fit(rows.x, shares, rows.outcome, rows.folds, quick(epochs=4, trees=20))
    check_simplex(found.shares)
    if channels > 2:
        assert found.shares[:, -1].max() < 1e-3
        assert found.diagnostics.share_r2[-1] is None
    assert found.diagnostics.share_r2[0] > 0


@pytest.mark.parametrize("kind", ["real", "positive", "count"])
@pytest.mark.parametrize("level", [0.0, 7.0])
def test_a_constant_outcome_is_predicted_as_such(kind, level):
    rows = draw(n=400)
    found = cross_fit(
        rows.x,
        rows.shares,
        np.full(400, level),
        rows.folds,
        quick(epochs=2, trees=5, outcome=kind),
    )
    assert found.outcome == pytest.approx(np.full(400, level), abs=0.2)
    assert found.diagnostics.outcome_r2 is None
    assert "nothing to explain" in found.diagnostics.lines()[0]
    assert "NaN" not in json.dumps(asdict(found.diagnostics))


@pytest.mark.parametrize("kind", ["real", "count"])
def test_one_fold_from_another_planet_spoils_no_number(kind):
    rows = draw(n=400, kind="count")
    outcome = np.where(rows.folds == 1, 1e60, rows.outcome)
    weights = np.where(
        rows.outcome > 0, 0.0, 1.0
    )  # what counts is constant in the other folds
    for w in (None, weights):
        found = cross_fit(
            rows.x,
            rows.shares,
            outcome,
            rows.folds,
            quick(epochs=2, trees=5, outcome=kind),
            weights=w,
        )
        assert np.isfinite(found.outcome).all()
        check_simplex(found.shares)


def test_constant_shares_are_predicted_as_such():
    rows = draw(n=400)
    found = cross_fit(
        rows.x,
        np.tile([0.2, 0.3, 0.5], (400, 1)),
        rows.outcome,
        rows.folds,
        quick(epochs=2, trees=5),
    )
    check_simplex(found.shares)
    assert np.abs(found.shares - [0.2, 0.3, 0.5]).max() < 0.05


def test_progress_names_its_steps(smooth):
    seen = []
    config = quick(epochs=1, trees=2)
    cross_fit(
        *smooth.inputs,
        config=config,
        progress=lambda step, done, total: seen.append((step, done, total)),
    )
    assert ("nuisances: network", 1, 1) in seen
    assert seen[-1] == ("nuisances: boosting", 5, 5)
