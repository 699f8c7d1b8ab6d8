"""The compiled search takes numpy's decisions, knows what it does not know, and is not needed."""

import os
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from realloc import ReAlloc
from realloc.base.simplex import tangent_basis
from realloc.decide import decide as module
from realloc.decide.config import DecisionConfig
from realloc.decide.conservative import OutcomeTerm
from realloc.decide.constraints.constraints import Constraints, Group
from realloc.decide.constraints.limits import compile_limits
from realloc.decide.decide import decide
from realloc.decide.gain_std import GainStd
from realloc.decide.problem import Problem, approximate_locally
from realloc.decide.search import compiled
from realloc.decide.search.compiled import (
    CompiledSearch,
    SupportRegion,
    compile_search,
    search_library,
)
from realloc.decide.search.polynomials import Polynomials, exponents
from realloc.learn.support.coordinates import channel_codes, pattern_codes
from realloc.learn.support.density import Border
from tests.small import CONFIG, fitted, today, window

ROOT = Path(__file__).parents[3]
NAMES = ("ads", "coupon", "rebate", "tv", "radio")

if search_library() is None and shutil.which(os.environ.get("CC", "cc")) is None:
    pytest.skip("no C compiler here: numpy searches", allow_module_level=True)


@dataclass(frozen=True)
class Axes:
    """As much of a density as a border asks for."""

    axes: tuple
    kind: str = "log_ratio"

    def along(self, shares, log_centre=None):
        bent = np.log(np.maximum(np.moveaxis(shares, -1, 0), compiled_tiny()))
        axes, shift = self.axes
        found = [bent[0] * axes[0, d] - shift[d] for d in range(axes.shape[1])]
        for d in range(len(found)):
            for k in range(1, len(axes)):
                found[d] = found[d] + bent[k] * axes[k, d]
        return np.stack(found)

    def count_factor(self, shares):
        return np.ones(shares.shape[:-1])


def compiled_tiny():
    return float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class Support:
    """A border that is told as functions and as numbers."""

    border: Border
    limit: float
    margin: float
    patterns: np.ndarray

    def inside(self, rows, ends, start=None):
        known = np.isin(pattern_codes(ends), self.patterns)
        return (self.border.radius(rows, ends, self.margin) <= self.limit) & known

    def allowed(self, rows, start, ends):
        found = self.inside(rows, ends) & self.inside(rows, start[:, None])
        for part in np.arange(1, 10) / 10:
            between = (1 - part) * start[:, None] + part * ends
            found &= self.border.radius(rows, between, self.margin) <= self.limit
        return found

    def region(self):
        axes, shift = self.border.density.axes
        return SupportRegion(
            axes,
            shift,
            self.border.centre,
            self.border.scale,
            self.border.centre_variance,
            self.border.scale_variance,
            self.limit,
            self.margin,
            self.patterns,
            channel_codes(len(axes)),
            compiled_tiny(),
            10,
        )


