"""The readout of a randomized test: arms, effects, guardrails, calibration of the model,
verdict.
"""

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from realloc.base.numbers import plain, signed
from realloc.draw import PagePiece, Shown
from realloc.evaluate.abtest.arms import Arms, read_arms
from realloc.evaluate.abtest.calibration import Calibration, calibrate
from realloc.evaluate.abtest.config import AbtestConfig
from realloc.evaluate.abtest.metrics import Effect, measure
from realloc.evaluate.abtest.multiple import adjust
from realloc.evaluate.abtest.sequential import look_p_value, nominal_alpha
from realloc.evaluate.abtest.split import SplitCheck, check_split
from realloc.evaluate.abtest.verdict import conclude, decide
from realloc.evaluate.result import pick, without_nan

if TYPE_CHECKING:
    import pandas as pd

HEADS = ("metric", "control", "treatment", "effect", "interval", "p", "CUPED", "decision")
FEW = 30  # randomized units in the smaller arm
CORRECTIONS = {"holm": "Holm", "benjamini_hochberg": "Benjamini and Hochberg"}


@dataclass(frozen=True)
class Readout(Shown):
    """What a test says, for a person (`print`, `to_html`) and for a script (`to_frame`,
    `to_json`).
    """

    split: SplitCheck
    effects: tuple[Effect, ...]
    calibration: Calibration | None
    decision: str  # launch, keep_control, go_on, no_verdict
    verdict: str
    notes: tuple[str, ...]

    def pieces(self) -> list[PagePiece]:
        """What the page shows."""
        from realloc.evaluate.abtest.page import to_pieces

        return to_pieces(self)

    def __getitem__(self, name: str) -> Effect:
        return pick({effect.name: effect for effect in self.effects}, name)

    def to_frame(self) -> "pd.DataFrame":
        """One row per metric."""
        return pa.Table.from_pylist([_row(effect) for effect in self.effects]).to_pandas()

    def to_json(self) -> dict[str, Any]:
        """Plain numbers and texts; what has no value is null."""
        return without_nan(
            {
                "decision": self.decision,
                "verdict": self.verdict,
                "split": {**asdict(self.split), "ok": self.split.ok},
                "metrics": [_row(effect) for effect in self.effects],
                "calibration": asdict(self.calibration) if self.calibration else None,
                "notes": self.notes,
            }
        )

    def __str__(self) -> str:
        table = [HEADS, *(cells(effect) for effect in self.effects)]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = [self.verdict, str(self.split)] if self.split.ok else [self.verdict]
        for row in table:
            padded = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
            lines.append("  ".join(padded).rstrip())
        if self.calibration:
            lines.append(self.calibration.sentence)
        return "\n".join([*lines, *self.notes])


def read_out(
    source: Any, config: AbtestConfig, beta: float = 0.25, threshold: float = 0.0
) -> Readout:
    """Read the table of a test and say what it found.

    `beta` and `threshold` are those of `[decision]`.
    """
    arms = read_arms(source, config)
    split = check_split(arms, config)
    # Intervals at the level of this look; p-values adjusted for looks, then for the other goals.
    nominal = nominal_alpha(config.looks, config.look_number, config.alpha)
    effects: list[Effect] = []
    for metric in config.metrics:
        effect = measure(arms, metric, 1 - nominal)
        p = look_p_value(effect.p, config.looks, config.look_number)
        effects.append(replace(effect, p_look=p))
    goals = [i for i, effect in enumerate(effects) if not effect.metric.is_guardrail]
    adjusted = adjust(np.array([effects[i].p_look for i in goals]), config.correction)
    for i, p in zip(goals, adjusted.tolist(), strict=True):
        effects[i] = replace(effects[i], p_adjusted=p)
    calibration = None
    if not split.ok:
        effects = [replace(effect, decision="not comparable") for effect in effects]
    else:
        effects = [
            replace(effect, decision=decide(effect, config.alpha)) for effect in effects
        ]
        if config.predicted:
            calibration = calibrate(arms, config, beta, threshold)
    decision, verdict = conclude(split, effects, config)
    return Readout(
        split, tuple(effects), calibration, decision, verdict, _notes(arms, config)
    )


def _notes(arms: Arms, config: AbtestConfig) -> tuple[str, ...]:
    kind = f"clusters ({config.cluster})" if config.cluster else f"units ({config.unit})"
    notes = [
        f"{arms.rows:,} rows of {len(arms.treated):,} units; {len(arms.size):,} randomized {kind}."
    ]
    goals = len(config.goals)
    if goals > 1 and config.correction != "none":
        notes.append(
            f"Decisions on {goals} goals by p-values after {CORRECTIONS[config.correction]}; "
            "intervals are those of each alone."
        )
    if len(config.looks) > 1:
        notes.append(
            f"Look {config.look_number} of {len(config.looks)}: intervals and p-values allow for "
            "the looks (O'Brien–Fleming-type spending)."
        )
    smaller = np.bincount(arms.cluster_treated, minlength=2).min()
    if smaller < FEW:
        notes.append(
            f"Only {smaller} randomized units in the smaller arm: intervals are rough where values "
            "are skewed."
        )
    return tuple(notes)


def _row(effect: Effect) -> dict[str, Any]:
    metric = effect.metric
    row = {
        "metric": metric.name,
        "kind": "guardrail" if metric.is_guardrail else "goal",
        "sign": metric.sign,
        "margin": metric.margin,
    }
    return row | {name: value for name, value in vars(effect).items() if name != "metric"}


def percents(value: float) -> str:
    """Per cent or points, with two decimals."""
    return f"{value:+.2f}".replace("-", "−")


def cells(effect: Effect) -> tuple[str, ...]:
    """One row of the printed table: name, levels, effect, interval, p, variance saved, decision."""
    sign = effect.metric.sign
    show = percents if sign else signed
    p = effect.p_look if np.isnan(effect.p_adjusted) else effect.p_adjusted
    saved = effect.variance_reduction
    return (
        effect.name,
        plain(effect.control),
        plain(effect.treatment),
        f"{show(effect.value)} {sign}".rstrip(),
        f"[{show(effect.low)}, {show(effect.high)}]",
        "<.001" if p < 1e-3 else f"{p:.3f}",
        "" if np.isnan(saved) else f"−{saved:.0%}",
        effect.decision,
    )
