"""Realised against predicted gains, by outcomes; only a randomized hold-out rules out luck.

Decisions are logged for every unit; a part of the units, drawn at random, keeps its mix (the
control arm). Their outcomes are what the others would have had. The predictions are read out as in
an A/B test (`realloc.evaluate.abtest`).
"""

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from realloc.base.errors import LogError
from realloc.evaluate.abtest.arms import read_arms
from realloc.evaluate.abtest.calibration import Calibration, calibrate
from realloc.evaluate.abtest.config import AbtestConfig, Metric

CONTROL = "control"
TREATMENT = "treatment"


@dataclass(frozen=True)
class Realised:
    """How many decisions have outcomes, how many were followed, what the hold-out says of gains."""

    joined: int
    # part of the moved rows whose advice was followed; None: none was moved
    followed: float | None
    calibration: Calibration | None
    why_not: str | None  # why the gains cannot be judged


def measure_realised(
    joined: pa.Table, arms: Any, beta: float, threshold: float
) -> Realised:
    """Read out decisions joined to outcomes (`ledger.join`); `arms`: None without a hold-out."""
    moved = joined["moved"].to_numpy().astype(bool)
    followed = float(joined["followed"].to_numpy()[moved].mean()) if moved.any() else None
    if arms is None:
        why = (
            "no column says which units were held out at random (`--arm`), "
            "so gains cannot be told apart from chance"
        )
        return Realised(joined.num_rows, followed, None, why)
    table = joined.select(["unit", "outcome", "gain", "gain_lower"]).append_column(
        "arm", arms
    )
    config = AbtestConfig(
        unit="unit",
        metrics=(Metric(name="outcome", value="outcome"),),
        control=CONTROL,
        treatment=TREATMENT,
        predicted="gain",
        predicted_lower="gain_lower",
        predicted_metric="outcome",
    )
    try:
        calibration = calibrate(read_arms(table, config), config, beta, threshold)
        return Realised(joined.num_rows, followed, calibration, None)
    except LogError as problem:
        return Realised(joined.num_rows, followed, None, str(problem))
