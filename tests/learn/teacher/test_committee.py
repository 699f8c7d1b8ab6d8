"""The committee: weight for what explains held-out residuals, none for what does not."""

import numpy as np
import pytest
import torch

from realloc.learn.teacher import committee

N = 4000


def draw(seed, n=N):
    return torch.randn(n, generator=torch.Generator().manual_seed(seed))


def weigh(residual, contrasts, weights, units=None, weighed=True):
    """Every row a unit of its own, unless said."""
    units = torch.arange(len(residual)) if units is None else units
    return committee.weigh(
        residual.numpy(),
        [contrast.numpy() for contrast in contrasts],
        weights.numpy(),
        units.numpy(),
        weighed,
    )


def test_the_right_surface_gets_its_weight_and_noise_gets_next_to_none():
    truth, noise = draw(0), draw(1)
    found = weigh(0.8 * truth + 0.5 * draw(2), [truth, noise], torch.ones(N))
    error = 0.5 / N**0.5
    assert found.weights[0] == pytest.approx(0.8, abs=4 * error)
    assert 0 <= found.weights[1] < 4 * error


def test_a_surface_with_the_wrong_sign_gets_exactly_nothing():
    truth = draw(0)
    found = weigh(truth, [-truth], torch.ones(N))
    assert found.weights == (0.0,)
    assert found.together == found.nothing


def test_on_noise_that_agrees_with_no_surface_all_weights_are_zero():
    residual, surfaces = draw(0), [draw(1), draw(2)]
    signed = [
        -surface * torch.sign(surface @ residual) for surface in surfaces
    ]  # chance agreement turned around
    found = weigh(residual, signed, torch.ones(N))
    assert found.weights == (0.0, 0.0)
    assert found.together == found.nothing


def test_surfaces_that_know_different_parts_share():
    a, b = draw(0), draw(1)
    found = weigh(0.6 * a + 0.3 * b, [a, b], torch.ones(N))
    assert found.weights == pytest.approx((0.6, 0.3), abs=1e-3)
    assert found.together < 1e-4 * found.nothing


def test_rows_without_a_contrast_are_left_out():
    a, b = draw(0, 100), draw(1, 100)
    residual = a + 0.5 * b + 0.1 * draw(2, 100)
    clean = weigh(residual[20:80], [a[20:80], b[20:80]], torch.ones(60))
    a[:20], b[80:], residual[:20] = float("nan"), float("nan"), 1e6
    found = weigh(residual, [a, b], torch.ones(100))
    assert found.weights == pytest.approx(clean.weights, rel=1e-12)
    assert (found.nothing, found.together) == pytest.approx(
        (clean.nothing, clean.together), rel=1e-12
    )
    assert found.rows == 60


def test_the_errors_are_weighted_means_of_squares():
    y, a, b, w = (draw(seed, 50).double() for seed in range(4))
    w = w.abs()
    found = weigh(y, [a, b], w)

    def error(fitted):
        return float(np.average((y - fitted).numpy() ** 2, weights=w.numpy()))

    assert found.nothing == pytest.approx(error(torch.zeros(50)))
    assert found.alone == pytest.approx((error(a), error(b)))
    assert found.together == pytest.approx(
        error(found.weights[0] * a + found.weights[1] * b)
    )
    assert found.together <= found.nothing


def test_rows_of_weight_zero_have_no_part():
    y, a, b = (draw(seed, 60) for seed in range(3))
    y = y + a
    w = torch.ones(60)
    w[:30] = 0
    found, removed = weigh(y, [a, b], w), weigh(y[30:], [a[30:], b[30:]], w[30:])
    assert found.weights == pytest.approx(removed.weights)
    assert found.alone == pytest.approx(removed.alone)
    assert found.weights != pytest.approx(weigh(y, [a, b], torch.ones(60)).weights)


def test_weights_shrink_by_the_slope_on_units_that_had_no_part_in_them():
    """One surface, so least squares by hand, group by group."""
    a, w, units = draw(0, 90).double(), draw(1, 90).double().abs(), torch.arange(90) // 3
    y = 0.6 * a + draw(2, 90).double()
    a, w, y, units = (values.numpy() for values in (a, w, y, units))
    predicted = np.zeros(90)
    for group in range(5):
        own = units % 5 == group
        predicted[own] = a[own] * (w * a * y)[~own].sum() / (w * a * a)[~own].sum()
    slope = (w * predicted * y).sum() / (w * predicted**2).sum()
    scores = (w * predicted * (y - slope * predicted)).reshape(30, 3).sum(axis=1)
    error = np.sqrt(2 * (scores**2).sum()) / (w * predicted**2).sum()
    found = weigh(
        torch.from_numpy(y),
        [torch.from_numpy(a)],
        torch.from_numpy(w),
        torch.from_numpy(units),
    )
    assert found.significance == pytest.approx(slope / error)
    alone = (w * a * y).sum() / (w * a * a).sum()
    shrunk, _ = committee.size_of_effect(slope, error)
    assert found.weights[0] == pytest.approx(alone * shrunk)


