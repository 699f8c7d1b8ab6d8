import numpy as np
import pytest
from scipy.stats import norm, spearmanr

from realloc import LogError
from realloc.evaluate.bootstrap import Bootstrap
from realloc.evaluate.ranking import (
    aligned_gap,
    centred_ranks,
    mean_response,
    rank_correlation,
    score,
    support_violation,
    tail_shares,
    widen,
    within_unit_concordance,
)
from realloc.evaluate.result import Estimate

FEW = Bootstrap(draws=60)


def draw(n=120, units=40, ties=False, seed=0):
    """Predictions and responses that have to do with each other, and their units."""
    rng = np.random.default_rng(seed)
    predicted = rng.standard_normal(n)
    response = 0.5 * predicted + rng.standard_normal(n)
    if ties:
        predicted, response = predicted.round(0), response.round(0)
    return predicted, response, rng.integers(0, units, n)


def resampled(metric, predicted, response, units, bootstrap):
    """The same bootstrap with rows written out, as a check of all the weighting."""
    present, codes = np.unique(units, return_inverse=True)
    values = []
    for weights in bootstrap.weights(len(present), len(units)):
        for draw in weights:
            rows = np.repeat(np.arange(len(units)), draw[codes].astype(int))
            values.append(metric(predicted[rows], response[rows]))
    return np.quantile(values, [0.025, 0.975], method="weibull")


def gap_by_hand(predicted, response, part=0.2):
    ordered, count = np.sort(predicted), int(np.ceil(part * len(predicted) - 1e-9))
    return (
        response[predicted >= ordered[-count]].mean()
        - response[predicted <= ordered[count - 1]].mean()
    )


@pytest.mark.parametrize("ties", [False, True])
def test_rho_is_scipys(ties):
    predicted, response, units = draw(ties=ties)
    found = rank_correlation("rho", predicted, response, units, FEW)
    assert np.isclose(found.value, spearmanr(predicted, response).statistic, atol=1e-12)
    assert (found.name, found.n) == ("rho", 120)


@pytest.mark.parametrize("ties", [False, True])
def test_weighted_draws_are_draws_of_whole_units(ties):
    predicted, response, units = draw(ties=ties)
    found = rank_correlation("rho", predicted, response, units, FEW)
    expected = resampled(
        lambda p, r: spearmanr(p, r).statistic, predicted, response, units, FEW
    )
    assert np.allclose([found.low, found.high], expected, atol=1e-12)
    gap = aligned_gap(predicted, response, units, bootstrap=FEW)
    assert np.isclose(gap.value, gap_by_hand(predicted, response))
    assert np.allclose(
        [gap.low, gap.high], resampled(gap_by_hand, predicted, response, units, FEW)
    )


def test_rho_of_a_perfect_and_a_reversed_ranking():
    predicted, _, units = draw()
    assert np.isclose(
        rank_correlation("rho", predicted, np.exp(predicted), units, FEW).value, 1
    )
    assert np.isclose(rank_correlation("rho", predicted, -predicted, units, FEW).value, -1)


def test_intervals_cover_a_known_rho():
    r, hits, rng = 0.4, 0, np.random.default_rng(1)
    truth = 6 / np.pi * np.arcsin(r / 2)
    units = np.repeat(np.arange(60), 3)
    for trial in range(100):
        # Events of a unit share a part of both sides, so they are worth fewer than 180.
        pair = rng.multivariate_normal([0, 0], [[1, r], [r, 1]], 60)[units] * np.sqrt(0.5)
        pair += rng.multivariate_normal([0, 0], [[1, r], [r, 1]], 180) * np.sqrt(0.5)
        found = rank_correlation(
            "rho", pair[:, 0], pair[:, 1], units, Bootstrap(draws=200, seed=trial)
        )
        hits += found.low <= truth <= found.high
    assert hits >= 90


def test_events_of_one_unit_are_not_counted_as_many():
    predicted, response, _ = draw(n=100, units=100)
    alone = rank_correlation("rho", predicted, response, np.arange(100))
    repeated = rank_correlation(
        "rho", *(np.repeat(part, 9) for part in (predicted, response, np.arange(100)))
    )
    careless = rank_correlation(
        "rho", np.repeat(predicted, 9), np.repeat(response, 9), np.arange(900)
    )
    assert np.isclose(repeated.high - repeated.low, alone.high - alone.low, rtol=1e-9)
    assert careless.high - careless.low < 0.5 * (alone.high - alone.low)


