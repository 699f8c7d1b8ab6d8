"""How good is the learned field? PairwiseCorr, EdgeNDCG and recovery with the ORACLE's support,
student against rivals.

    python experiments/field_quality.py
        # seeds 1 to 10, four regimes; resumable; about an hour on 2 cores
    python experiments/field_quality.py --tune         # the rivals' grid on seeds 201 and 202

Finished cells are kept in experiments/results/field_quality.json; `--jobs 2` uses two processes.
"""

import argparse
import json
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

import realloc
from field_rivals import Rival, RivalConfig, fit_r_learner, fit_s_learner
from realloc.decide.search.greedy import gain_of_potential, search_greedy
from realloc.learn.features.encode import fit_encoder
from realloc.learn.memory.buffer import remember
from realloc.learn.memory.moves import label_moves
from realloc.learn.nuisances.crossfit import cross_fit
from realloc.learn.student.distill import distill
from realloc.learn.teacher.fit import SurfaceConfigs, Teacher, draw_sample, fit_teacher
from realloc.logs import Logs
from realloc.model.round import draw, open_window
from realloc.world import REGIMES, World
from realloc.world.oracle import search_config, true_support
from realloc.world.score import score_field, score_shares
from runner import RESULTS, commit, interval

NAMES = tuple(REGIMES)
SEEDS, TUNING = tuple(range(1, 11)), (201, 202)
TRAIN = {"units": 2000, "periods": 10, "seed": 0}
TEST = {"units": 400, "periods": 5, "seed": 1}
DECIDED = {"units": 200, "periods": 2, "seed": 3}
DECIDING = (
    "student",
    "network_teacher",
    "s_ensemble",
    "r_learner",
)  # the kernel is slow to search
METRICS = ("pairwise_corr", "edge_ndcg", "top_edge_acc", "recovery")
METHODS = {
    "student": "student (ours)",
    "committee": "its committee of teachers, mean of members",
    "kernel_teacher": "– kernel surface alone",
    "network_teacher": "– network surface alone",
    "s_ensemble": "S-learner ensemble, SiLU (the factual surface alone)",
    "r_learner": "R-learner ensemble",
}
GRID = (
    (64, 20, 0.5),
    (64, 20, 1.5),
    (128, 40, 0.3),
    (128, 40, 0.5),
    (128, 40, 1.0),
)  # width, epochs, weight decay


@dataclass(frozen=True)
class Learned:
    """A mean potential (rows, shares (a, m, K)) → (a, m) of the decided rows, and a field at the
    test rows.
    """

    field: NDArray[np.float64]
    potential: Callable[[NDArray[np.integer], NDArray[np.floating]], NDArray[np.float64]]


def cell(regime: str, seed: int) -> dict[str, dict[str, float]]:
    """All methods on one world; every learner gets the same rows, folds, encoder and nuisances."""
    torch.set_num_threads(1)
    world = World(regime, seed)
    logs, test, decided = (world.sample(**size) for size in (TRAIN, TEST, DECIDED))
    return {
        name: score(world, test, decided if name in DECIDING else None, learned)
        for name, learned in learn_all(logs, test, decided, seed).items()
    }