def size(slope, error):
    return committee.size_of_effect(slope, error)[0]


def test_the_size_of_an_effect_is_one_where_it_is_sure_and_none_where_there_is_no_sign():
    assert size(1.0, 0.05) == pytest.approx(1.0, abs=0.01)
    assert size(1.4, 0.02) == pytest.approx(1.4, abs=0.01)
    assert size(-0.5, 0.2) == 0
    doubtful = [size(1.0, error) for error in (0.2, 0.4, 0.8, 1.6)]
    assert doubtful == sorted(doubtful, reverse=True)
    assert size(0.2, 0.1) < 0.2


def test_the_error_of_the_size_is_that_of_the_slope_where_evidence_is_strong():
    assert committee.size_of_effect(1.0, 0.02)[1] == pytest.approx(0.02, rel=0.02)
    assert committee.size_of_effect(1.0, 0.5)[1] > 0.4


def test_evidence_where_nothing_is_true_has_the_error_it_claims():
    """Predictions by all other units' outcomes: every pair of units counts twice."""
    found: list[float] = []
    for seed in range(400):
        random = np.random.default_rng(seed)
        x, y = random.normal(size=(100, 20)), random.normal(size=100)
        predicted = x @ (x.T @ y) - np.square(x).sum(axis=1) * y
        slope, error = committee._slope(y, predicted, np.ones(100), np.arange(100))
        found.append(slope / error)
    assert 0.8 < np.std(found) < 1.2


def test_chance_alone_is_no_evidence():
    """Weights that are fitted to noise look well on the rows they were fitted to, not on others."""
    found = [
        weigh(
            draw(seed, 400),
            [draw(1000 + 4 * seed + k, 400) for k in range(4)],
            torch.ones(400),
        ).significance
        for seed in range(100)
    ]
    assert np.mean(np.array(found) >= 2) <= 0.06


def test_the_same_unit_many_times_is_no_more_evidence():
    a, y = draw(0, 50), 0.5 * draw(0, 50) + draw(1, 50)
    once = weigh(y, [a], torch.ones(50))
    a, y, units = a.repeat(10), y.repeat(10), torch.arange(50).repeat(10)
    assert weigh(y, [a], torch.ones(500), units).significance == pytest.approx(
        once.significance
    )
    assert weigh(y, [a], torch.ones(500)).significance == pytest.approx(
        once.significance * 10**0.5
    )


def test_weak_evidence_is_no_weight_at_all():
    """One unit carries the whole improvement: the others know nothing of it, so nothing stays."""
    a, y = torch.zeros(50), draw(1, 50)
    a[0], y[0] = 1.0, 5.0
    found = weigh(y, [a], torch.ones(50))
    assert found.significance == 0
    assert found.weights == (0.0,)


def test_twins_share_what_one_of_them_deserves():
    """Two surfaces that differ by a trifle: chance alone would give one of them everything."""
    truth = draw(0)
    twins = [truth + 0.02 * draw(1), truth + 0.02 * draw(2)]
    found = weigh(0.8 * truth + 2 * draw(3), twins, torch.ones(N))
    assert found.weights == pytest.approx((found.weights[0],) * 2, rel=0.2)
    assert sum(found.weights) == pytest.approx(0.8, abs=0.15)


def test_what_can_be_told_apart_is_weighed_by_what_it_knows():
    truth = draw(0)
    found = weigh(0.8 * draw(4) + 0.2 * truth, [draw(4), truth], torch.ones(N))
    assert found.weights == pytest.approx((0.8, 0.2), abs=0.01)


def test_a_surface_that_points_the_wrong_way_takes_nothing_from_the_others():
    truth = draw(0, 200)
    residual, wrong = truth + draw(1, 200), -2 * truth + draw(2, 200)
    found = weigh(residual, [truth, wrong], torch.ones(200))
    alone = weigh(residual, [truth], torch.ones(200))
    assert alone.weights[0] > 0.5
    assert found.weights == pytest.approx((alone.weights[0], 0.0), abs=0.01)


def test_without_weighing_the_committee_is_the_mean_and_the_loss_still_judges_it():
    truth, noise = draw(0), draw(1)
    found = committee.weigh(
        (0.8 * truth + 0.5 * draw(2)).numpy(),
        [truth.numpy(), noise.numpy()],
        np.ones(N, np.float32),
        np.arange(N),
        weighed=False,
    )
    assert found.weights == (0.5, 0.5)
    assert found.together < found.nothing
    assert found.significance > 2