def test_the_same_seed_gives_the_same_interval_and_another_one_another():
    data = draw()
    one, again, other = (
        rank_correlation("rho", *data, Bootstrap(draws=60, seed=seed)) for seed in (1, 1, 2)
    )
    assert one == again
    assert one.low != other.low


def test_lots_of_draws_do_not_change_them(monkeypatch):
    data = draw()
    whole = rank_correlation("rho", *data, FEW)
    monkeypatch.setattr("realloc.evaluate.bootstrap.CELLS", 500)
    assert rank_correlation("rho", *data, FEW) == whole


def test_constant_predictions_rank_nothing():
    _, response, units = draw()
    for found in (
        rank_correlation("rho", np.ones(120), response, units),
        rank_correlation("rho", response, np.ones(120), units),
        aligned_gap(np.ones(120), response, units),
    ):
        assert np.isnan([found.value, found.low, found.high]).all()
        assert found.n == 120


def test_no_events_have_no_metric():
    none = np.empty(0)
    assert np.isnan(rank_correlation("rho", none, none, none.astype(int)).value)
    assert np.isnan(aligned_gap(none, none, none.astype(int)).value)
    assert np.isnan(
        within_unit_concordance(none, none, none.astype(int), none[:, None]).value
    )
    assert np.isnan(mean_response("mean", none, none.astype(int)).value)


def test_one_unit_has_a_value_and_no_interval():
    predicted, response, _ = draw()
    one = np.zeros(120, dtype=int)
    for found in (
        rank_correlation("rho", predicted, response, one),
        aligned_gap(predicted, response, one),
        within_unit_concordance(predicted, response, one, np.zeros((120, 1))),
        mean_response("mean", response, one),
    ):
        assert np.isfinite(found.value)
        assert np.isnan([found.low, found.high]).all()


@pytest.mark.parametrize(
    "metric", [lambda p, r, u: rank_correlation("rho", p, r, u), aligned_gap]
)
def test_missing_numbers_and_other_lengths_are_refused(metric):
    predicted, response, units = draw()
    broken = np.where(np.arange(120) < 3, np.nan, predicted)
    with pytest.raises(
        LogError, match="Expected finite predictions, got 3 of 120 that are NaN or infinite"
    ):
        metric(broken, response, units)
    with pytest.raises(LogError, match="Expected finite responses, got 3 of 120"):
        metric(response, broken, units)
    with pytest.raises(
        LogError, match="Expected one prediction, response and unit per event"
    ):
        metric(predicted[1:], response, units)


def test_scores_are_gains_per_moved_share():
    assert np.allclose(score(np.array([1.0, 1.0]), np.array([0.1, 0.5])), [10.0, 2.0])


def test_the_gap_by_hand():
    response = np.arange(10.0) ** 2
    found = aligned_gap(np.arange(10.0), response, np.arange(10))
    assert found.value == (64 + 81) / 2 - (0 + 1) / 2
    assert aligned_gap(-np.arange(10.0), response, np.arange(10)).value == -found.value


def test_ties_at_the_threshold_of_the_gap_count_on_its_side():
    predicted = np.array([0.0, 0.0, 0.0, 1.0, 2.0])
    assert (
        aligned_gap(predicted, np.array([1.0, 2.0, 3.0, 0.0, 9.0]), np.arange(5)).value
        == 9 - 2
    )


@pytest.mark.parametrize("ties", [False, True])
def test_leverages_are_those_of_their_metrics(ties):
    predicted, response, units = draw(ties=ties)
    gap = aligned_gap(predicted, response, units, bootstrap=FEW)
    assert np.isclose(tail_shares(predicted) @ response, gap.value)
    ranks = centred_ranks(predicted)
    assert np.isclose(ranks.sum(), 0)
    rho = (
        ranks
        @ centred_ranks(response)
        / np.sqrt(np.square(ranks).sum() * np.square(centred_ranks(response)).sum())
    )
    assert np.isclose(rho, rank_correlation("rho", predicted, response, units, FEW).value)