def learn_all(logs: Logs, test: Logs, decided: Logs, seed: int) -> dict[str, Learned]:
    """Fit every method of `METHODS`, stage by stage as `run_round` does."""
    config = realloc.Config(seed=seed)
    encoder = fit_encoder(logs, config.features)
    window = open_window(logs, encoder, config, seed, None)
    nuisances = cross_fit(
        window.x,
        window.shares,
        window.outcome,
        window.folds,
        config.nuisances,
        draw(seed, "nuisances", 0),
    )
    surfaces = SurfaceConfigs(
        kernel=config.kernel, network=config.network, factual=config.factual
    )
    teacher = fit_teacher(
        window, nuisances, config.teacher, surfaces, draw(seed, "teacher", 0)
    )
    labels = label_moves(teacher, window, config.moves, 0, draw(seed, "moves", 0))
    replay = remember(None, labels, config.memory.capacity)
    student = distill(
        replay, teacher.scaling.numpy(), None, config.student, draw(seed, "student", 0)
    )
    sample = draw_sample(window, nuisances)
    states, places = encoder.encode(test).values, np.array(test.shares)
    deciding = encoder.encode(decided).values

    def of_teacher(one: Teacher) -> Learned:
        field = one.field(tensor(states), tensor(places)).mean(0).double().numpy()
        return Learned(
            field,
            lambda rows, p: (
                one.values(tensor(deciding[rows]), tensor(p)).mean(0).double().numpy()
            ),
        )

    def of_rival(rival: Rival) -> Learned:
        def potential(
            rows: NDArray[np.integer], p: NDArray[np.floating]
        ) -> NDArray[np.float64]:
            with torch.no_grad():
                return rival.value(tensor(deciding[rows]), tensor(p)).double().numpy()

        return Learned(rival.field(states, places), potential)

    even = np.full(places.shape[1], 1 / places.shape[1])

    def student_value(
        rows: NDArray[np.integer], p: NDArray[np.floating]
    ) -> NDArray[np.float64]:
        """The potential relative to even shares."""
        every = np.arange(len(rows))
        return student.read(deciding[rows]).mean_gain(
            every, np.tile(even, (len(rows), 1)), p
        )

    return {
        "student": Learned(
            student.read(states).field(np.arange(len(states)), places),
            student_value,
        ),
        "committee": of_teacher(teacher),
        "kernel_teacher": of_teacher(alone(teacher, 0)),
        "network_teacher": of_teacher(alone(teacher, 1)),
        "s_ensemble": of_teacher(alone(teacher, 2)),
        "r_learner": of_rival(fit_r_learner(sample, RivalConfig(), seed)),
    }


def alone(teacher: Teacher, surface: int) -> Teacher:
    """The teacher with one surface only."""
    weights = tuple(float(k == surface) for k in range(len(teacher.surfaces)))
    return replace(teacher, weighing=replace(teacher.weighing, weights=weights))


def score(
    world: World, test: Logs, decided: Logs | None, learned: Learned
) -> dict[str, float]:
    """Ranking metrics at the test rows; recovery of Oracle Local with the oracle's own support and
    budget.
    """
    ranked = score_field(world, test, learned.field)
    found = {name: ranked[name].value for name in METRICS[:3]}
    if decided is None:
        return found
    allowed = true_support(
        world.region(world.state(decided)), world.parameters.path_intervals
    )
    gain = gain_of_potential(learned.potential)
    trace = search_greedy(
        np.array(decided.shares), gain, allowed, search_config(world.parameters)
    )
    recovery = score_shares(world, decided, trace.shares)["safe_local_recovery"].value
    return {**found, "recovery": recovery}


def tensor(values: NDArray[Any]) -> torch.Tensor:
    return torch.from_numpy(np.array(values, dtype=np.float32))


def tune_cell(regime: str, seed: int) -> dict[str, dict[str, float]]:
    """Held-out squared error above the noise of both rivals over the grid."""
    torch.set_num_threads(1)
    world, config = World(regime, seed), realloc.Config(seed=seed)
    logs = world.sample(**TRAIN)
    window = open_window(logs, fit_encoder(logs, config.features), config, seed, None)
    nuisances = cross_fit(
        window.x,
        window.shares,
        window.outcome,
        window.folds,
        config.nuisances,
        draw(seed, "nuisances", 0),
    )
    sample = draw_sample(window, nuisances)
    found: dict[str, dict[str, float]] = {}
    for width, epochs, decay in GRID:
        rival = RivalConfig(width=width, epochs=epochs, weight_decay=decay)
        pair = {
            "s_ensemble": fit_s_learner(sample, rival, seed),
            "r_learner": fit_r_learner(sample, rival, seed),
        }
        key = f"width {width}, {epochs} epochs, weight decay {decay}"
        found[key] = {
            name: one.held_out - world.parameters.noise**2 for name, one in pair.items()
        }
    return found


