"""The paper's offline table on the marketplace, with the oracle's truth in extra columns: do
estimators rank as the truth does?

    python experiments/marketplace_offline.py
        # 20,000 items × 60 days, eight methods; resumable
    python experiments/marketplace_offline.py --quick
        # a tiny log and tiny learners: does it run?
    python experiments/marketplace_offline.py --table     # only write the tables again

Cells: learn/<method> fits one method on the common rows and keeps its answers; replay/<all, first,
second> ranks legacy moves of routine items, all of them and both halves of the items; value/<set>
values the arms that methods pick on randomized rows.
"""

from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import kendalltau, rankdata, spearmanr

import marketplace_learned as market
import realloc
from dr_coverage import true_agreement
from marketplace_learned import (
    FULL,
    METHODS,
    OURS,
    Answers,
    Floats,
    Mask,
    Size,
    Traffic,
    bare,
    chosen,
    draws_of,
)
from marketplace_tables import WANTED_TAU, to_markdown
from realloc.base.errors import LogError
from realloc.decide.config import DecisionConfig
from realloc.evaluate.agreement import agreement_lift
from realloc.evaluate.outcome_model import fit_outcome_model
from realloc.evaluate.randomized import RandomizedMoves
from realloc.evaluate.ranking import Bootstrap, support_violation
from realloc.evaluate.replay import (
    MatchedReplayConfig,
    MatchWindow,
    match_window,
    rank_window,
)
from realloc.evaluate.result import Estimate
from realloc.evaluate.value import policy_value
from realloc.evaluate.weights import target_arms
from realloc.learn.nuisances.config import NuisanceConfig
from realloc.learn.student.config import StudentConfig
from realloc.learn.support.config import SupportConfig
from realloc.learn.teacher.config import (
    FactualConfig,
    KernelConfig,
    NetworkConfig,
    TeacherConfig,
)
from runner import Figures, Study, arguments, conclude, run

HALVES = ("all", "first", "second")
NUMBERS = ("log_price", "orders_lag_trend_7")
MATCHING = MatchedReplayConfig(categories=("category",), features=NUMBERS)
VALUES = (
    "dr_lift",
    "dr_lift_over_hold",
    "lift_per_action",
    "lift_over_hold_per_action",
    "action_rate",
)
DRAWS = 400  # of items, for the interval of Kendall's τ


def make_config(size: Size) -> realloc.Config:
    """The public defaults; of the tiny log, learners as tiny as it is, which may move without
    evidence.
    """
    if size.whole:
        return realloc.Config(seed=size.world)
    return realloc.Config(
        seed=size.world,
        nuisances=NuisanceConfig(folds=3, models=("ridge",)),
        teacher=TeacherConfig(members=2, few_rows=0),
        kernel=KernelConfig(inducing=60, steps=10, rows=120),
        network=NetworkConfig(least_steps=0, epochs=2, width=16, trunk=8),
        factual=FactualConfig(least_steps=0, epochs=2, width=16),
        student=StudentConfig(least_steps=0, epochs=2, width=16, trunk=8),
        support=SupportConfig(members=4, margin=0.0),
        decision=DecisionConfig(min_significance=0.0),
    )


@cache
def answers_of(size: Size, methods: tuple[str, ...]) -> dict[str, Answers]:
    return {method: market.answers(method, size, make_config) for method in methods}


def cell(key: str, size: Size = FULL, methods: tuple[str, ...] = tuple(METHODS)) -> Figures:
    """One method's learning, one half's replay or one set's values."""
    part, name = key.split("/")
    if part == "learn":
        return of_decisions(open_log(size), market.answers(name, size, make_config))
    return (
        replayed(name, size, methods)
        if part == "replay"
        else valued(int(name), size, methods)
    )


def open_log(size: Size) -> Traffic:
    return market.open_traffic(size)


