import re
from dataclasses import replace
from datetime import timedelta
from functools import cache

import numpy as np
import pytest

from realloc import ConfigError, LogError
from realloc.evaluate.bootstrap import Bootstrap
from realloc.evaluate.events import find_events
from realloc.evaluate.matching import MatchSetting
from realloc.evaluate.replay import (
    MatchedReplayConfig,
    match_window,
    matched_replay,
    rank_window,
)
from realloc.world.platform import Marketplace
from tests.evaluate.moved import FIRST, START, moved_frame, read, true_gain

CONFIG = MatchedReplayConfig(
    categories=("category",), features=("traffic", "size"), bootstrap=Bootstrap(draws=200)
)
NAMES = [
    "rho_gain",
    "rho_score",
    "within_unit_concordance",
    "aligned_gap",
    "mean_response",
    "mean_placebo_response",
]


@cache
def logs_of(**changes):
    return read(moved_frame(**({"units": 500} | changes)))


@cache
def window(**changes):
    return match_window(logs_of(**changes), START, CONFIG)


def effects(window):
    """The true effect of every matched event."""
    table = window.logs.to_pandas().iloc[window.matches.events]
    truth = moved_frame(units=500).set_index(["item", "date"])["effect"]
    return truth.loc[
        list(zip(table["item"], table["date"].dt.date, strict=True))
    ].to_numpy()


def test_a_planted_effect_is_recovered_where_a_naive_difference_is_not():
    """Busy items are moved more, so moved rows sell more anyway."""
    found, logs = window(), logs_of()
    late = logs.times >= np.datetime64(START)
    events = find_events(logs)
    y, moved, held = logs.outcome, late & events.is_event, late & events.is_control
    naive = y[moved].mean() - y[held].mean()
    truth, R = effects(found), found.response
    error = R.std() / np.sqrt(len(R))
    assert abs(truth.mean() - 0.5) < 0.1
    assert naive > truth.mean() + 0.5  # the control: what matching must take away
    assert (
        abs(R.mean() - truth.mean()) < 4 * error + 0.05
    )  # 0.05: what calipers leave of the traffic
    assert rank_window(found, true_gain, CONFIG)["mean_response"].low > 0.3


def test_the_response_follows_the_effect_event_by_event():
    found = window()
    truth = effects(found)
    slope = np.cov(truth, found.response)[0, 1] / truth.var()
    error = found.response.std() / truth.std() / np.sqrt(len(truth))
    assert abs(slope - 1) < 4 * error


def test_moves_without_effect_have_no_response_and_nothing_to_rank():
    found = match_window(
        read(
            moved_frame(units=500, lift=0.0).assign(
                orders=lambda f: f["orders"] - f["effect"]
            )
        ),
        START,
        CONFIG,
    )
    result = rank_window(found, true_gain, CONFIG)
    assert abs(result["mean_response"].value) < 0.1
    assert result["rho_gain"].low < 0 < result["rho_gain"].high
    assert "not distinguishable from chance" in result.verdict


def test_a_policy_that_knows_ranks_well_and_its_reverse_as_badly():
    good = rank_window(window(), true_gain, CONFIG)
    bad = rank_window(window(), lambda asked, to: -true_gain(asked, to), CONFIG)
    assert good["rho_gain"].low > 0.3
    assert good["within_unit_concordance"].low > 0.6
    assert good["aligned_gap"].low > 0.3
    assert "better than chance" in good.verdict
    assert "worse than chance" in bad.verdict
    for name in ("rho_gain", "rho_score", "aligned_gap"):
        assert np.isclose(bad[name].value, -good[name].value)
    assert np.isclose(
        bad["within_unit_concordance"].value, 1 - good["within_unit_concordance"].value
    )


def test_a_random_policy_is_not_told_from_chance():
    result = rank_window(
        window(),
        lambda asked, to: np.random.default_rng(0).standard_normal(len(to)),
        CONFIG,
    )
    assert result["rho_gain"].low < 0 < result["rho_gain"].high
    assert result.is_evaluated


