"""What decides: rows, confounding, the number of channels, the number of members. Hard regime
unless the curve is about it.

    python experiments/curves.py                    # seeds 1 to 5; hours; resumable
    python experiments/curves.py --curves rows      # one curve
    python experiments/curves.py --quick            # the ends of every curve at a small size

Rivals are the strongest of the static table. Safe Recovery with the greedy search, the movement
budget and the learned support of all; outside and harm beside it. Only one parameter changes along
a curve. The last columns pair ReAlloc with the best rival of that place (by its mean over the seeds
that all have), seed by seed. Rivals have no uncertainty penalty; `bold` is ReAlloc without its own.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

import realloc
from realloc.baselines import BASELINES
from realloc.world import REGIMES, World
from runner import Figures, Study, arguments, conclude, describe, interval, markdown
from static_quality import decide, judge

SEEDS = (1, 2, 3, 4, 5)
TEST = {"units": 300, "periods": 4, "seed": 1}
SMALL_TEST = {"units": 60, "periods": 2, "seed": 1}
RIVALS = ("s_nn_ensemble", "r_learner", "linear_dml")
METHODS = ("realloc", *RIVALS)
ROWS = 20_000
METRIC = "safe_local_recovery"
SEARCHES = {
    "greedy": "greedy",
    "ascent": "ascent",
    "bold": "ascent, ReAlloc without its uncertainty penalty (β = 0)",
}


@dataclass(frozen=True)
class Curve:
    """A parameter, its values, and which methods it concerns."""

    title: str
    values: tuple[float, ...]
    methods: tuple[str, ...] = METHODS


CURVES = {
    "rows": Curve("rows", (5_000, 10_000, 20_000, 50_000, 100_000, 200_000)),
    "confounding": Curve("α_cf (all else as in hard)", (0.0, 0.5, 1.0, 1.5, 2.0, 2.5)),
    "channels": Curve("channels K", (3, 5, 9)),
    "members": Curve("members of the teacher", (1, 3, 5, 10), ("realloc",)),
}


def cell(key: str, quick: bool = False) -> Figures:
    """One method at one place of a curve."""
    curve, text, method, number = key.split("/")
    value, seed = float(text), int(number)
    regime = (
        replace(REGIMES["hard"], confounding=value)
        if curve == "confounding"
        else REGIMES["hard"]
    )
    world = World(regime, seed, channels=int(value) if curve == "channels" else 3)
    rows = 1500 if quick else (int(value) if curve == "rows" else ROWS)
    logs, test = (
        world.sample(units=rows // 10, periods=10, seed=0),
        world.sample(**(SMALL_TEST if quick else TEST)),
    )
    config = realloc.Config(seed=seed)
    if curve == "members":
        config = replace(config, teacher=replace(config.teacher, members=int(value)))
    if method == "realloc":
        model = realloc.ReAlloc(config, quiet=True).fit(logs)
        ways = {
            name: replace(config.decision, search=name) for name in ("greedy", "ascent")
        }
        ways["bold"] = replace(config.decision, search="ascent", beta=0.0)
        return {
            name: judge(world, test, decide(model, test, way)) for name, way in ways.items()
        }
    policy: Any = BASELINES[method](config=config, search="greedy")
    policy.fit(logs)
    found = {"greedy": judge(world, test, policy.decide(test))}
    policy.search = "ascent"
    return found | {"ascent": judge(world, test, policy.decide(test))}


def keys(curves: list[str], seeds: tuple[int, ...], quick: bool) -> tuple[str, ...]:
    """Ends first where it has to be quick."""
    found = []
    for seed in seeds:
        for name in curves:
            curve = CURVES[name]
            values = (curve.values[0], curve.values[-1]) if quick else curve.values
            found += [
                f"{name}/{value:g}/{method}/{seed}"
                for value in values
                for method in curve.methods
            ]
    return tuple(found)


def to_markdown(cells: dict[str, Figures]) -> str:
    """A table per curve and search."""
    lines = [
        "# Curves",
        "",
        f"Hard regime. {describe(cells)} Cells: Safe Recovery (outside, harmed; seeds).",
        "",
    ]
    lines += [
        "`minus best rival`: paired over seeds that all methods have, 95 % bootstrap interval of "
        "the mean.",
        "",
    ]
    for name, curve in CURVES.items():
        for search, title in SEARCHES.items():
            places = [
                (value, of_place(cells, f"{name}/{value:g}", search))
                for value in curve.values
            ]
            rows = [
                [
                    f"{value:g}",
                    *(shown(found.get(method, {})) for method in curve.methods),
                    *beside_best(curve, found),
                ]
                for value, found in places
                if "realloc" in found
            ]
            if rows:
                head = [
                    curve.title,
                    *curve.methods,
                    *(["best rival", "minus best rival"] if rivals(curve) else []),
                ]
                lines += [f"**{curve.title}**, {title}", "", *markdown(head, rows)]
    return "\n".join(lines)


def of_place(
    cells: dict[str, Figures], place: str, search: str
) -> dict[str, dict[int, Figures]]:
    """What is known of one place of a curve: method → seed → figures."""
    found: dict[str, dict[int, Figures]] = {}
    for key, cell in sorted(cells.items()):
        if key.startswith(f"{place}/"):
            method, seed = key.split("/")[2:]
            of_rival = (
                cell["ascent"] if method != "realloc" else None
            )  # without a penalty already
            if figures := cell.get(search, of_rival):
                found.setdefault(method, {})[int(seed)] = figures
    return found


def shown(found: dict[int, Figures]) -> str:
    """Means over seeds."""
    if not found:
        return "–"
    means = [
        np.mean([one[part] for one in found.values()])
        for part in (METRIC, "oos_rate", "harm_rate")
    ]
    return f"{means[0]:.3f} ({means[1]:.3f}, {means[2]:.3f}; {len(found)})"


def rivals(curve: Curve) -> tuple[str, ...]:
    """Methods of a curve beside ReAlloc."""
    return tuple(method for method in curve.methods if method != "realloc")


def beside_best(curve: Curve, found: dict[str, dict[int, Figures]]) -> list[str]:
    """The best rival's name, and ReAlloc minus it."""
    if not rivals(curve):
        return []
    seeds = sorted(
        set.intersection(*(set(found.get(method, {})) for method in curve.methods))
    )
    if not seeds:
        return ["–", "–"]
    by_method = {
        method: np.array([found[method][seed][METRIC] for seed in seeds])
        for method in curve.methods
    }
    best = max(rivals(curve), key=lambda method: float(by_method[method].mean()))
    gap = by_method["realloc"] - by_method[best]
    low, high = interval(gap)
    told = f"{low:+.3f} to {high:+.3f}; {len(seeds)} seeds" if len(seeds) > 1 else "1 seed"
    return [best, f"{gap.mean():+.3f} ({told})"]


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--curves", nargs="+", choices=list(CURVES), default=list(CURVES))
    given = parser.parse_args()
    seeds = tuple(given.seeds or ((1,) if given.quick else SEEDS))
    name = "curves_quick" if given.quick else "curves"
    study = Study(
        name, partial(cell, quick=given.quick), keys(given.curves, seeds, given.quick)
    )
    conclude(study, given, to_markdown)


if __name__ == "__main__":
    main()