def of_decisions(traffic: Traffic, found: Answers) -> Figures:
    """A method's own recommendations for all routine items on the first day of evaluation, by
    support and by truth.
    """
    rows = traffic.today()
    start = traffic.logs.shares[traffic.events.previous[rows]]
    moved = np.abs(found["ends"] - start).max(axis=1) > 1e-12
    gain = traffic.gains(rows, found["ends"])
    violation, rate = support_violation(
        moved, found["supported"], traffic.logs.unit_codes[rows]
    )
    learned = traffic.to_learn()
    figures = {
        "rows": len(rows),
        "learned_rows": len(learned),
        "learned_items": learned.unit_count,
        "learned_explored": float(learned.table["exploration"].to_numpy().mean()),
        "true_gain": float(gain.mean()),
        "promised": float(found["promised"].mean()),
    }
    if moved.any():
        figures["true_gain_per_move"] = float(gain[moved].mean())
        figures["harmed"] = float((gain[moved] < 0).mean())
        figures["beyond_legacy"] = float(
            (~market.in_reach_of_legacy(traffic, found["ends"]))[moved].mean()
        )
        figures["moved_share"] = float(
            np.abs(found["ends"] - start).sum(axis=1)[moved].mean() / 2
        )
    return figures | {"violation": shown(violation), "update_rate": shown(rate)}


def replayed(half: str, size: Size, methods: tuple[str, ...]) -> Figures:
    """Match once, rank by every method, by the truth and by permuted gains."""
    traffic = open_log(size)
    keep = in_half(traffic, half)
    config = matching(size)
    try:
        window = match_window(bare(traffic.logs.take(keep)), traffic.start_date, config)
    except (
        LogError
    ) as problem:  # a half that cannot be matched is told, and takes no other cell with it
        return {"refused": str(problem)}
    events = np.flatnonzero(keep)[window.matches.events]  # rows of the whole log
    place = np.searchsorted(traffic.moved_rows(), events)
    true = traffic.gains(events, traffic.logs.shares[events])
    gains = {
        name: found["gain"][place] for name, found in answers_of(size, methods).items()
    }
    gains |= {"oracle": true, "permuted": permute(true)}
    balance, selection = window.selection.balance, window.selection
    return {
        "matching": selection.why,
        "events": len(events),
        "items": len(np.unique(window.moved.units)),
        "notes": list(window.notes[1:]),
        "balance": {
            name: [float(b), float(a)]
            for name, b, a in zip(balance.names, balance.before, balance.after, strict=True)
        },
        "effect_sd": float(true.std()),
        "methods": {
            name: ranked(window, gain, true, config) for name, gain in gains.items()
        },
        "agreement": rank_agreement(
            window, {name: gains[name] for name in methods if name not in OURS[1:]}, true
        ),
    }


def matching(size: Size) -> MatchedReplayConfig:
    """Same date and category; a tiny log has too few controls for that."""
    return MATCHING if size.whole else replace(MATCHING, categories=(), limit=0.25)


def in_half(traffic: Traffic, half: str) -> Mask:
    """Routine rows of items that can move, of all of these items or of every other one."""
    codes = traffic.logs.unit_codes
    parity = {"all": (0, 1), "first": (0,), "second": (1,)}[half]
    return ~traffic.explored & traffic.movable & np.isin(codes % 2, parity)


def permute(gain: Floats) -> Floats:
    """The negative control: every event gets the truth of another one."""
    return np.random.default_rng(0).permutation(gain)


def ranked(
    window: MatchWindow, gain: Floats, true: Floats, config: MatchedReplayConfig
) -> Figures:
    """The replay's metrics beside Spearman's ρ with the true effects of the same moves."""
    found = rank_window(window, lambda asked, to: gain, config)
    figures: Figures = {one.name: shown(one) for one in found.estimates}
    # Gains that are all alike are refused by the replay: they rank nothing.
    figures["true_rho"] = (
        float(spearmanr(gain, true)[0]) if np.ptp(gain) > 0 else float("nan")
    )
    return figures | {"verdict": found.verdict}


def rank_agreement(window: MatchWindow, gains: dict[str, Floats], true: Floats) -> Figures:
    """Kendall's τ between ρ(G, R) and ρ(G, τ) over methods, its interval over items, and how often
    it reaches the target.
    """
    names = [name for name, gain in gains.items() if np.ptp(gain) > 0]
    if len(names) < 2:
        return {}
    R, units = window.response, np.unique(window.moved.units, return_inverse=True)[1]
    ranks = np.stack([rankdata(gains[name]) for name in names], axis=1)
    truth = [spearmanr(gains[name], true)[0] for name in names]
    found = weighted_correlations(ranks, rankdata(R), units)
    taus = np.array([kendalltau(one, truth)[0] for one in found])
    low, high = np.nanquantile(taus[1:], [0.025, 0.975])
    figures = {
        "tau": taus[0],
        "low": low,
        "high": high,
        "reaches": (taus[1:] >= WANTED_TAU).mean(),
    }
    return {name: float(value) for name, value in figures.items()}


