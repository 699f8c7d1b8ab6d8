"""How good are decisions? Support, search, certificate and their sum, in the paper's world; every
figure with the truth.

    python experiments/decision_quality.py --jobs 2
        # seeds 1 to 10, four regimes; resumable; about an hour and a half
    python experiments/decision_quality.py --support    # only what needs no outcome: ten minutes

Finished cells are kept in experiments/results/decision_quality.json (support_quality.json).
Recoveries are parts of Oracle Local, the paper's greedy search with the true response inside the
true support; ours may exceed 1, because its search is better than greedy.
"""

import argparse
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

import realloc
from field_quality import run
from fitted import TEST, TRAIN, fitted
from grid_oracle import search_global
from realloc.base.simplex import tangent_basis
from realloc.decide.problem import score_ends
from realloc.decide.search.ascent import search_ascent
from realloc.decide.search.greedy import search_greedy
from realloc.learn.features.encode import fit_encoder
from realloc.learn.support.logged import remember_logged
from realloc.learn.support.support import Support, fit_support
from realloc.logs import Logs
from realloc.model.recommend import open_batches
from realloc.model.round import draw
from realloc.world import REGIMES, World
from realloc.world.oracle import search_config, true_gain, true_support
from realloc.world.score import score_shares
from runner import RESULTS, interval

NAMES, SEEDS = tuple(REGIMES), tuple(range(1, 11))
EXHAUSTED = 200  # rows of the exhaustive search
Floats = NDArray[np.float64]


def cell(regime: str, seed: int) -> dict[str, float]:
    """Fit once with the public defaults; then swap truth in for each part."""
    torch.set_num_threads(1)
    world, model = World(regime, seed), fitted(regime, seed)
    test, state = world.sample(**TEST), model.fitted
    return support_figures(
        state.support, state.encoder.encode(test).values, world, test
    ) | learned(model, world, test)


def support_cell(regime: str, seed: int) -> dict[str, float]:
    """The support alone, learned as a round does it."""
    torch.set_num_threads(1)
    world, config = World(regime, seed), realloc.Config(seed=seed)
    logs, test = world.sample(**TRAIN), world.sample(**TEST)
    encoder = fit_encoder(logs, config.features)
    x = encoder.encode(logs).values
    logged = remember_logged(None, logs, x, 0, config.support.rows, draw(seed, "logged", 0))
    support = fit_support(logged, config.support, draw(seed, "support", 0))
    return support_figures(support, encoder.encode(test).values, world, test)


def support_figures(
    support: Support, x: NDArray[np.float32], world: World, test: Logs
) -> dict[str, float]:
    return coverage(support, x, test) | with_true_response(support, x, world, test)


def coverage(support: Support, x: NDArray[np.float32], test: Logs) -> dict[str, float]:
    """Logged actions of fresh units inside the region, without its margin."""
    radius = support.density.at(x).radius(
        np.arange(len(test)), np.array(test.shares)[:, None]
    )[:, 0]
    return {
        f"cover_{level}": float((radius <= support.ranks.at(level / 100)).mean())
        for level in (90, 95, 99)
    }


def with_true_response(
    support: Support, x: NDArray[np.float32], world: World, test: Logs
) -> dict[str, float]:
    """The true response searched inside the learned support and inside the true one."""
    state, start = world.state(test), np.array(test.shares)
    gain, settings = true_gain(world.surface(state)), search_config(world.parameters)
    opened = support.at(x)
    truth = true_support(world.region(state), world.parameters.path_intervals)
    found: dict[str, float] = {}
    for name, search in (("greedy", search_greedy), ("ascent", search_ascent)):
        for kind, allowed in (("true", truth), ("learned", opened.allowed)):
            scored = score_shares(
                world, test, search(start, gain, allowed, settings).shares
            )
            found[f"true_field_{kind}_support_{name}"] = scored["safe_local_recovery"].value
            found[f"true_field_{kind}_support_{name}_oos"] = scored["oos_rate"].value
    best = score_shares(world, test, search_global(world, state, start))
    return found | {"global": best["safe_local_recovery"].value}