def run(
    name: str,
    work: Callable[[str, int], Any],
    seeds: tuple[int, ...],
    regimes: tuple[str, ...],
    jobs: int,
) -> Any:
    """Fill experiments/results/<name>.json, a cell at a time."""
    path = RESULTS / f"{name}.json"
    cells = json.loads(path.read_text()) if path.exists() else {}
    todo = [
        (regime, seed)
        for seed in seeds
        for regime in regimes
        if f"{regime}/{seed}" not in cells
    ]
    with ProcessPoolExecutor(jobs) as pool:
        futures = {pool.submit(work, *key): key for key in todo}
        for future in as_completed(futures):
            regime, seed = futures[future]
            cells[f"{regime}/{seed}"] = future.result()
            cells["commit"] = commit()
            path.write_text(json.dumps(dict(sorted(cells.items())), indent=1))
            print(f"{regime}/{seed} done, {len(cells)} cells", flush=True)
    return cells


def values(
    cells: dict[str, Any], regime: str, method: str, metric: str
) -> NDArray[np.float64]:
    return np.array(
        [
            cells[f"{regime}/{s}"][method].get(metric, np.nan)
            for s in SEEDS
            if f"{regime}/{s}" in cells
        ]
    )


def to_markdown(cells: dict[str, Any]) -> str:
    count = len(values(cells, NAMES[0], "student", "recovery"))
    seeds = f"world seeds {SEEDS[0]} to {SEEDS[-1]} ({count} done)"
    lines = [
        f"Means over {seeds}, code of {cells['commit']}. Tuned on seeds 201 and 202 only.",
        "",
    ]
    for metric in METRICS:
        known = (
            METHODS if metric != "recovery" else {name: METHODS[name] for name in DECIDING}
        )
        lines += [
            f"**{metric}**",
            "",
            "| | " + " | ".join(NAMES) + " |",
            "|---" * (len(NAMES) + 1) + "|",
        ]
        for method, title in known.items():
            means = [values(cells, regime, method, metric).mean() for regime in NAMES]
            lines.append(
                f"| {title} | " + " | ".join(f"{mean:.3f}" for mean in means) + " |"
            )
        lines += [
            "",
            f"student minus …, {metric}: mean and 95 % interval over seeds (paired)",
            "",
        ]
        lines += ["| | " + " | ".join(NAMES) + " |", "|---" * (len(NAMES) + 1) + "|"]
        for method, title in list(known.items())[1:]:
            row = []
            for regime in NAMES:
                gap = values(cells, regime, "student", metric) - values(
                    cells, regime, method, metric
                )
                low, high = interval(gap)
                row.append(f"{gap.mean():+.3f} ({low:+.3f} to {high:+.3f})")
            lines.append(f"| {title} | " + " | ".join(row) + " |")
        lines.append("")
    return "\n".join(lines)


def to_tuning(cells: dict[str, Any]) -> str:
    lines = [
        "Held-out squared error above the noise, mean over hard and benign, seeds 201 and 202.",
        "",
    ]
    lines += ["| | S-learner ensemble | R-learner ensemble |", "|---|---|---|"]
    found = [value for name, value in cells.items() if name != "commit"]
    for key in found[0]:
        s, r = (
            np.mean([one[key][name] for one in found])
            for name in ("s_ensemble", "r_learner")
        )
        lines.append(f"| {key} | {s:.3f} | {r:.3f} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tune", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    if given.tune:
        text = to_tuning(
            run("field_tuning", tune_cell, TUNING, ("hard", "benign"), given.jobs)
        )
        (RESULTS / "field_tuning.md").write_text(text)
    else:
        text = to_markdown(run("field_quality", cell, SEEDS, NAMES, given.jobs))
        (RESULTS / "field_quality.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
