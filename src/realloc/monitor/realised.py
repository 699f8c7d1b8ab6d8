"""Realised against predicted gains, once outcomes arrive: only a randomized hold-out can tell them apart from luck.

Decisions are logged for every unit; a part of the units, drawn at random, keeps its mix (the control arm). Their outcomes are
what the others would have had. How predictions fared is read out as in an A/B test (`realloc.evaluate.abtest`).
"""

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from realloc.base.errors import LogError
from realloc.evaluate.abtest.arms import read_arms
from realloc.evaluate.abtest.calibration import Calibration, calibrate
from realloc.evaluate.abtest.config import AbtestConfig, Metric

CONTROL, TREATMENT = "control", "treatment"


@dataclass(frozen=True)
class Realised:
    """How many decisions met their outcome, how many were followed, and what the hold-out says of the gains."""

    joined: int
    followed: float | None  # part of the moved rows whose advice was followed; None: none was moved
    calibration: Calibration | None
    why_not: str | None  # why the gains cannot be judged


def measure_realised(joined: pa.Table, arms: Any, beta: float, threshold: float) -> Realised:
    """From decisions joined to outcomes (`ledger.join`); `arms` names the arm of each of its rows, None: no hold-out."""
    moved = joined["moved"].to_numpy().astype(bool)
    followed = float(joined["followed"].to_numpy()[moved].mean()) if moved.any() else None
    if arms is None:
        why = "no column says which units were held out at random (`--arm`), so what came out cannot be told from luck"
        return Realised(joined.num_rows, followed, None, why)
    table = pa.table(
        {name: joined[name] for name in ("unit", "outcome", "gain", "gain_lower")}
    ).append_column("arm", arms)
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
        return Realised(
            joined.num_rows,
            followed,
            calibrate(read_arms(table, config), config, beta, threshold),
            None,
        )
    except LogError as problem:
        return Realised(joined.num_rows, followed, None, str(problem))
