"""Does the guardrail keep GMV from falling while orders rise, and do certificates hold, in the
marketplace world?

    python experiments/guardrail.py --worlds discount --seeds 1 2 3
        # the trade-off of the paper's online test, enlarged
    python experiments/guardrail.py --worlds default --seeds 1 2
        # the world as it is: effects of .018 in noise of .34

Every cell fits orders and GMV once on a month of logs and decides on the next day of items never
seen; all changes are the oracle's. Finished cells are kept in experiments/results/guardrail.json,
models in `--models`. No learner was tuned here; the parameters of `discount` were chosen with the
oracle (see the head of the results).
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

import realloc
from realloc.decide.config import DecisionConfig
from realloc.decide.conservative import OutcomeTerm
from realloc.decide.decide import decide
from realloc.decide.gain_std import gain_std
from realloc.decide.problem import Problem
from realloc.learn.teacher.fit import DISAGREEMENT
from realloc.logs import Logs
from realloc.model.recommend import open_batches
from realloc.world.platform import (
    Marketplace,
    MarketplaceParameters,
    MarketState,
    ResponseParameters,
)
from realloc.world.platform.draws import Draws
from realloc.world.platform.items import draw_items, parse_names
from runner import commit

RESULTS = Path(__file__).parent / "results"
STRONG = ResponseParameters(scale=0.54, basket=2.4, discount_pull=1.0)
WORLDS = {
    "default": MarketplaceParameters(),
    "discount": MarketplaceParameters(response=STRONG),
}
SEEDS = (1, 2, 3, 4, 5)
CHANNELS, DAYS, TRAIN_ITEMS, TEST_ITEMS = 2, 30, 667, 2000
TEST_SEED, SYNERGY_SD = (
    1,
    0.3,
)  # sample seed of the fresh items; spread of the items' log synergy
GUARDRAIL, UNGUARDED, STEP = "gmv", {"gmv": 1e9}, 0.05
POLICIES: dict[str, dict[str, Any]] = {
    "orders, no guardrail": {"tolerances": UNGUARDED},
    "orders, gmv may lose .02": {"tolerances": {"gmv": 0.02}},
    "orders, gmv may lose .01": {"tolerances": {"gmv": 0.01}},
    "orders, gmv may lose 0": {},
    "orders + gmv, no guardrail": {
        "weights": {"orders": 1.0, "gmv": 1.0},
        "tolerances": UNGUARDED,
    },
    "orders + gmv, gmv may lose 0": {"weights": {"orders": 1.0, "gmv": 1.0}},
    "gmv alone": {"weights": {"gmv": 1.0}, "tolerances": UNGUARDED},
    "orders, no guardrail, fallback": {"tolerances": UNGUARDED, "fallback": True},
    "orders, gmv may lose 0, fallback": {"fallback": True},
}
Floats = NDArray[np.float64]


def cell(name: str, seed: int, models: Path) -> dict[str, Any]:
    """Fit or load; then every policy against the truth."""
    torch.set_num_threads(1)
    market = Marketplace(seed=seed, channels=CHANNELS, parameters=WORLDS[name])
    model, seconds = fit(market, models / f"{name}_{seed}")
    test = guard(market.sample(items=TEST_ITEMS, days=DAYS + 1, seed=TEST_SEED))
    test = test.take(np.flatnonzero(test.times == test.times.max()))
    found: dict[str, Any] = {"digest": market.parameters.digest, "seconds": seconds}
    for policy, changes in POLICIES.items():
        decision = replace(DecisionConfig(), **changes)
        found[policy] = measure(model, market, test, decision)
        found[f"truth: {policy}"] = with_truth(model, market, test, ("orders", "gmv"))
        found[f"true gmv: {policy}"] = with_truth(model, market, test, ("gmv",))
    model.config = replace(model.config, decision=DecisionConfig())
    found["any move"] = {
        side: any_move(model, market, test, side) for side in ("orders", "gmv")
    }
    found["committee"] = {
        side: list(one.committee.weights) for side, one in model.fitted.outcomes.items()
    }
    return found


def fit(market: Marketplace, path: Path) -> tuple[realloc.ReAlloc, float]:
    """With the public defaults."""
    if path.exists():
        return realloc.load(path), 0.0
    logs, began = (
        guard(market.sample(items=TRAIN_ITEMS, days=DAYS, seed=0)),
        time.process_time(),
    )
    model = realloc.ReAlloc(realloc.Config(seed=market.seed), quiet=True).fit(logs)
    model.save(path)
    return model, time.process_time() - began


def guard(logs: Logs) -> Logs:
    """GMV as the only guardrail."""
    return replace(logs, schema=replace(logs.schema, guardrails=(GUARDRAIL,)))


def measure(
    model: realloc.ReAlloc, market: Marketplace, test: Logs, decision: DecisionConfig
) -> dict[str, Any]:
    """Recommendations of the model, judged by the truth."""
    model.config = replace(model.config, decision=decision)
    answer = model.recommend(test).to_pandas()
    shares = answer[[f"share_{channel}" for channel in test.schema.channels]].to_numpy()
    moved = answer["moved"].to_numpy()
    found = judge(market, test, shares, moved, decision) | {
        "reasons": answer["reason"].value_counts().to_dict()
    }
    if not moved.any():
        return found
    weights, rows = decision.weights or {"orders": 1.0}, test.take(np.flatnonzero(moved))
    start, ends, answer = np.array(rows.shares), shares[moved], answer[moved]
    gain, sigma, lower = (
        answer[name].to_numpy() for name in ("gain", "gain_error", "gain_lower")
    )
    true, known = (
        weigh(market.gain(state, start, ends), weights)
        for state in (market.state(rows), known_state(market, rows))
    )
    parts = variances(model, rows, ends, weights)
    values = {
        "certified": (true >= lower).mean(),
        "certified_known": (known >= lower).mean(),
        "harmed": (true < 0).mean(),
        "promised": gain.mean(),
        "true": true.mean(),
        "lower": lower.mean(),
        "sigma": sigma.mean(),
        "moved_share": answer["moved_share"].mean(),
        **scores(true, gain, sigma),
        "z_sd_known": ((known - gain) / sigma).std(),
        "factor_needed": factor_needed(gain - true, parts, decision.confidence),
        "factor_needed_known": factor_needed(gain - known, parts, decision.confidence),
    }
    return found | {name: float(value) for name, value in values.items()}


def known_state(market: Marketplace, rows: Logs) -> MarketState:
    """The state with an item's own taste and synergy averaged out: orders and GMV are linear in
    both, so gains become E[gain | category, price, budget, shares], the most that columns can tell.
    """
    state, sizes = market.state(rows), market.parameters.items
    items = draw_items(
        market.rules.catalogue, Draws((market.seed, TEST_SEED), 0, TEST_ITEMS), sizes
    )
    items = items.take(parse_names(rows.units)[rows.unit_codes][:, 1])
    own = items.taste - market.rules.catalogue.affinity[items.category]
    pull = state.pull * np.exp(sizes.taste_sd**2 / 2 - own)
    return replace(
        state, pull=pull, synergy=state.synergy / items.synergy * np.exp(SYNERGY_SD**2 / 2)
    )


def judge(
    market: Marketplace,
    test: Logs,
    shares: Floats,
    moved: NDArray[np.bool_],
    decision: DecisionConfig,
) -> Any:
    """True changes of every outcome; part of moved rows whose GMV falls by more than tolerated."""
    state, start = market.state(test), np.array(test.shares)
    before, after = market.response(state, start), market.response(state, shares)
    gains = {name: after[name] - before[name] for name in before}
    tolerance = decision.tolerances.get(GUARDRAIL, 0.0)
    found: dict[str, Any] = {"moved": float(moved.mean())}
    for name, gain in gains.items():
        found[name] = float(gain.mean())
        found[f"{name}_percent"] = float(
            100 * (np.exp(after[name]).sum() / np.exp(before[name]).sum() - 1)
        )
        if moved.any():
            found[f"{name}_falls"] = float((gain[moved] < 0).mean())
    if moved.any() and tolerance < UNGUARDED[GUARDRAIL]:
        found["gmv_broken"] = float((gains["gmv"][moved] < -tolerance).mean())
    return found


def weigh(gains: dict[str, Floats], weights: dict[str, float]) -> Floats:
    """The objective's gain."""
    return sum(
        (weight * gains[name] for name, weight in weights.items()), start=np.zeros(())
    )


