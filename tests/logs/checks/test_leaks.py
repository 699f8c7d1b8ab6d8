"""Features known only after the decision are found by value and by name; past values are not."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from realloc import World, check_source, read_logs
from realloc.logs.checks.leaks import Ranking, rank_correlation
from tests.conftest import SPENDS, make_frame
from tests.logs.sources import codes


def with_leak(rng, **columns):
    frame = make_frame(units=60, days=10, seed=1)
    noise = rng.normal(0, 0.5, len(frame))
    made = {
        "tally": frame["orders"] * 3 + noise,
        "mirror": frame["ads"] / frame[["ads", "coupon", "rebate"]].sum(axis=1),
    }
    return frame.assign(**{name: made[name] for name in columns or made})


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def test_a_column_that_moves_with_the_outcome_is_left_out(rng):
    logs = read_logs(with_leak(rng, tally=1), SPENDS)
    assert "tally" not in logs.features
    (note,) = logs.notes
    assert (note.code, note.column) == ("post_decision_values", "tally")
    assert "it moves with the outcome (rank correlation 1.00)" in note.what


def test_a_column_that_moves_with_a_share_is_left_out(rng):
    logs = read_logs(with_leak(rng, mirror=1), SPENDS)
    assert "share of 'ads' (rank correlation 1.00)" in logs.notes[0].what


def test_a_listed_leak_is_a_warning_and_an_error_where_its_name_agrees(rng):
    frame = (
        with_leak(rng, tally=1)
        .rename(columns={"tally": "clicks"})
        .assign(tally=lambda f: f["clicks"])
    )
    listed = check_source(frame, replace(SPENDS, features=("price", "tally", "clicks")))
    assert [
        (f.column, f.level) for f in listed.findings if f.code == "post_decision_values"
    ] == [
        ("clicks", "error"),
        ("tally", "warning"),
    ]
    declared = replace(
        SPENDS, features=("price", "tally", "clicks"), known_before=("tally", "clicks")
    )
    assert check_source(frame, declared).ok


def test_yesterdays_outcome_is_a_fine_feature(rng):
    frame = make_frame(units=60, days=10, seed=1)
    level = np.repeat(rng.normal(100, 40, 60), 10)
    frame["orders"] = level + rng.normal(0, 1, len(frame))
    frame["orders_lag1"] = frame.groupby("item")["orders"].shift(1)
    assert np.corrcoef(frame["orders"][1:], frame["orders_lag1"].fillna(0)[1:])[0, 1] > 0.7
    assert "orders_lag1" in read_logs(frame, SPENDS).features


def test_with_one_row_per_unit_levels_decide(rng):
    frame = make_frame(units=300, days=1)
    leaky = frame.assign(
        tally=frame["orders"] * 2, loose=frame["orders"] + rng.normal(0, 4, len(frame))
    )
    logs = read_logs(leaky, SPENDS)
    assert "tally" not in logs.features
    assert "loose" in logs.features


def test_features_of_the_papers_world_are_not_accused():
    logs = World(regime="extreme", seed=3).sample(units=400, periods=8, seed=0)
    assert (
        len(read_logs(logs.to_arrow(), replace(logs.schema, features=None)).features) == 18
    )


def test_names_of_results_are_left_out_or_warned_about(frame):
    frame = frame.assign(
        clicks=np.arange(len(frame)) % 7, clicks_prev=np.arange(len(frame)) % 5
    )
    logs = read_logs(frame, SPENDS)
    assert "clicks" not in logs.features
    assert "clicks_prev" in logs.features
    listed = check_source(frame, replace(SPENDS, features=("clicks",)))
    assert [(f.code, f.level) for f in listed.findings if f.column == "clicks"] == [
        ("post_decision_name", "warning")
    ]
    unused = check_source(frame, replace(SPENDS, features=("price",)))
    assert ("post_decision_name", "info") in [(f.code, f.level) for f in unused.findings]
    assert "clicks" in read_logs(frame, replace(SPENDS, known_before=("clicks",))).features


@pytest.mark.parametrize(
    "make",
    [
        lambda f: np.log1p(f["orders"]),
        lambda f: f["orders"] ** 2,
        lambda f: pd.cut(f["orders"], 20).astype(str),
        lambda f: f["ads"] * 1.3,
    ],
    ids=["logarithm", "square", "bins", "spend"],
)
def test_functions_of_the_result_are_found(make):
    frame = make_frame(units=60, days=10, seed=1).assign(copy=make)
    assert "copy" not in read_logs(frame, SPENDS).features


def test_what_only_comes_close_stays_with_a_warning(rng):
    frame = make_frame(units=60, days=10, seed=1)
    frame["near"] = frame["orders"] + rng.normal(0, 2.0, len(frame))
    logs = read_logs(frame, SPENDS)
    assert "near" in logs.features
    found = [finding for finding in logs.check().warnings if finding.column == "near"]
    assert [finding.code for finding in found] == ["post_decision_values"]


def test_a_spend_that_is_not_listed_is_left_out_with_a_warning():
    frame = make_frame().rename(
        columns={name: f"{name}_spend" for name in ("ads", "coupon", "rebate")}
    )
    two = replace(SPENDS, channels=("ads_spend", "coupon_spend"))
    logs = read_logs(frame, two)
    assert "rebate_spend" not in logs.features
    assert "unlisted_spend" in [note.code for note in logs.notes]


def test_constant_empty_and_id_like_features_are_left_out(frame):
    worse = frame.assign(
        nothing=np.nan, same=1.0, note=[f"n{i}" for i in range(len(frame))]
    )
    logs = read_logs(worse, SPENDS)
    assert logs.features == ("price", "category", "promoted")
    assert {note.code for note in logs.notes} == {
        "all_missing",
        "constant_feature",
        "id_like",
    }
    listed = replace(SPENDS, features=("price", "nothing", "same", "note"))
    assert {"all_missing", "constant_feature", "id_like"} <= codes(
        worse, listed, level="warning"
    )


def test_high_cardinality_is_kept_as_a_category():
    frame = make_frame(units=200)
    frame["brand"] = [f"brand {i % 700}" for i in range(len(frame))]
    logs = read_logs(frame, SPENDS)
    assert "brand" in logs.features
    assert len(logs.feature("brand").chunk(0).dictionary) == 700


@pytest.mark.parametrize("gaps", [0.0, 0.3])
@pytest.mark.parametrize("values", [5, 10**6])
def test_ranks_taken_once_are_those_of_each_pair(rng, gaps, values):
    from scipy.stats import spearmanr

    a, b = rng.integers(0, values, (2, 400)).astype(float)
    a += b // 2
    a[rng.random(400) < gaps] = np.nan
    b[rng.random(400) < gaps / 2] = np.nan
    expected = abs(spearmanr(a, b, nan_policy="omit").statistic)
    assert rank_correlation(Ranking.of(a), Ranking.of(b)) == pytest.approx(
        expected, abs=1e-12
    )


def test_a_constant_or_absent_column_correlates_with_nothing(rng):
    other = Ranking.of(rng.normal(size=400))
    for values in (np.zeros(400), np.full(400, np.nan)):
        assert rank_correlation(Ranking.of(values), other) == 0
