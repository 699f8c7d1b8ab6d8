"""How the noise σ_Y and the S-NN's rate and weight decay were chosen: held-out error and recovery
on seeds 201 and 202.

    python experiments/world_snn_tuning.py       # about 15 minutes on one core; resumable

Only `noise` differs from the frozen world, so the rows without a learner are the same in every
line.
"""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from realloc.world import REGIMES, World, WorldParameters
from realloc.world.score import score_shares
from world_snn import SNN, SNNConfig, search_constrained

RESULTS = Path(__file__).parent / "results" / "world_snn_tuning.json"
SEEDS = (201, 202)
PAPER = (0.84, 0.78, 0.74, 0.73)
# (σ_Y, rate, weight decay): the plain recipe on the easy world, trained ones on it, then the noise
# that fits
LINES = (
    (0.4, 1e-3, 1e-4),
    (0.4, 1e-2, 0.1),
    (1.5, 1e-2, 0.1),
    (2.5, 1e-3, 1e-2),
    (2.5, 1e-2, 0.1),
    (2.5, 1e-2, 1.0),
    (2.75, 1e-2, 1.0),
    (3.0, 1e-2, 1.0),
)


def cell(regime: str, seed: int, line: tuple[float, float, float]) -> dict[str, float]:
    noise, rate, decay = line
    world = World(regime, seed, parameters=replace(WorldParameters(), noise=noise))
    model = SNN(SNNConfig(learning_rate=rate, weight_decay=decay)).fit(
        world.sample(units=2000, periods=10, seed=0), seed
    )
    logs = world.sample(units=200, periods=4, seed=1)
    scores = score_shares(world, logs, search_constrained(model, world, logs))
    return {
        "recovery": scores["safe_local_recovery"].value,
        "excess": model.held_out_mse - noise**2,
    }


def to_markdown(cells: dict[str, dict[str, float]]) -> str:
    head = (
        "| σ_Y | rate | weight decay | "
        + " | ".join(REGIMES)
        + " |\n|---|---|---|"
        + "---|" * len(REGIMES)
    )
    rows = [head, "| paper |  |  | " + " | ".join(f"{value:.2f}" for value in PAPER) + " |"]
    for line in LINES:
        found = []
        for regime in REGIMES:
            mine = [
                cells[key] for seed in SEEDS if (key := f"{line}/{regime}/{seed}") in cells
            ]
            recovery, excess = (
                (np.mean([c[name] for c in mine]) for name in ("recovery", "excess"))
                if mine
                else (np.nan,) * 2
            )
            found.append(f"{recovery:.2f} ({excess:.2f})")
        rows.append(f"| {line[0]} | {line[1]} | {line[2]} | " + " | ".join(found) + " |")
    return (
        "Recovery of S-NN_C (held-out squared error above the noise), mean of seeds 201 and "
        "202.\n\n" + "\n".join(rows) + "\n"
    )


def main() -> None:
    torch.set_num_threads(1)
    cells: dict[str, dict[str, float]] = (
        json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    )
    for line in LINES:
        for regime in REGIMES:
            for seed in SEEDS:
                key = f"{line}/{regime}/{seed}"
                if key not in cells:
                    cells[key] = cell(regime, seed, line)
                    RESULTS.write_text(json.dumps(cells, indent=1))
                    print(key, cells[key], flush=True)
    RESULTS.with_suffix(".md").write_text(
        "# How σ_Y and the S-NN were chosen\n\n" + to_markdown(cells)
    )
    print(to_markdown(cells))


if __name__ == "__main__":
    main()