def learned(model: realloc.ReAlloc, world: World, test: Logs) -> dict[str, float]:
    """Recommendations of the model: as they are, with the greedy search, with the true support,
    with the fallback.
    """
    found: dict[str, float] = {}
    surface, start = world.surface(world.state(test)), np.array(test.shares)
    channels = test.schema.channels
    for name, changes in (
        ("ascent", {}),
        ("greedy", {"search": "greedy"}),
        ("fallback", {"fallback": True}),
    ):
        model.config = replace(
            model.config, decision=replace(realloc.Config().decision, **changes)
        )
        answer = model.recommend(test).to_pandas()
        shares = answer[[f"share_{channel}" for channel in channels]].to_numpy()
        scored, moved = score_shares(world, test, shares), answer["moved"].to_numpy()
        gain = surface.value(shares) - surface.value(start)
        found |= {
            f"learned_{name}": scored["safe_local_recovery"].value,
            f"learned_{name}_oos": scored["oos_rate"].value,
            f"learned_{name}_harm": scored["harm_rate"].value,
            f"learned_{name}_moved": float(moved.mean()),
            f"learned_{name}_certified": float(
                (gain >= answer["gain_lower"])[moved].mean()
            ),
            f"learned_{name}_promised": float(answer["gain"][moved].mean()),
            f"learned_{name}_true": float(gain[moved].mean()),
            f"learned_{name}_lower": float(answer["gain_lower"][moved].mean()),
        }
    model.config = replace(model.config, decision=realloc.Config().decision)
    return found | true_region(model, world, test) | search_error(model, test)


def true_region(model: realloc.ReAlloc, world: World, test: Logs) -> dict[str, float]:
    """The learned field inside the true support, greedy and ascent."""
    state, start = world.state(test), np.array(test.shares)
    truth = true_support(world.region(state), world.parameters.path_intervals)
    reading = model.fitted.main.student.read(model.fitted.encoder.encode(test).values)
    settings, found = search_config(world.parameters), {}
    for name, search in (("greedy", search_greedy), ("ascent", search_ascent)):
        trace = search(
            start,
            lambda rows, p, ends: reading.gain(rows, p, ends).mean(axis=0),
            truth,
            settings,
        )
        found[f"learned_field_true_support_{name}"] = score_shares(
            world, test, trace.shares
        )["safe_local_recovery"].value
    return found


def search_error(model: realloc.ReAlloc, test: Logs) -> dict[str, float]:
    """What the search misses of its own objective, against 2,640 ends in 120 directions of the same
    reachable set.
    """
    few = test.take(np.arange(EXHAUSTED))
    state, config = model.fitted, model.config
    case = next(open_batches(state, few, config, config.constraints)).problem
    rows, settings = np.arange(EXHAUSTED), config.decision.searching()
    angles, sizes = (
        np.linspace(0, 2 * np.pi, 121)[:-1],
        np.linspace(0, 1, 23)[1:] * settings.max_length,
    )
    directions = (tangent_basis(3) @ np.stack([np.cos(angles), np.sin(angles)])).T
    ends = case.start[:, None] + (sizes[:, None, None] * directions).reshape(-1, 3)
    inside = ends.min(axis=-1) >= 0
    ends = np.maximum(ends, 0)
    score = np.where(
        inside & case.support.allowed(rows, case.start, ends),
        objective(case, ends, config),
        0.0,
    )
    best = np.maximum(score.max(axis=1), 0.0)
    found = {}
    for name in ("ascent", "greedy"):
        search = search_ascent if name == "ascent" else search_greedy
        trace = search(
            case.start,
            lambda r, p, e: score_ends(case, r, p, e, config.decision),
            case.support.allowed,
            settings,
        )
        reached = np.maximum(objective(case, trace.shares[:, None], config)[:, 0], 0.0)
        found[f"search_{name}"] = float(reached.sum() / best.sum())
    return found


def objective(case: Any, ends: Floats, config: realloc.Config) -> Floats:
    return score_ends(case, np.arange(len(ends)), case.start, ends, config.decision)