def test_widening_keeps_the_value_and_stretches_both_sides():
    assert widen(Estimate("x", 1.0, 0.5, 2.0, 9), 2.0) == Estimate("x", 1.0, 0.0, 3.0, 9)
    assert widen(Estimate("x", 0.5, 0.0, 0.9, 9), 2.0, largest=1.0) == Estimate(
        "x", 0.5, -0.5, 1.0, 9
    )
    assert widen(Estimate("x", 1.0, 0.5, 2.0, 9), 1.0) == Estimate("x", 1.0, 0.5, 2.0, 9)


def concordance_by_hand(predicted, response, units, context, caliper):
    total = pairs = 0.0
    for i in range(len(units)):
        for j in range(i):
            if units[i] == units[j] and np.linalg.norm(context[i] - context[j]) <= caliper:
                product = (predicted[i] - predicted[j]) * (response[i] - response[j])
                total += (product > 0) + 0.5 * (product == 0)
                pairs += 1
    return total / pairs, pairs


@pytest.mark.parametrize("ties", [False, True])
def test_concordance_is_what_a_loop_over_pairs_finds(ties):
    predicted, response, units = draw(ties=ties)
    context = np.random.default_rng(3).standard_normal((120, 2))
    found = within_unit_concordance(predicted, response, units, context, 1.0, FEW)
    value, pairs = concordance_by_hand(predicted, response, units, context, 1.0)
    assert np.isclose(found.value, value)
    assert found.n == pairs
    assert found.low < found.value < found.high
    assert within_unit_concordance(predicted, response, units, context, 9.0, FEW).n > pairs


def test_concordance_is_one_for_perfect_and_a_half_for_random_or_tied_scores():
    rng = np.random.default_rng(0)
    units, context = np.repeat(np.arange(300), 5), np.zeros((1500, 1))
    response = rng.standard_normal(1500)

    def concordance(predicted):
        return within_unit_concordance(
            predicted, response, units, context, bootstrap=FEW
        ).value

    assert concordance(response**3) == 1
    assert concordance(-response) == 0
    assert concordance(np.zeros(1500)) == 0.5
    # A pair agrees with chance 1/2; pairs of one unit overlap, which at most doubles the variance
    # of 3000 of them.
    assert abs(concordance(rng.standard_normal(1500)) - 0.5) < 4 * np.sqrt(2 * 0.25 / 3000)


def test_concordance_sees_the_order_within_a_unit_and_not_between_units():
    units = np.repeat(np.arange(200), 2)
    level = np.repeat(np.random.default_rng(0).standard_normal(200) * 10, 2)
    response = level + np.tile([0.0, 1.0], 200)
    backwards = level - np.tile([0.0, 1.0], 200)
    found = within_unit_concordance(backwards, response, units, np.zeros((400, 1)))
    assert found.value == 0
    assert rank_correlation("rho", backwards, response, units, FEW).value > 0.9


def test_support_violations_are_counted_among_moved_rows():
    moved = np.array([True, True, True, True, False, False, False, False])
    supported = np.array([True, True, True, False, False, True, True, True])
    table = support_violation(moved, supported, np.arange(8))
    assert (table["support_violation"].value, table["support_violation"].n) == (0.25, 4)
    assert (table["update_rate"].value, table["update_rate"].n) == (0.5, 8)
    assert table["update_rate"].low < 0.5 < table["update_rate"].high


def test_who_moves_nothing_violates_nothing_that_could_be_measured():
    table = support_violation(np.zeros(4, bool), np.ones(4, bool), np.arange(4))
    assert np.isnan(table["support_violation"].value)
    assert table["update_rate"].value == 0
    with pytest.raises(LogError, match="of the same rows, got 4, 3 and 4"):
        support_violation(np.zeros(4, bool), np.ones(3, bool), np.arange(4))


def test_the_mean_response_has_the_interval_of_its_units():
    rng = np.random.default_rng(0)
    values = rng.standard_normal(900) + np.repeat(rng.standard_normal(300), 3)
    found = mean_response(
        "mean", values, np.repeat(np.arange(300), 3), Bootstrap(draws=2000)
    )
    error = np.sqrt((1 + 1 / 3) / 300)
    assert np.isclose(found.value, values.mean())
    assert np.isclose((found.high - found.low) / 2, norm.ppf(0.975) * error, rtol=0.15)