def weighted_correlations(
    columns: Floats, other: Floats, units: NDArray[np.int64]
) -> Floats:
    """Correlation of every column (n, m) with `other`: first as it is, then with items drawn again,
    (1 + DRAWS, m).
    """
    a, b = columns - columns.mean(axis=0), other - other.mean()
    parts = np.column_stack([np.ones(len(b)), a, b, a * b[:, None], a**2, b**2])
    sums = np.stack([np.bincount(units, part) for part in parts.T], axis=1)
    drawn = [np.ones((1, len(sums))), *Bootstrap(draws=DRAWS).weights(len(sums), len(sums))]
    found = []
    for weights in drawn:
        n, *rest = np.split(
            weights @ sums, np.cumsum([1, a.shape[1], 1, a.shape[1], a.shape[1]]), axis=1
        )
        ma, mb, ab, aa, bb = (part / n for part in rest)
        found.append((ab - ma * mb) / np.sqrt((aa - ma**2) * (bb - mb**2)))
    return np.concatenate(found)


def valued(number: int, size: Size, methods: tuple[str, ...]) -> Figures:
    """DR values of all methods on one set of randomized rows, beside the oracle's expectation on
    the very rows.
    """
    traffic = market.open_set(size, number)
    rows = draws_of(traffic)
    model = fit_outcome_model(rows)
    at = traffic.drawn_rows()
    gains = np.stack(
        [traffic.gains(at, np.maximum(rows.start + move, 0)) for move in rows.moves], axis=1
    )
    gains = np.where(rows.probabilities > 0, gains, 0.0)
    picked = {
        name: found[f"arm_{number}"] for name, found in answers_of(size, methods).items()
    }
    picked |= {"hold": np.zeros(len(rows), dtype=np.int64)}
    picked |= {"oracle": np.where(rows.probabilities > 0, gains, -np.inf).argmax(axis=1)}
    return {
        "rows": len(rows),
        "items": len(np.unique(rows.unit)),
        "logging": float((gains * rows.probabilities).sum(axis=1).mean()),
        "methods": {
            name: worth_of(rows, arms, model, gains) for name, arms in picked.items()
        },
    }


def worth_of(
    rows: RandomizedMoves, arms: NDArray[np.int64], model: Any, gains: Floats
) -> Figures:
    """Estimates and truths of one policy."""
    every, target = np.arange(len(rows)), target_arms(rows, arms)
    value = policy_value(rows, target, model)
    aimed, logging = gains[every, arms], (gains * rows.probabilities).sum(axis=1)
    acts = float((arms != 0).mean())
    figures: Figures = {name: shown(value[name]) for name in VALUES} | {
        "verdict": value.verdict
    }
    shares = np.maximum(rows.start + rows.moves[arms], 0)
    figures["agreement"] = shown(agreement_lift(rows, shares, model)["agreement_lift"])
    truth = {
        "dr_lift": float((aimed - logging).mean()),
        "dr_lift_over_hold": float(aimed.mean()),
        "action_rate": acts,
    }
    if acts:
        truth["lift_per_action"] = truth["dr_lift"] / acts
        truth["lift_over_hold_per_action"] = truth["dr_lift_over_hold"] / acts
        truth["agreement"] = true_agreement(rows, shares, gains)
        truth["harmed"] = float((aimed[arms != 0] < 0).mean())
    return figures | {"effective_rows": value["effective_rows"].value, "truth": truth}


def shown(estimate: Estimate) -> list[float]:
    """Value, low, high and n, as many digits as mean something."""
    return [
        float(f"{number:.6g}")
        for number in (estimate.value, estimate.low, estimate.high, estimate.n)
    ]


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument(
        "--rows", type=int, default=FULL.rows, help="rows that every method learns from"
    )
    given = parser.parse_args()
    size, name = chosen(given, "marketplace_offline")
    work = partial(cell, size=size)
    # Variants of ReAlloc are the same fit, so they come after it.
    stages = [
        [f"learn/{name}" for name in METHODS if (name in OURS[1:]) == later]
        for later in (False, True)
    ]
    rest = (
        *(f"replay/{half}" for half in HALVES),
        *(f"value/{number}" for number in range(size.sets + 1)),
    )
    if not given.table:
        for keys in stages:
            run(Study(name, work, tuple(keys)), given.jobs)
    conclude(Study(name, work, rest), given, partial(to_markdown, size=size))


if __name__ == "__main__":
    main()