def test_the_ceiling_is_near_what_a_perfect_ranker_reaches():
    result = rank_window(window(), true_gain, CONFIG)
    truth = effects(window()).std()
    assert result["effect_sd"].low < truth < result["effect_sd"].high
    assert (
        result["noise_ceiling"].low
        < result["rho_gain"].value
        < result["noise_ceiling"].high
    )
    assert abs(result["mean_placebo_response"].value) < 0.1
    assert result["demand_r2"].value > 0.2


def test_every_covariate_is_balanced_and_the_report_says_how():
    result = matched_replay(logs_of(), true_gain, START, CONFIG)
    frame = result.balance.to_frame().set_index("covariate")
    assert frame.loc["traffic", "before"] > 0.5
    assert frame["after"].abs().max() < 0.1
    assert frame.index.tolist() == [
        *(f"previous share of {name}" for name in ("ads", "coupon", "rebate")),
        "log budget",
        "recent level",
        "traffic",
        "size",
        "predicted outcome",
    ]
    assert result.setting.category == "category"
    assert str(result.setting) in result.notes[0]
    assert result.to_frame()["name"].tolist() == [
        *NAMES,
        "response_sd",
        "demand_r2",
        "effect_sd",
        "noise_ceiling",
    ]
    assert "Support violation: not measured, because no `advise` was given." in result.notes
    assert result.verdict in str(result)


def test_matching_once_for_many_policies_is_matching_for_each():
    once = rank_window(window(), true_gain, CONFIG)
    each = matched_replay(logs_of(), true_gain, START, CONFIG)
    assert once.to_frame().equals(each.to_frame())


def test_controls_share_date_and_category_and_held_their_shares():
    found, logs = window(), logs_of()
    category = np.array(logs.feature("category").to_pylist())
    controls = found.matches.controls
    event, place = np.nonzero(controls >= 0)
    mine, theirs = found.matches.events[event], controls[event, place]
    assert np.array_equal(logs.times[mine], logs.times[theirs])
    assert np.array_equal(category[mine], category[theirs])
    assert found.events.is_event[mine].all()
    assert found.events.is_control[theirs].all()
    assert (logs.times[mine] >= np.datetime64(START)).all()


def test_shocks_of_a_category_are_taken_away_only_where_controls_share_it():
    apart = match_window(logs_of(), START, replace(CONFIG, categories=()))
    assert apart.response.std() > 1.3 * window().response.std()


def test_a_confounder_left_aside_is_named():
    config = replace(CONFIG, features=("size",))
    logs = read(
        moved_frame(units=500).assign(orders=lambda f: f["orders"] - f["traffic"])
    )  # so that m_eval is blind to it
    notes = match_window(logs, START, config).notes
    assert any(
        "Not matched on, and out of balance (SMD): traffic" in note for note in notes
    )
    assert not any("Not matched on" in note for note in window().notes)


def test_missing_covariates_get_a_flag_that_must_balance():
    gaps = moved_frame(units=500)
    gaps.loc[np.random.default_rng(0).random(len(gaps)) < 0.2, "size"] = np.nan
    found = match_window(read(gaps), START, CONFIG)
    assert "size missing" in found.selection.balance.names
    assert np.isfinite(found.response).all()


def test_advice_is_asked_before_the_decision_and_counted():
    asked = []

    def advise(rows):
        asked.append(rows)
        moved = np.arange(len(rows)) % 2 == 0
        return moved, np.arange(len(rows)) % 4 != 0

    result = rank_window(window(), true_gain, CONFIG, advise)
    assert np.isclose(result["update_rate"].value, 0.5, atol=0.01)
    assert np.isclose(result["support_violation"].value, 0.5, atol=0.02)
    assert "orders" not in asked[0].table.column_names


def test_the_same_log_gives_the_same_answer_to_the_bit():
    again = match_window(logs_of(), START, CONFIG)
    assert again.response.tobytes() == window().response.tobytes()


