"""The compiled search takes numpy's decisions, knows what it does not know, and is not needed."""

import os
import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from realloc import ReAlloc
from realloc.decide import decide as module
from realloc.decide.config import DecisionConfig
from realloc.decide.decide import decide
from realloc.decide.problem import approximate_locally
from realloc.decide.search import compiled, point_index
from realloc.decide.search.compiled import CompiledSearch, compile_search
from realloc.decide.search.library import MOST_CHANNELS, search_library
from tests.decide.search.drawn import CONSTRAINTS, Case, draw
from tests.small import CONFIG, fitted, today, window

if search_library() is None and shutil.which(os.environ.get("CC", "cc")) is None:
    pytest.skip("no C compiler here: numpy searches", allow_module_level=True)

KINDS = ("log_ratio", "partial", "sphere")


def both(problem, config, monkeypatch):
    """Decisions by the C code and by numpy."""
    fast = decide(problem, config)
    with monkeypatch.context() as patch:
        patch.setattr(module, "compile_search", lambda *_: "asked for")
        patch.setattr(point_index, "search_library", lambda: None)
        slow = decide(problem, config)
    assert (fast.search_path, slow.search_path) == ("compiled", "numpy: asked for")
    return fast, slow


def assert_same(fast, slow):
    assert fast.reason.tolist() == slow.reason.tolist()
    assert fast.binding.tolist() == slow.binding.tolist()
    for name in ("shares", "gain", "sigma", "best_end", "best_gain", "best_sigma"):
        assert np.abs(getattr(fast, name) - getattr(slow, name)).max() <= 1e-9, name


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("constraints", CONSTRAINTS)
def test_both_take_the_same_decisions_under_any_rule(kind, constraints, monkeypatch):
    for seed, K in enumerate((2, 3, 5)):
        if constraints == "groups" and K == 2:
            continue
        case = Case(
            K=K, kind=kind, constraints=constraints, outcomes=1 + seed % 2, guardrails=1
        )
        config = DecisionConfig(beta=0.25 * seed, threshold=0.05 * (seed == 2))
        assert_same(*both(draw(seed, case), config, monkeypatch))


@pytest.mark.parametrize("K", [6, 7, 9, 12])
def test_many_channels(K, monkeypatch):
    for kind in ("log_ratio", "partial"):
        problem = draw(K, Case(K=K, kind=kind, n=12, guardrails=1))
        assert_same(*both(problem, DecisionConfig(beta=0.1), monkeypatch))


@pytest.mark.parametrize("search", ["ascent", "greedy"])
@pytest.mark.parametrize("kind", KINDS)
def test_directional_support_in_the_objective(search, kind, monkeypatch):
    config = DecisionConfig(lambda_support=0.1, search=search, beta=0.1)
    assert_same(*both(draw(3, Case(kind=kind, guardrails=1)), config, monkeypatch))


@pytest.mark.parametrize("search", ["ascent", "greedy"])
def test_repeated_mixes(search, monkeypatch):
    moved_to_a_mix = 0
    for seed in range(4):
        problem = draw(seed, Case(mixes=True, kind=KINDS[seed % 2], n=60))
        config = DecisionConfig(search=search, beta=0.1, max_length=0.4)
        fast, slow = both(problem, config, monkeypatch)
        assert_same(fast, slow)
        mixes = problem.repeated_mixes
        assert mixes is not None
        apart = np.abs(fast.shares[:, None] - mixes).sum(axis=-1).min(axis=1)
        moved_to_a_mix += int(((apart < 1e-9) & fast.moved).sum())
    assert moved_to_a_mix


@pytest.mark.parametrize(
    ("steep", "length"), [(0.2, 0.22), (2.0, 0.22), (1.0, 0.4), (1.0, 1.4), (9.0, 1.0)]
)
def test_any_reach_of_the_units(steep, length, monkeypatch):
    for K in (2, 3, 6):
        problem = draw(K, Case(K=K, steep=steep, n=20))
        config = DecisionConfig(max_length=length, beta=0.1)
        assert_same(*both(problem, config, monkeypatch))