def draw(seed, K, n, constraints, outcomes=1, zeros=False):
    """Rows with wavy gains, doubts, borders and constraints."""
    random = np.random.default_rng(seed)
    start = random.dirichlet(np.full(K, 2.0), n)
    if zeros:
        start[::3, 0] = 0.0
        start /= start.sum(axis=1, keepdims=True)
    budget = np.round(random.uniform(0, 200, n), 2) * (random.random(n) > 0.1)
    used = (start > 0) | (random.random((n, K)) < 0.5)
    limits = compile_limits(constraints, NAMES[:K], start, budget, used)
    base, _ = limits.repair()
    Q, terms = tangent_basis(K), len(list(exponents(K - 1, 6)))
    made = []
    for number in range(outcomes):
        coefficients = random.normal(size=(n, terms)).astype(np.float32)
        coefficients[:, -1] = 0.0  # nothing is gained by staying
        gain = Polynomials(coefficients, base, (Q / 0.22).astype(np.float32), 6)
        root = random.normal(size=(n, K, K)) * random.choice([0.1, 3.0])
        weight = (1.0, -0.3)[number]
        made.append(
            OutcomeTerm(
                f"y{number}", gain, GainStd(root @ root.transpose(0, 2, 1)), None, weight
            )
        )
    axes = (Q @ random.normal(size=(K - 1, K - 1)), random.normal(size=K - 1))
    density = Axes(axes)
    centre = np.moveaxis(density.along(start), 0, -1) + random.normal(size=(n, K - 1)) * 0.4
    border = Border(
        density,
        centre,
        random.uniform(0.3, 2, n),
        random.uniform(0, 0.1, n),
        random.uniform(0, 0.01, n),
    )
    patterns = np.unique(pattern_codes(start[: max(1, n // 2)]))
    support = Support(border, 1.2, float(random.choice([0.0, 2.0])), patterns)
    return Problem(start, support, limits, tuple(made), 1.6), base


def both(problem, base, config, monkeypatch):
    """Verdicts by the C code and by numpy."""
    local = approximate_locally(problem, base, config)
    assert isinstance(compile_search(problem, local, base, config), CompiledSearch)
    fast = decide(problem, config)
    with monkeypatch.context() as patch:
        patch.setattr(module, "compile_search", lambda *_: "asked for")
        slow = decide(problem, config)
    assert (fast.search_path, slow.search_path) == ("compiled", "numpy: asked for")
    return fast, slow


def assert_same(fast, slow):
    for name in ("shares", "gain", "sigma", "best_end", "best_gain", "best_sigma"):
        assert np.abs(getattr(fast, name) - getattr(slow, name)).max() <= 1e-9, name
    assert fast.reason.tolist() == slow.reason.tolist()
    assert fast.binding.tolist() == slow.binding.tolist()


CONSTRAINTS = {
    "free": Constraints(),
    "bounds": Constraints(
        floors={"ads": 0.1}, caps={"coupon": 0.6}, largest_move=0.08, smallest_move=0.01
    ),
    "groups": Constraints(
        groups=(Group(channels=("ads", "coupon"), floor=0.2, cap=0.8),), frozen=("ads",)
    ),
    "money": Constraints(floors_money={"ads": 5.0}, largest_move_money=4.0, open=("*",)),
}


@pytest.mark.parametrize(
    ("named", "K"),
    [
        (named, K)
        for named in CONSTRAINTS
        for K in (2, 3, 4, 5)
        if (named, K) != ("groups", 2)
    ],
)
def test_both_take_the_same_decisions(named, K, monkeypatch):
    for seed in range(4):
        problem, base = draw(
            seed, K, 60, CONSTRAINTS[named], outcomes=1 + seed % 2, zeros=seed == 3
        )
        fast, slow = both(
            problem,
            base,
            DecisionConfig(beta=0.25 * (seed % 3), threshold=0.05 * (seed == 2)),
            monkeypatch,
        )
        assert_same(fast, slow)


def test_what_is_compared_moves_and_stays_for_many_reasons(monkeypatch):
    seen = set()
    for seed in range(12):
        problem, base = draw(seed, 3, 80, CONSTRAINTS["bounds"], zeros=seed % 2 == 0)
        seen |= set(
            both(problem, base, DecisionConfig(beta=0.5), monkeypatch)[0].reason.tolist()
        )
    assert seen >= {"moved", "unsupported", "constrained", "uncertain", "required"}


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    seed=st.integers(0, 2**32 - 1),
    K=st.integers(2, 5),
    steps=st.lists(
        st.sampled_from([0.005, 0.01, 0.02, 0.05, 0.1]), min_size=1, max_size=3, unique=True
    ),
    length=st.sampled_from([0.05, 0.22]),
    turns=st.sampled_from([1, 5, 40]),
)
def test_under_any_settings(seed, K, steps, length, turns, monkeypatch):
    problem, base = draw(seed, K, 12, CONSTRAINTS["bounds" if seed % 2 else "free"])
    config = DecisionConfig(steps=tuple(steps), max_length=length, max_turns=turns)
    assert_same(*both(problem, base, config, monkeypatch))


def test_models_decide_alike_with_and_without(monkeypatch):
    model, rows = fitted(), today(150)
    asked = []
    monkeypatch.setattr(
        module, "compile_search", lambda *a: asked.append(compile_search(*a)) or asked[-1]
    )
    fast = model.recommend(rows)
    assert asked
    assert all(isinstance(one, CompiledSearch) for one in asked)
    monkeypatch.setattr(compiled, "search_library", lambda: None)
    slow = model.recommend(rows)
    pd.testing.assert_frame_equal(fast, slow, check_exact=False, rtol=0, atol=1e-9)
    assert asked[-1] == "the C search is not installed"
    assert fast.moved.any()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            {"decision": replace(CONFIG.decision, uncertainty="members")},
            "no posterior covariance",
        ),
        (
            {"decision": replace(CONFIG.decision, lambda_support=0.01)},
            "lambda_support above 0",
        ),
        ({"decision": replace(CONFIG.decision, search="greedy")}, "greedy search"),
        ({"constraints": Constraints(grid=0.01)}, "grid"),
        (
            {"support": replace(CONFIG.support, coordinates="sphere")},
            "no support region in log-ratios",
        ),
    ],
    ids=["members", "omega", "greedy", "grid", "sphere"],
)
def test_what_it_does_not_cover_is_left_to_numpy_and_says_why(change, reason, monkeypatch):
    asked = []
    monkeypatch.setattr(
        module, "compile_search", lambda *a: asked.append(compile_search(*a)) or asked[-1]
    )
    ReAlloc(replace(CONFIG, **change), quiet=True).fit(window()).recommend(today(20))
    assert set(asked) == {reason}


def test_a_guardrail_is_left_to_numpy():
    problem, base = draw(1, 3, 10, Constraints())
    config, watched = DecisionConfig(), replace(problem.outcomes[0], tolerance=0.1)
    assert isinstance(compile_search(problem, problem, base, config), CompiledSearch)
    guarded = replace(problem, outcomes=(watched,))
    assert compile_search(guarded, guarded, base, config) == "guardrail"
    assert decide(guarded, config).search_path == "numpy: guardrail"