def none_moves(frame):
    """Every item keeps the shares of its first day."""
    first = frame.groupby("item")[["ads", "coupon", "rebate"]].transform("first")
    return frame.assign(**first)


def all_move(frame):
    """Shares drawn anew for every row of the window."""
    shares = np.random.default_rng(0).dirichlet([5.0, 5.0, 5.0], len(frame))
    late = (frame["date"] >= START).to_numpy()
    return frame.assign(
        **{
            n: np.where(late, shares[:, k], frame[n])
            for k, n in enumerate(("ads", "coupon", "rebate"))
        }
    )


@pytest.mark.parametrize(
    ("change", "start", "message"),
    [
        (
            none_moves,
            START,
            "Expected rows in the replay window that moved at all against their unit's previous "
            "row, got none of",
        ),
        (
            all_move,
            START,
            r"\d+ of \d+ moved by more than 2.0% of their budget. Set `small_move` in "
            r"\[report\] to what is no decision for you; a fifth of the rows moved by up to 0.\d",
        ),
        (
            lambda f: f[f["date"] == START],
            START,
            "Expected several dates, got only 2025-01-16",
        ),
        (
            lambda f: f,
            FIRST,
            "Expected dates before 2025-01-06 to learn predictable demand from",
        ),
        (
            lambda f: f,
            "2030-01-01",
            "Expected dates from 2030-01-01 on to replay, got 2025-01-06 to 2025-01-25",
        ),
        (
            lambda f: f,
            FIRST + timedelta(days=1),
            "Expected at least 50 no-move rows on dates before .* got 0",
        ),
        (
            lambda f: f[f["item"] == "i0000"],
            START,
            "Expected at least 50 no-move rows on dates before",
        ),
    ],
)
def test_a_log_that_cannot_be_replayed_gives_a_verdict_and_no_metric(
    change, start, message
):
    result = matched_replay(read(change(moved_frame(units=60))), true_gain, start, CONFIG)
    assert result.verdict.startswith("cannot be evaluated: ")
    assert re.search(message, result.verdict)
    assert len(result.estimates) == 0
    assert len(result.to_frame()) == 0
    assert not result.is_evaluated


def jitter(frame, spread):
    """Spends that never repeat exactly."""
    rng = np.random.default_rng(3)
    names = ["ads", "coupon", "rebate"]
    values = frame[names].to_numpy() * np.exp(spread * rng.standard_normal((len(frame), 3)))
    return frame.assign(
        **dict(zip(names, (values / values.sum(axis=1, keepdims=True)).T, strict=True))
    )


def test_spends_that_never_repeat_are_compared_with_the_smallest_moves():
    frame = jitter(moved_frame(units=500), 0.01)
    found = matched_replay(read(frame), true_gain, START, CONFIG)
    assert found["rho_gain"].low > 0
    assert "Hardly any row kept its mix exactly" in found.notes[0]
    assert "`small_move` of [report]" in found.notes[0]
    exact = matched_replay(logs_of(), true_gain, START, CONFIG)
    assert not any("Hardly any row" in note for note in exact.notes)


def test_the_advice_to_set_small_move_helps():
    frame = all_move(moved_frame(units=200))
    refused = matched_replay(read(frame), true_gain, START, CONFIG).verdict
    least = float(re.search(r"moved by up to ([\d.]+)\.", refused)[1])
    raised = replace(CONFIG, small_move=least)
    found = matched_replay(read(frame), true_gain, START, raised)
    assert "no decision for you" not in found.verdict
    assert found.is_evaluated


def test_one_unit_has_no_controls_of_its_date():
    lone = read(moved_frame(units=1, days=200))
    result = matched_replay(
        lone, true_gain, FIRST + timedelta(days=150), replace(CONFIG, least_events=2)
    )
    assert "has a control of its date and category" in result.verdict
    assert np.isnan(result.balance.after).all()


def test_an_empty_log_gives_a_verdict():
    none = logs_of().take(np.zeros(len(logs_of()), dtype=bool))
    assert matched_replay(none, true_gain, START, CONFIG).verdict == (
        "cannot be evaluated: Expected rows to replay, got an empty log."
    )


