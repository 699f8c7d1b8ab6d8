"""Decision problems drawn at random: students, borders, logged sets of channels, constraints."""

from dataclasses import dataclass

import numpy as np

from realloc.decide.conservative import OutcomeTerm
from realloc.decide.constraints.constraints import Constraints, Group
from realloc.decide.constraints.limits import compile_limits
from realloc.decide.gain_std import GainStd
from realloc.decide.problem import Problem
from realloc.decide.search.gain_arrays import NetworkArrays
from realloc.decide.search.point_index import PointIndex
from realloc.learn.student.local_polynomial import Trunk, near
from realloc.learn.support.config import SupportConfig
from realloc.learn.support.conformal import ConformalRanks
from realloc.learn.support.density import Border, Density
from realloc.learn.support.direction import Direction
from realloc.learn.support.logged import Logged
from realloc.learn.support.support import StateSupport, Support
from realloc.learn.teacher.repeated_mixes import (
    GainBeyondSurface,
    RepeatedMixes,
    StdBeyondSurface,
)

CONSTRAINTS = {
    "free": Constraints(),
    "bounds": Constraints(
        floors={"c0": 0.1}, caps={"c1": 0.6}, largest_move=0.08, smallest_move=0.01
    ),
    "groups": Constraints(
        groups=(Group(channels=("c0", "c1"), floor=0.2, cap=0.8),), frozen=("c0",)
    ),
    "money": Constraints(floors_money={"c0": 5.0}, largest_move_money=4.0, open=("*",)),
    "grid": Constraints(grid=0.02, caps={"c1": 0.5}),
}


@dataclass(frozen=True, kw_only=True)
class Case:
    """What kind of problem."""

    K: int = 3
    n: int = 30
    constraints: str = "free"
    kind: str = "log_ratio"  # of support
    outcomes: int = 1
    guardrails: int = 0
    mixes: bool = False
    units: int = 40
    steep: float = 1.0  # how far units reach


def draw(seed: int, case: Case) -> Problem:
    """Rows with wavy gains, uncertainty, borders and constraints."""
    random = np.random.default_rng(seed)
    start = draw_shares(random, case, case.n)
    budget = np.round(random.uniform(0, 200, case.n), 2) * (random.random(case.n) > 0.1)
    used = (start > 0) | (random.random(start.shape) < 0.5)
    names = tuple(f"c{k}" for k in range(case.K))
    limits = compile_limits(CONSTRAINTS[case.constraints], names, start, budget, used)
    mixes = draw_mixes(random, case) if case.mixes else None
    terms = [
        draw_term(random, case, start, number, mixes)
        for number in range(case.outcomes + case.guardrails)
    ]
    return Problem(
        start,
        draw_support(random, case, start),
        limits,
        tuple(terms),
        1.6,
        repeated_mixes=None if mixes is None else mixes.shares,
    )


def draw_shares(random, case, n):
    shares = random.dirichlet(np.full(case.K, 2.0), n)
    if case.kind == "log_ratio":
        return shares
    resting = (random.random(shares.shape) < 0.3) & (shares < 0.3)
    shares = np.where(resting & (resting.sum(axis=1, keepdims=True) < case.K), 0.0, shares)
    return shares / shares.sum(axis=1, keepdims=True)


def draw_mixes(random, case):
    shares = np.unique(draw_shares(random, case, 25).round(12), axis=0)
    shares = shares / shares.sum(axis=1, keepdims=True)
    counts = random.integers(1, 9, len(shares))
    return RepeatedMixes(shares, random.normal(size=len(shares)), counts, 0.3, 0.4)


def draw_term(random, case, start, number, mixes):
    n, K = start.shape
    U = case.units
    directions = (case.steep * random.normal(size=(K, U))).astype(np.float32)
    network = NetworkArrays(
        directions=directions,
        centre=np.full(K, 1 / K, np.float32),
        inverse=random.uniform(3, 6, K).astype(np.float32),
        linear=random.normal(size=(n, K)).astype(np.float32),
        shifts=random.normal(size=(n, U)).astype(np.float32),
        heights=random.normal(size=(n, U)).astype(np.float32),
        unit=0.7,
    )

    def local(base, radius):
        z = ((base - network.centre) * network.inverse).astype(np.float32)
        seen = z @ directions + network.shifts
        trunk = Trunk(directions, seen, network.heights, network.linear)
        found = near(trunk, network.inverse, network.unit, base, radius)
        return found if mixes is None else GainBeyondSurface(found, mixes)

    root = random.normal(size=(n, K, K)) * random.choice([0.1, 1.0])
    sigma = GainStd(root @ root.transpose(0, 2, 1))
    watched = number >= case.outcomes
    return OutcomeTerm(
        name=f"y{number}",
        gain=network.gain if mixes is None else GainBeyondSurface(network.gain, mixes),
        sigma=sigma if mixes is None else StdBeyondSurface(sigma, mixes),
        slopes=network.field,
        weight=0.0 if watched else (1.0, -0.3, 0.5)[number % 3],
        tolerance=float(random.choice([0.05, 0.5])) if watched else None,
        common_error=0.15,
        local_gain=local,
        network=network,
    )


def draw_support(random, case, start):
    """A border around the rows' own places, and logged moves near it."""
    n, K = start.shape
    C = K if case.kind == "sphere" else K - 1
    whiten = random.normal(size=(C, C)) * (3.0 if case.kind == "sphere" else 1.0)
    whiten += 2 * np.eye(C)
    by_count = random.uniform(0.8, 1.2, K) if case.kind == "partial" else np.ones(K)
    nothing = np.zeros((0, 0))
    density = Density(
        case.kind,
        random.normal(size=C) * 0.3,
        whiten,
        None,  # type: ignore[arg-type]  neither the terms of a state
        None,  # type: ignore[arg-type]  nor what was fitted to them is asked for
        nothing,
        nothing,
        by_count,
    )
    whitened = Border(
        density, np.zeros((n, C)), np.ones(n), np.zeros(n), np.zeros(n)
    ).place(np.arange(n), start)
    border = Border(
        density,
        whitened + random.normal(size=(n, C)) * 0.4,
        random.uniform(1.0, 4.0, n),
        random.uniform(0, 0.1, n),
        random.uniform(0, 0.01, n),
    )
    shares = draw_shares(random, case, 300)
    count = len(shares)
    logged = Logged(
        x=np.zeros((count, 1), np.float32),
        shares=np.concatenate([shares[: count - n // 2], start[: n // 2]]),
        unit=np.array(["u"] * count),
        time=np.zeros(count, "datetime64[us]"),
        window=np.zeros(count, np.int64),
        rank=np.zeros(count),
    )
    margin = float(random.choice([0.0, 2.0]))
    support = Support(
        logged, density, ConformalRanks(np.sort(random.uniform(0, 3, 80))), SupportConfig()
    )
    support = Support(logged, density, support.ranks, SupportConfig(margin=margin))
    support.__dict__["direction"] = draw_direction(random, whitened)
    return StateSupport(support, border, 1.5)


def draw_direction(random, places):
    both = np.concatenate([places, 0.5 * places], axis=1)
    dimensions = min(12, both.shape[1])
    axes = np.linalg.qr(random.normal(size=(both.shape[1],) * 2))[0][:, :dimensions]
    points = np.repeat(both @ axes, 12, axis=0)
    points = points + random.normal(size=points.shape) * 0.2
    index = PointIndex(points)
    return Direction(index, axes, 1.3, ConformalRanks(np.sort(random.random(200))), 0.3, 5)