def to_markdown(cells: dict[str, Any], seeds: tuple[int, ...]) -> str:
    done = {name: [s for s in seeds if f"{name}/{s}" in cells] for name in NAMES}
    count = ", ".join(f"{name} {len(found)}" for name, found in done.items())
    lines = [
        f"Means over world seeds {seeds[0]} to {seeds[-1]} (done: {count}), code of "
        f"{cells['commit']}.",
        "",
    ]

    def row(title: str, key: str, digits: int = 3) -> str:
        means = [
            np.mean([cells[f"{name}/{s}"][key] for s in found])
            for name, found in done.items()
        ]
        return f"| {title} | " + " | ".join(f"{mean:.{digits}f}" for mean in means) + " |"

    def table(title: str, rows: dict[str, str], digits: int = 3) -> None:
        known = next(value for name, value in cells.items() if name != "commit")
        rows = {name: key for name, key in rows.items() if key in known}
        if not rows:
            return
        lines.extend(
            [
                f"**{title}**",
                "",
                "| | " + " | ".join(NAMES) + " |",
                "|---" * (len(NAMES) + 1) + "|",
            ]
        )
        lines.extend(row(name, key, digits) for name, key in rows.items())
        lines.append("")

    table(
        "Coverage of fresh logged actions at nominal .90 / .95 / .99",
        {"0.90": "cover_90", "0.95": "cover_95", "0.99": "cover_99"},
        4,
    )
    table(
        "Where the uplift is lost: part of Oracle Local",
        {
            "the best supported grid point, no movement budget": "global",
            "true field, true support, greedy (Oracle Local)": "true_field_true_support_greedy",
            "true field, **learned support**, greedy": "true_field_learned_support_greedy",
            "**learned field**, true support, greedy": "learned_field_true_support_greedy",
            "learned field and support, greedy": "learned_greedy",
            "true field, true support, **ascent**": "true_field_true_support_ascent",
            "true field, learned support, ascent": "true_field_learned_support_ascent",
            "learned field, true support, ascent": "learned_field_true_support_ascent",
            "learned field and support, ascent: the default": "learned_ascent",
            "… that keeps rows whose lower bound is below 0": "learned_fallback",
        },
    )
    table(
        "Outside the true region, part of rows",
        {
            "true field, learned support, greedy": "true_field_learned_support_greedy_oos",
            "true field, learned support, ascent": "true_field_learned_support_ascent_oos",
            "the default": "learned_ascent_oos",
            "with the fallback": "learned_fallback_oos",
        },
        4,
    )
    table(
        "Certificate: moved rows whose true gain is at least `gain_lower` (nominal .95), and harm",
        {
            "the default: certified": "learned_ascent_certified",
            "with the fallback: certified": "learned_fallback_certified",
            "the default: harmed": "learned_ascent_harm",
            "with the fallback: harmed": "learned_fallback_harm",
            "the default: moved": "learned_ascent_moved",
            "with the fallback: moved": "learned_fallback_moved",
            "the default: promised gain": "learned_ascent_promised",
            "the default: true gain": "learned_ascent_true",
            "the default: lower bound": "learned_ascent_lower",
        },
    )
    table(
        "Search: part of the best of 2,640 ends per row, by the policy's own objective",
        {"ascent": "search_ascent", "greedy": "search_greedy"},
        4,
    )
    if "learned_ascent" not in next(
        value for name, value in cells.items() if name != "commit"
    ):
        return "\n".join(lines)
    worst = {
        name: interval(np.array([cells[f"{name}/{s}"]["learned_ascent"] for s in found]))
        for name, found in done.items()
    }
    lines.append("95 % intervals over seeds of the default's recovery: ")
    lines.append(
        "; ".join(f"{name} {low:.3f} to {high:.3f}" for name, (low, high) in worst.items())
        + "."
    )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--support", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seeds", type=int, nargs="+")
    given = parser.parse_args()
    name = "support_quality" if given.support else "decision_quality"
    work = support_cell if given.support else cell
    cells = run(name, work, tuple(given.seeds or SEEDS), NAMES, given.jobs)
    text = to_markdown(cells, SEEDS)
    (RESULTS / f"{name}.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