def scores(true: Floats, gain: Floats, sigma: Floats) -> dict[str, float]:
    """Errors of gains in their own standard deviations."""
    z = (true - gain) / sigma
    return {
        "z_mean": z.mean(),
        "z_sd": z.std(),
        "z_05": np.quantile(z, 0.05),
        "z_rms": np.sqrt(np.square(z).mean()),
    }


def factor_needed(gap: Floats, parts: tuple[Floats, Floats], confidence: float) -> float:
    """Smallest multiple c of the surfaces' disagreement at which `confidence` of these very moves
    would have been certified: P(gap ≤ radius · √(posterior + c² disagreement)) ≥ confidence, gap =
    promised − true; the moves stay as they are.
    """
    posterior, apart = parts
    radius, low, high = NormalDist().inv_cdf(confidence), 0.0, 20.0
    for _ in range(40):
        factor = (low + high) / 2
        enough = (
            gap <= radius * np.sqrt(posterior + factor**2 * apart)
        ).mean() >= confidence
        low, high = (low, factor) if enough else (factor, high)
    return high


def variances(
    model: realloc.ReAlloc, test: Logs, ends: Floats, weights: dict[str, float]
) -> tuple[Floats, Floats]:
    """σ̂² of moves in parts: posterior, and the surfaces' disagreement."""
    x, start = model.fitted.encoder.encode(test).values, np.array(test.shares)
    total = np.zeros((2, len(x)))
    for name, weight in weights.items():
        own = model.fitted.outcomes[name].covariance
        if own is None or own.misfit is None:
            raise RuntimeError("Expected a teacher of several surfaces.")
        bare = replace(own, misfit=0.0).covariance(x, start)
        posterior = np.square(gain_std(bare, start, ends[:, None])[:, 0])
        moved = np.square((ends - start) * own.scaling.inverse * own.scaling.outcome).sum(
            axis=1
        )
        total += weight**2 * np.stack([posterior, own.misfit / DISAGREEMENT**2 * moved])
    return total[0], total[1]


