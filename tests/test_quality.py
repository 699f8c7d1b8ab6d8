"""The quality gate: the default model's decisions, judged by the truth at the size of the paper.

Thresholds are the committed results (experiments/results/static_quality.json, `make bench-static`):
mean of ten seeds, three standard deviations to the worse side. They follow that file; nothing here
is tuned.
"""

import json
from pathlib import Path
from statistics import mean, stdev

import numpy as np
import pytest

import realloc
from realloc.world.score import score_shares

RESULTS = Path(__file__).parents[1] / "experiments" / "results" / "static_quality.json"
REGIMES = ("benign", "hard")
SEED = 1
TRAIN = {"units": 2000, "periods": 10, "seed": 0}
TEST = {"units": 400, "periods": 5, "seed": 1}


def bound(regime: str, metric: str, sign: int) -> float:
    """The mean over committed seeds, plus or minus three standard deviations of one seed."""
    cells = json.loads(RESULTS.read_text())["cells"]
    ours = [cell for key, cell in cells.items() if key.startswith(f"realloc/{regime}/")]
    values = [cell["ascent"][metric] for cell in ours]
    assert len(values) >= 10
    return mean(values) + sign * 3 * stdev(values)


def judge(world: realloc.World, logs: realloc.Logs, shares: np.ndarray) -> dict[str, float]:
    return {
        metric.name: metric.value for metric in score_shares(world, logs, shares).estimates
    }


@pytest.mark.slow
@pytest.mark.parametrize("regime", REGIMES)
def test_the_default_model_recovers_what_the_oracle_finds_and_harms_few(regime):
    world = realloc.World(regime, seed=SEED)
    model = realloc.ReAlloc(realloc.Config(seed=SEED), quiet=True).fit(
        world.sample(**TRAIN)
    )
    logs = world.sample(**TEST)
    answer = model.recommend(logs)
    columns = [f"share_{name}" for name in logs.schema.channels]
    shares = np.stack([answer[name].to_numpy() for name in columns], axis=1)

    scores = judge(world, logs, shares)
    recovery = bound(regime, "safe_local_recovery", -1)
    assert scores["safe_local_recovery"] >= recovery
    assert scores["harm_rate"] <= bound(regime, "harm_rate", +1)
    assert scores["oos_rate"] <= bound(regime, "oos_rate", +1)

    # The control: the gate notices when half of the rows, or half of each move, is lost.
    start = np.array(logs.shares)
    every_second = np.where(np.arange(len(start))[:, None] % 2, shares, start)
    assert judge(world, logs, every_second)["safe_local_recovery"] < recovery
    assert judge(world, logs, (start + shares) / 2)["safe_local_recovery"] < recovery
