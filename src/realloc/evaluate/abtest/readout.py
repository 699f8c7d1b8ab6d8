"""The readout of a randomized test: arms, effects, guardrails, calibration of the model, verdict."""

import json
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from realloc.evaluate.abtest.arms import Arms, read_arms
from realloc.evaluate.abtest.calibration import Calibration, calibrate
from realloc.evaluate.abtest.config import AbtestConfig
from realloc.evaluate.abtest.metrics import Effect, measure
from realloc.evaluate.abtest.multiple import adjust
from realloc.evaluate.abtest.sequential import look_p_value, nominal_alpha
from realloc.evaluate.abtest.split import SplitCheck, check_split
from realloc.evaluate.abtest.verdict import conclude, decide_goal, decide_guardrail

if TYPE_CHECKING:
    import pandas as pd

HEADS = ("metric", "control", "treatment", "effect", "interval", "p", "CUPED", "decision")
FEW = 30  # randomized units in the smaller arm


@dataclass(frozen=True)
class Readout:
    """What a test says, for a person (`print`, `to_html`) and for a script (`to_frame`, `to_json`)."""

    split: SplitCheck
    effects: tuple[Effect, ...]
    calibration: Calibration | None
    decision: str  # launch, keep_control, go_on, no_verdict
    verdict: str
    notes: tuple[str, ...]

    def __getitem__(self, name: str) -> Effect:
        for effect in self.effects:
            if effect.name == name:
                return effect
        raise KeyError(f"Expected one of {[effect.name for effect in self.effects]}, got {name!r}.")

    def to_arrow(self) -> pa.Table:
        """One row per metric."""
        return pa.Table.from_pylist([_row(effect) for effect in self.effects])

    def to_frame(self) -> "pd.DataFrame":
        """The same as a pandas frame."""
        return self.to_arrow().to_pandas()

    def to_json(self) -> dict[str, Any]:
        """Plain numbers and texts; what has no value is null."""
        found = {
            "decision": self.decision,
            "verdict": self.verdict,
            "split": {**asdict(self.split), "ok": self.split.ok},
            "metrics": [_row(effect) for effect in self.effects],
            "calibration": asdict(self.calibration) if self.calibration else None,
            "notes": list(self.notes),
        }
        return json.loads(json.dumps(found), parse_constant=lambda _: None)  # NaN is no JSON

    def __str__(self) -> str:
        table = [HEADS, *(cells(effect) for effect in self.effects)]
        widths = [max(len(row[i]) for row in table) for i in range(len(HEADS))]
        lines = [
            "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip()
            for row in table
        ]
        lines += [self.calibration.sentence] if self.calibration else []
        return "\n".join([self.verdict, str(self.split), *lines, *self.notes])


def read_out(
    source: Any, config: AbtestConfig, beta: float = 0.25, threshold: float = 0.0
) -> Readout:
    """Read the table of a test and say what it found; `beta` and `threshold` are those of `[decision]`."""
    arms = read_arms(source, config)
    split = check_split(arms, config)
    effects = _decide(_measure_all(arms, config), config, split)
    calibration = (
        calibrate(arms, config, beta, threshold) if config.predicted and split.ok else None
    )
    decision, verdict = conclude(split, effects, config)
    return Readout(split, effects, calibration, decision, verdict, _notes(arms, config))


def _measure_all(arms: Arms, config: AbtestConfig) -> list[Effect]:
    """Intervals at the level of this look; p-values adjusted for looks, then for the other goals."""
    nominal = nominal_alpha(config.looks, config.look_number, config.alpha)
    found = [measure(arms, metric, 1 - nominal) for metric in config.metrics]
    found = [replace(e, p_look=look_p_value(e.p, config.looks, config.look_number)) for e in found]
    goals = [i for i, effect in enumerate(found) if not effect.metric.is_guardrail]
    adjusted = adjust(np.array([found[i].p_look for i in goals]), config.correction)
    for i, p in zip(goals, adjusted.tolist(), strict=True):
        found[i] = replace(found[i], p_adjusted=p)
    return found


def _decide(effects: list[Effect], config: AbtestConfig, split: SplitCheck) -> tuple[Effect, ...]:
    if not split.ok:
        return tuple(replace(effect, decision="not comparable") for effect in effects)
    return tuple(
        replace(
            e,
            decision=decide_guardrail(e) if e.metric.is_guardrail else decide_goal(e, config.alpha),
        )
        for e in effects
    )


def _notes(arms: Arms, config: AbtestConfig) -> tuple[str, ...]:
    what = f"clusters ({config.cluster})" if config.cluster else f"units ({config.unit})"
    notes = [
        f"{arms.rows:,} rows of {len(arms.treated):,} units; {len(arms.size):,} randomized {what}."
    ]
    if len(config.goals) > 1 and config.correction != "none":
        name = {"holm": "Holm", "benjamini_hochberg": "Benjamini and Hochberg"}[config.correction]
        notes.append(
            f"Decisions on {len(config.goals)} goals by p-values after {name}; intervals are those of each alone."
        )
    if len(config.looks) > 1:
        notes.append(
            f"Look {config.look_number} of {len(config.looks)}: intervals and p-values allow for the looks "
            "(O'Brien–Fleming-type spending)."
        )
    smaller = int(min(arms.cluster_treated.sum(), (~arms.cluster_treated).sum()))
    if smaller < FEW:
        notes.append(
            f"Only {smaller} randomized units in the smaller arm: intervals are rough where values are skewed."
        )
    return tuple(notes)


def _row(effect: Effect) -> dict[str, Any]:
    numbers = {name: value for name, value in vars(effect).items() if name != "metric"}
    metric = effect.metric
    kind = "guardrail" if metric.is_guardrail else "goal"
    return {
        "metric": metric.name,
        "kind": kind,
        "sign": metric.sign,
        "margin": metric.margin,
        **numbers,
    }


def cells(effect: Effect) -> tuple[str, ...]:
    """One row of the printed table: name, levels, effect, interval, p, variance saved, decision."""
    sign = effect.metric.sign and f" {effect.metric.sign}"
    shown = effect.p_look if np.isnan(effect.p_adjusted) else effect.p_adjusted
    saved = "" if np.isnan(effect.variance_reduction) else f"−{effect.variance_reduction:.0%}"
    return (
        effect.name,
        f"{effect.control:.4g}",
        f"{effect.treatment:.4g}",
        f"{effect.value:+.2f}{sign}" if sign else f"{effect.value:+.4g}",
        f"[{effect.low:+.2f}, {effect.high:+.2f}]"
        if sign
        else f"[{effect.low:+.4g}, {effect.high:+.4g}]",
        "<.001" if shown < 1e-3 else f"{shown:.3f}",
        saved,
        effect.decision,
    )