def any_move(
    model: realloc.ReAlloc, market: Marketplace, test: Logs, side: str
) -> dict[str, float]:
    """5 points from ads to coupon in every row that can: errors without the choice of the best."""
    start = np.array(test.shares)
    can = (start[:, 0] >= STEP) & market.state(test).opened.all(axis=1)
    rows = test.take(np.flatnonzero(can))
    start = np.array(rows.shares)
    ends = start + STEP * np.array([-1.0, 1.0])
    problem = whole_problem(model, rows)
    term = next(term for term in problem.outcomes if term.name == side)
    every = np.arange(len(rows))
    gain, sigma = (
        part(every, start, ends[:, None])[:, 0] for part in (term.gain, term.sigma)
    )
    true, known = (
        market.gain(state, start, ends)[side]
        for state in (market.state(rows), known_state(market, rows))
    )
    found = scores(true, gain, sigma) | {
        "rows": len(rows),
        "sigma": sigma.mean(),
        "error_mean": (gain - true).mean(),
        "error_sd": (gain - true).std(),
        "error_known_sd": (gain - known).std(),
        "hidden_sd": (true - known).std(),
        "true_sd": true.std(),
        "gain_sd": gain.std(),
        "correlation": np.corrcoef(gain, true)[0, 1] if gain.std() > 0 else 0.0,
        "z_sd_known": ((known - gain) / sigma).std(),
        "supported": problem.support.allowed(every, start, ends[:, None]).mean(),
        "certified_up": (true >= gain - 1.645 * sigma).mean(),
        "certified_down": (-true >= -gain - 1.645 * sigma).mean(),
    }
    return {name: float(value) for name, value in found.items()}


def with_truth(
    model: realloc.ReAlloc, market: Marketplace, test: Logs, names: tuple[str, ...]
) -> dict[str, Any]:
    """The same decision with true gains and no uncertainty for `names`, inside the learned support:
    what a rule itself costs.
    """
    problem, state, decision = (
        whole_problem(model, test),
        market.state(test),
        model.config.decision,
    )
    outcomes = tuple(
        true_outcome(market, state, one.name, decision) if one.name in names else one
        for one in problem.outcomes
    )
    verdict = decide(replace(problem, outcomes=outcomes), decision)
    return judge(market, test, verdict.shares, verdict.moved, decision)


