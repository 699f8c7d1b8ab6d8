"""ReAlloc and its rivals in the worlds of the zoo.

    python experiments/zoo.py                      # evaluation half, five seeds; hours; resumable
    python experiments/zoo.py --half tuning --methods realloc ridge --seeds 201
    python experiments/zoo.py --quick              # two small worlds, one seed; minutes

Every method learns from the same rows and has the same support, movement budget and search. Value
is the deployable uplift (moves that leave the true region count as not made) as a part of the
oracle's; harm is the share of moved rows that lose; `held` the share of moved rows whose true gain
is at least `gain_lower`; `promised` the sum of promised gains over the sum of true ones. Of ReAlloc
also: whether the interval of the total gain holds, and the value with the fallback on.
"""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from scipy.stats import t

import realloc
from realloc.baselines.find import find_baseline
from realloc.decide.totals import GainSum
from realloc.decide.types import MOVED
from realloc.world.zoo import CARDS, ZooSample, ZooWorld
from runner import Figures, Study, arguments, conclude, describe, markdown

HALVES = ("tuning", "evaluation")
TEST_ROWS = 2000
MOST_PERIODS = 5
SEEDS = tuple(range(1, 6))
RIVALS = (
    "s_nn_ensemble",
    "linear_dml",
    "linear_dml_poly",
    "vcnet",
    "r_learner",
    "s_gbdt_local",
    "ridge_interactions",
)
METHODS = ("realloc", *RIVALS)
QUICK_WORLDS = ("one_segment", "promotions_alone")
QUICK_UNITS = 150