def test_what_is_compared_moves_and_stays_for_many_reasons(monkeypatch):
    seen = set()
    for seed in range(12):
        kind = KINDS[seed % 3]
        case = Case(kind=kind, constraints="bounds", guardrails=seed % 2, n=80)
        found = both(draw(seed, case), DecisionConfig(beta=0.5), monkeypatch)
        assert_same(*found)
        seen |= set(found[0].reason.tolist())
    wanted = {"moved", "unsupported", "constrained", "uncertain", "required", "guardrail"}
    assert seen >= wanted


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    seed=st.integers(0, 2**32 - 1),
    case=st.builds(
        Case,
        K=st.integers(3, 8),
        n=st.just(10),
        constraints=st.sampled_from(list(CONSTRAINTS)),
        kind=st.sampled_from(KINDS),
        outcomes=st.integers(1, 2),
        guardrails=st.integers(0, 2),
        mixes=st.booleans(),
        units=st.sampled_from([1, 7, 40]),
        steep=st.sampled_from([0.5, 1.0, 3.0]),
    ),
    config=st.builds(
        DecisionConfig,
        search=st.sampled_from(["ascent", "greedy"]),
        steps=st.lists(
            st.sampled_from([0.005, 0.01, 0.02, 0.05, 0.1]),
            min_size=1,
            max_size=3,
            unique=True,
        ).map(tuple),
        max_length=st.sampled_from([0.05, 0.22, 0.5]),
        max_turns=st.sampled_from([1, 5, 40]),
        beta=st.sampled_from([0.0, 0.3]),
        lambda_support=st.sampled_from([0.0, 0.05]),
    ),
)
def test_under_any_settings(seed, case, config, monkeypatch):
    assert_same(*both(draw(seed, case), config, monkeypatch))


def test_a_row_alone_is_the_row_among_others():
    problem = draw(5, Case(kind="partial", guardrails=1, n=20))
    config = DecisionConfig(beta=0.1)
    among = decide(problem, config)
    fitted_to = fitted()
    rows = today(20)
    alone = [fitted_to.recommend(rows.iloc[[place]]) for place in range(len(rows))]
    together = fitted_to.recommend(rows)
    pd.testing.assert_frame_equal(
        pd.concat(alone), together, check_exact=False, rtol=0, atol=1e-9
    )
    assert among.moved.any()


def test_models_decide_alike_with_and_without(monkeypatch):
    model = fitted()
    rows = today(150)
    fast = model.recommend(rows)
    for place in (compiled, point_index):
        monkeypatch.setattr(place, "search_library", lambda: None)
    slow = model.recommend(rows)
    pd.testing.assert_frame_equal(fast, slow, check_exact=False, rtol=0, atol=1e-9)
    assert fast.moved.any()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            {"decision": replace(CONFIG.decision, uncertainty="members")},
            "no posterior covariance",
        ),
        (
            {
                "decision": replace(CONFIG.decision, lambda_support=0.01),
                "support": replace(CONFIG.support, omega="memory"),
            },
            "ω by the memory",
        ),
    ],
    ids=["members", "memory"],
)
def test_what_it_does_not_cover_is_left_to_numpy_and_says_why(change, reason, monkeypatch):
    asked = []
    monkeypatch.setattr(
        module, "compile_search", lambda *a: asked.append(compile_search(*a)) or asked[-1]
    )
    ReAlloc(replace(CONFIG, **change), quiet=True).fit(window()).recommend(today(20))
    assert set(asked) == {reason}


def test_more_channels_than_there_is_room_for_are_left_to_numpy():
    few, many = (
        draw(1, Case(K=K, n=2, units=3)) for K in (MOST_CHANNELS, MOST_CHANNELS + 1)
    )
    config = DecisionConfig()
    assert isinstance(prepare(few, config), CompiledSearch)
    assert prepare(many, config) == f"more than {MOST_CHANNELS} channels"
    fast = decide(few, replace(config, max_turns=2))
    assert fast.search_path == "compiled"


def prepare(problem, config):
    base, _ = problem.limits.repair()
    local = approximate_locally(problem, base, config)
    return compile_search(problem, local, base, config)


def test_wrong_sizes_are_refused_before_a_row_is_touched():
    problem = draw(1, Case(n=3))
    search = prepare(problem, DecisionConfig())
    assert isinstance(search, CompiledSearch)
    region = replace(search.region, intervals=99)
    with pytest.raises(ValueError, match="refused the sizes"):
        replace(search, region=region).search()