def true_outcome(
    market: Marketplace, state: MarketState, name: str, decision: DecisionConfig
) -> OutcomeTerm:
    """An outcome whose gains are the truth."""

    def gain(rows: NDArray[Any], start: Floats, ends: Floats) -> Floats:
        m, own = ends.shape[1], state.take(rows)
        found = [market.gain(own, start, ends[:, j])[name] for j in range(m)]
        return np.stack(found, axis=1)

    def slopes(rows: NDArray[Any], held: Floats) -> Floats:
        return market.gradient(state.take(rows), held)[name]

    zero: Callable[..., Floats] = lambda rows, start, ends: np.zeros(ends.shape[:2])  # noqa: E731
    main = name != GUARDRAIL
    weight = decision.weights.get(name, 0.0) if decision.weights else float(main)
    tolerance = None if main else decision.tolerances.get(name, 0.0)
    return OutcomeTerm(
        name=name, gain=gain, sigma=zero, slopes=slopes, weight=weight, tolerance=tolerance
    )


def whole_problem(model: realloc.ReAlloc, test: Logs) -> Problem:
    """All rows in one batch."""
    (batch,) = open_batches(model.fitted, test, model.config, model.config.constraints)
    return batch.problem


def run(
    worlds: list[str], seeds: list[int], path: Path, models: Path, code: str
) -> dict[str, Any]:
    models.mkdir(parents=True, exist_ok=True)
    cells = json.loads(path.read_text()) if path.exists() else {}
    for seed in seeds:
        for name in worlds:
            if f"{name}/{seed}" in cells:
                continue
            cells[f"{name}/{seed}"] = cell(name, seed, models)
            cells["commit"] = commit() or code
            path.write_text(json.dumps(dict(sorted(cells.items())), indent=1))
            print(f"{name}/{seed} done", flush=True)
    return cells


def mean(cells: dict[str, Any], world: str, keys: tuple[str, ...]) -> float:
    """Over the seeds in which the figure exists: no move, no certificate."""
    found = [cells[f"{world}/{seed}"] for seed in done(cells, world)]
    for key in keys:
        found = [one[key] for one in found if key in one]
    return float(np.mean(found)) if found else float("nan")


def done(cells: dict[str, Any], world: str) -> list[int]:
    return sorted(int(key.split("/")[1]) for key in cells if key.startswith(f"{world}/"))