def test_events_that_cannot_be_balanced_are_not_reported():
    wide = replace(
        CONFIG, settings=(MatchSetting(caliper=9.0, neighbours=500, category="category"),)
    )
    result = matched_replay(logs_of(), true_gain, START, wide)
    assert result.verdict.startswith(
        "cannot be evaluated: no matching keeps every |SMD| below 0.1."
    )
    assert f"on {result.balance.worst!r}" in result.verdict
    assert result.balance.largest >= 0.1
    assert len(result.estimates) == 0
    assert result.setting is None


def test_too_few_matched_events_are_not_ranked():
    result = matched_replay(
        logs_of(), true_gain, START, replace(CONFIG, least_events=10**6)
    )
    assert "Expected at least 1000000 matched events to rank, got" in result.verdict
    assert result.balance is not None


def test_constant_gains_rank_nothing():
    result = rank_window(window(), lambda asked, to: np.full(len(to), 2.0), CONFIG)
    assert "Expected gains that differ between events, got 2 for all" in result.verdict
    assert len(result.estimates) == 0
    assert result.setting is not None


def test_gains_that_are_no_numbers_are_refused():
    with pytest.raises(
        LogError, match="Expected finite predictions, got 1 of .* NaN or infinite"
    ):
        rank_window(
            window(),
            lambda asked, to: np.where(np.arange(len(to)) == 3, np.nan, 1.0),
            CONFIG,
        )
    with pytest.raises(
        LogError, match="Expected one prediction, response and unit per event, got"
    ):
        rank_window(window(), lambda asked, to: np.ones((len(to), 3)), CONFIG)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"categories": ("colour",)},
            "Expected a category among the categorical features \\['category'\\], got 'colour'",
        ),
        (
            {"categories": ("size",)},
            "Expected a category among the categorical features .* got 'size'",
        ),
        (
            {"features": ("category",)},
            "Expected features to match on among the numbers .* got 'category'",
        ),
        (
            {"features": ("orders",)},
            "Expected features to match on among the numbers .* got 'orders'",
        ),
        (
            {"features": ("gmv",)},
            "Expected features to match on among the numbers .* got 'gmv'",
        ),
    ],
)
def test_columns_that_cannot_be_matched_on_are_refused(changes, message):
    with pytest.raises(ConfigError, match=message):
        matched_replay(logs_of(), true_gain, START, replace(CONFIG, **changes))


@pytest.mark.parametrize("start", ["yesterday", object()])
def test_a_start_that_is_no_date_is_refused(start):
    with pytest.raises(
        ConfigError, match="Expected a date such as 2026-01-31 as start of the window"
    ):
        matched_replay(logs_of(), true_gain, start, CONFIG)


def test_a_config_out_of_range_is_refused():
    with pytest.raises(ConfigError, match="Expected `limit` above 0"):
        MatchedReplayConfig(limit=0.0)
    with pytest.raises(
        ConfigError, match="Expected `categories` of the replay to be a list of text"
    ):
        MatchedReplayConfig(categories="category")


def test_routine_traffic_of_the_marketplace_can_be_replayed():
    market = Marketplace(seed=1, channels=2)
    logs = market.sample(items=1200, days=24)
    logs = logs.take(~logs.table["exploration"].to_numpy())

    def oracle(asked, to):
        return market.gain(market.state(asked), asked.shares, to)["orders"]

    config = replace(CONFIG, features=("log_price",))
    result = matched_replay(logs, oracle, "2026-01-20", config)
    assert result.is_evaluated
    assert (
        result.balance.to_frame()
        .set_index("covariate")
        .loc["previous share of ads", "before"]
        > 0.2
    )
    assert result.balance.largest < 0.1
    assert result["demand_r2"].value > 0.8
    assert result["rho_gain"].n > 500
    # 0.05 is all that an oracle can reach here (docs/platform.md); 1/√n is the standard error.
    assert abs(result["rho_gain"].value - 0.05) < 4 / np.sqrt(result["rho_gain"].n)