def cell(key: str, units: int | None = None) -> Figures:
    """One method in one world of one seed."""
    method, name, number = key.split("/")
    seed = int(number)
    world = ZooWorld(name, seed)
    policy = make(method, seed)
    policy.fit(world.draw(units, seed=0).logs)
    periods = min(MOST_PERIODS, world.parameters.periods)
    test = world.draw(TEST_ROWS // periods, periods, seed=1)
    decision = policy.decide(test.logs)
    moved = np.isin(decision.reason, MOVED)
    true = np.where(moved, test.gain(decision.shares), 0.0)
    supported = ~moved | test.supported(decision.shares)
    best = test.gain(test.best(realloc.Config().decision.searching()))
    figures: Figures = {
        "oracle": float(best.mean()),
        "uplift": float(np.where(supported, true, 0.0).mean()),
        "moved": float(moved.mean()),
        "outside": float((~supported).mean()),
    }
    if moved.any():
        figures["harm"] = float((true < 0)[moved].mean())
        figures["promised"] = float(decision.gain[moved].mean())
        figures["true"] = float(true[moved].mean())
        lower = decision.gain_lower[moved]
        if np.isfinite(lower).all():
            figures["held"] = float((true[moved] >= lower).mean())
    if isinstance(policy, realloc.ReAlloc):
        committee = policy.fitted.main.committee
        figures["weights"] = list(committee.weights)
        figures["significance"] = committee.significance
        further = decision.further
        total = GainSum.of(decision.gain, further["gain_error"], further["common_error"])
        figures["total_held"] = float(abs(true.sum() - total.gain) <= total.half)
        figures["fallback"] = fallback_value(policy, test)
    return figures


def fallback_value(policy: realloc.ReAlloc, test: ZooSample) -> float:
    """Deployable uplift where rows whose `gain_lower` is below 0 are kept."""
    config = policy.config
    careful = replace(config.decision, fallback=True)
    decision = policy.decide_with(careful, config.constraints).decide(test.logs)
    supported = test.supported(decision.shares)
    return float(np.where(supported, test.gain(decision.shares), 0.0).mean())


def make(method: str, seed: int) -> Any:
    """A policy with the defaults of its kind."""
    config = realloc.Config(seed=seed)
    if method == "realloc":
        return realloc.ReAlloc(config, quiet=True)
    return find_baseline(method)(config=config)


def overview(cells: dict[str, Figures]) -> list[str]:
    """ReAlloc in every world beside the best rival of the seeds that both have.

    docs/zoo.md shows this table.
    """
    heads = ["world", "logs", "value", "least", "best rival, same logs", "harm", "held"]
    rows: list[list[str]] = []
    for world in CARDS:
        ours = of_world(cells, "realloc", world)
        if not ours:
            continue
        values = [value(cell) for cell in ours.values()]
        harm = [cell["harm"] for cell in ours.values() if "harm" in cell]
        held = [cell["held"] for cell in ours.values() if "held" in cell]
        worth = [f"{np.mean(values):.3f}", f"{min(values):.3f}"]
        best = best_rival(cells, ours, world)
        if not any(cell["oracle"] > 0 for cell in ours.values()):
            moving = sum(cell["moved"] > 0 for cell in ours.values())
            worth = ["no effect", f"moved in {moving}"]
            best = "–"
        rows.append([f"`{world}`", str(len(ours)), *worth, best, span(harm), span(held)])
    return markdown(heads, rows)


def best_rival(cells: dict[str, Figures], ours: dict[str, Figures], world: str) -> str:
    """The rival with the highest mean, and what ReAlloc has in the same logs."""
    means: dict[str, tuple[float, float]] = {}
    for rival in RIVALS:
        theirs = of_world(cells, rival, world)
        both = theirs.keys() & ours.keys()
        if both:
            means[rival] = (
                float(np.mean([value(theirs[seed]) for seed in both])),
                float(np.mean([value(ours[seed]) for seed in both])),
            )
    if not means:
        return "not run"
    best = max(means, key=lambda rival: means[rival][0])
    return f"{means[best][0]:.3f} {best}; ReAlloc {means[best][1]:.3f}"


def of_world(cells: dict[str, Figures], method: str, world: str) -> dict[str, Figures]:
    """Cells of a method in a world, by seed."""
    start = f"{method}/{world}/"
    return {key[len(start) :]: cell for key, cell in cells.items() if key.startswith(start)}


def span(values: list[float]) -> str:
    """The least and the largest."""
    return f"{min(values):.3f} to {max(values):.3f}" if values else "–"


def report(cells: dict[str, Figures]) -> str:
    """The overview, then one row per world and method, means over seeds."""
    heads = [
        "world",
        "method",
        "value",
        "harm",
        "moved",
        "outside",
        "held",
        "promised / true",
    ]
    rows: list[list[str]] = []
    for name in CARDS:
        for method in METHODS:
            found = list(of_world(cells, method, name).values())
            if found:
                rows.append([name, method, *row_of(found)])
    lines = [*overview(cells), *markdown(heads, rows), *averages(cells), *targets(cells)]
    return "\n".join([*lines, "", describe(cells), ""])


def row_of(found: list[Figures]) -> list[str]:
    """The mean of each figure, – where there is none."""
    names = ("harm", "moved", "outside", "held")
    promised = [c["promised"] / c["true"] for c in found if c.get("true", 0.0) > 0]
    told = [[c[name] for c in found if name in c] for name in names]
    return [_mean([value(c) for c in found]), *map(_mean, told), _mean(promised)]


def value(found: Figures) -> float:
    """Of the oracle's uplift; where the oracle has none, the uplift itself."""
    return found["uplift"] / found["oracle"] if found["oracle"] > 0 else found["uplift"]


def averages(cells: dict[str, Figures]) -> list[str]:
    """Against each rival, over the worlds and seeds that both have, with an effect."""
    lines: list[str] = []
    for rival in RIVALS:
        ahead: list[float] = []
        for key, ours in cells.items():
            method, _, place = key.partition("/")
            theirs = cells.get(f"{rival}/{place}")
            if method == "realloc" and theirs and ours["oracle"] > 0:
                ahead.append(value(ours) - value(theirs))
        if len(ahead) > 1:
            half = t.ppf(0.975, len(ahead) - 1) * np.std(ahead, ddof=1) / len(ahead) ** 0.5
            lines.append(
                f"- ReAlloc ahead of {rival} by {np.mean(ahead):+.3f} ± {half:.3f} "
                f"({len(ahead)} logs, Student's t)"
            )
    return lines


def targets(cells: dict[str, Figures]) -> list[str]:
    """What was asked for, over the logs that there are."""
    ours = {key: cell for key, cell in cells.items() if key.startswith("realloc/")}
    behind: dict[str, float] = {}
    for key, cell in ours.items():
        place = key.partition("/")[2]
        theirs = [value(cells[k]) for rival in RIVALS if (k := f"{rival}/{place}") in cells]
        if theirs and cell["oracle"] > 0:
            behind[place] = max(theirs) - value(cell)
    near = sum(gap <= 0.02 for gap in behind.values())
    harms = [cell["harm"] for cell in ours.values() if "harm" in cell]
    totals = [cell["total_held"] for cell in ours.values() if "total_held" in cell]
    kept = [
        cell["fallback"] / cell["uplift"] for cell in ours.values() if cell["uplift"] > 0
    ]
    return [
        f"- First or within .02 of the best rival: {near} of {len(behind)} logs",
        f"- Harm of the moved: {_mean(harms)} on average, {max(harms, default=0.0):.3f} at most",
        f"- The interval of the total gain holds: {_mean(totals)} of {len(totals)} logs",
        f"- The fallback keeps {_mean(kept)} of the value on average",
    ]


def _mean(values: list[float]) -> str:
    return f"{np.mean(values):.3f}" if values else "–"


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--half", choices=HALVES, default="evaluation")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--worlds", nargs="+", choices=list(CARDS))
    parser.add_argument("--name", help="of the file of results; zoo_<half> unless given")
    given = parser.parse_args()
    if given.quick:
        worlds = QUICK_WORLDS
        seeds = given.seeds or (1,)
    else:
        worlds = given.worlds or [n for n, card in CARDS.items() if card.half == given.half]
        seeds = given.seeds or SEEDS
    name = given.name or ("zoo_quick" if given.quick else f"zoo_{given.half}")
    keys = tuple(
        f"{method}/{world}/{seed}"
        for seed in seeds
        for world in worlds
        for method in given.methods
    )
    study = Study(name, partial(cell, units=QUICK_UNITS if given.quick else None), keys)
    conclude(study, given, report)


if __name__ == "__main__":
    main()