def table(
    cells: dict[str, Any],
    world: str,
    rows: dict[str, tuple[str, ...]],
    columns: dict[str, str],
) -> list[str]:
    """One line per entry of `rows`, means over seeds."""
    lines = ["| | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for title, keys in rows.items():
        figures = (mean(cells, world, (*keys, key)) for key in columns.values())
        lines.append(
            f"| {title} | "
            + " | ".join("–" if np.isnan(one) else f"{one:.4g}" for one in figures)
            + " |"
        )
    return [*lines, ""]


def to_markdown(cells: dict[str, Any]) -> str:
    lines = [
        f"Marketplace, {CHANNELS} channels. Log: {TRAIN_ITEMS} items × {DAYS} days, a tenth of "
        "them randomized, the rest by "
        f"the legacy policy; decisions for {TEST_ITEMS:,} other items on the day after. One fit of "
        "orders and GMV per world "
        f"seed, public defaults, model seed = world seed; code of {cells['commit']}.",
        "",
        "`default` is the world as it is. `discount` makes the trade-off of the paper's online "
        "test visible at this size: "
        f"effects twice as large (scale {STRONG.scale}), baskets six times as sensitive "
        f"({STRONG.basket}), coupons more "
        f"attractive (discount_pull {STRONG.discount_pull}); noise and logging as in `default`. "
        "It was chosen with the oracle alone, on world seed 1, after 22 other settings had been "
        "looked at, so that the best "
        "moves for orders lower GMV: it shows what a guardrail does where there is such a "
        "trade-off, not how common that is.",
        "",
        "Known mean: E[gain | columns], an item's own taste and synergy averaged out; the rest of "
        "the truth is hidden from "
        "every column. z = (true − promised) / σ̂. Factor needed: the multiple of the surfaces' "
        "disagreement at which 95 % of "
        f"these very moves would have been certified; {DISAGREEMENT} is in use. "
        "Changes are means over all seeds; figures of moved rows, over the seeds that moved any.",
        "",
    ]
    for world in WORLDS:
        if done(cells, world):
            lines += world_tables(cells, world)
    return "\n".join(lines)


def world_tables(cells: dict[str, Any], world: str) -> list[str]:
    seeds = done(cells, world)
    changes = {
        "moved": "moved",
        "orders": "orders",
        "gmv": "gmv",
        "income": "income",
        "orders %": "orders_percent",
        "gmv %": "gmv_percent",
        "gmv falls": "gmv_falls",
        "gmv below −tolerance": "gmv_broken",
        "orders fall": "orders_falls",
    }
    held = {
        "certified": "certified",
        "known mean": "certified_known",
        "harmed": "harmed",
        "promised": "promised",
        "true": "true",
        "lower bound": "lower",
        "σ̂": "sigma",
        "z mean": "z_mean",
        "z sd": "z_sd",
        "z sd, known": "z_sd_known",
        "factor needed": "factor_needed",
        "factor, known": "factor_needed_known",
    }
    moves = {
        "σ̂": "sigma",
        "error mean": "error_mean",
        "error sd": "error_sd",
        "… to known mean": "error_known_sd",
        "hidden sd": "hidden_sd",
        "sd of truth": "true_sd",
        "sd of gains": "gain_sd",
        "correlation": "correlation",
        "z mean": "z_mean",
        "z sd": "z_sd",
        "z sd, known": "z_sd_known",
        "supported": "supported",
        "certified": "certified_up",
        "certified, other way": "certified_down",
    }
    listed = ", ".join(str(seed) for seed in seeds)
    lines = [f"## {world} (world seeds {listed})", ""]
    lines += [
        "**True change per row** (log units and % of the total), parts of moved rows that fall",
        "",
    ]
    lines += table(cells, world, {policy: (policy,) for policy in POLICIES}, changes)
    lines += [
        "**The same rules with the true gains, no uncertainty, inside the learned support**",
        "",
    ]
    truth = [policy for policy in POLICIES if "fallback" not in policy]
    lines += table(
        cells, world, {policy: (f"truth: {policy}",) for policy in truth}, changes
    )
    lines += [
        "**Learned orders, but the true GMV in the guardrail**: what uncertainty about GMV costs",
        "",
    ]
    guarded = [policy for policy in truth if policy.startswith("orders, gmv")]
    lines += table(
        cells, world, {policy: (f"true gmv: {policy}",) for policy in guarded}, changes
    )
    lines += [
        "**Certificate of moved rows** (nominal .95), by the policy's own objective",
        "",
    ]
    lines += table(cells, world, {policy: (policy,) for policy in POLICIES}, held)
    lines += [
        "**Certified, by seed**",
        "",
        "| | " + " | ".join(str(seed) for seed in seeds) + " |",
    ]
    lines += ["|---" * (len(seeds) + 1) + "|"]
    for policy in POLICIES:
        found = [cells[f"{world}/{seed}"][policy] for seed in seeds]
        shown = (
            f"{one['certified']:.3f} ({one['moved']:.2f} moved)"
            if "certified" in one
            else "0 moved"
            for one in found
        )
        lines.append(f"| {policy} | " + " | ".join(shown) + " |")
    lines += [
        "",
        "**Five points from ads to coupon in every row that can**: errors without any choice",
        "",
    ]
    lines += table(
        cells, world, {side: ("any move", side) for side in ("orders", "gmv")}, moves
    )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--worlds", nargs="+", default=list(WORLDS), choices=list(WORLDS))
    parser.add_argument("--seeds", type=int, nargs="+", default=list(SEEDS))
    parser.add_argument(
        "--models", type=Path, default=Path(tempfile.gettempdir()) / "guardrail"
    )
    parser.add_argument(
        "--code", default="", help="name of the code where it runs outside of git"
    )
    given = parser.parse_args()
    cells = run(
        given.worlds, given.seeds, RESULTS / "guardrail.json", given.models, given.code
    )
    text = to_markdown(cells)
    (RESULTS / "guardrail.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
