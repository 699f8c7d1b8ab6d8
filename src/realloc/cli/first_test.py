"""The table [abtest] of a first config: which columns a test is read out from."""

import json
from collections.abc import Iterable, Iterator

import numpy as np

from realloc.logs import Schema, names
from realloc.logs.guess.sample import first_rows
from realloc.logs.reading.source import Source

ARM = ("arm", "variant", "bucket", "experiment", "treatment", "treated", "group")
CONTROL = ("control", "holdout", "baseline", "off", "a", "0", "false")
MARGIN = 2.0


def abtest_lines(schema: Schema, source: Source) -> Iterator[str]:
    """The table as text; columns and values that were not found are left to be corrected."""
    arm, control, treatment, part = _find_arms(source)
    yield "[abtest]  # a randomized test, for `realloc abtest` (docs/abtest.md)"
    yield f"unit = {toml_text(schema.unit)}"
    yield f"time = {toml_text(schema.time)}  # only used to refuse duplicate days"
    yield f"arm = {toml_text(arm)}  # the column; its values are named next"
    yield f"control = {toml_text(control)}"
    yield f"treatment = {toml_text(treatment)}"
    yield f"split = {part}  # planned part of the units in treatment"
    yield '# predicted = "gain"  # columns of `realloc recommend`, for both arms if possible'
    yield '# predicted_lower = "gain_lower"'
    yield f"# predicted_metric = {toml_text(schema.outcome)}"
    yield ""
    yield f"[abtest.metrics.{toml_text(schema.outcome)}]  # a mean per unit"
    yield f"value = {toml_text(schema.outcome)}"
    before = toml_text(f"{schema.outcome}_before")
    yield f"# before = {before}  # the same before the test: a sharper comparison (CUPED)"
    for name in schema.guardrails:
        yield ""
        yield f"[abtest.metrics.{toml_text(name)}]  # a guardrail"
        yield f"value = {toml_text(name)}"
        yield f"margin = {MARGIN}  # may lose {MARGIN:g} %"


def toml_text(value: str) -> str:
    """A text as TOML writes it."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _find_arms(source: Source) -> tuple[str, str, str, float]:
    """The column of arms with its two values, and the part of the rows in treatment."""
    table = first_rows(source)
    for name in _mentioning(table.column_names):
        values, rows = np.unique(table[name].to_numpy().astype(str), return_counts=True)
        if len(values) == 2:
            first = int(values[1].lower() in CONTROL)  # the other one is treatment
            control, treatment = (str(values[k]) for k in (first, 1 - first))
            part = float(rows[1 - first] / rows.sum())
            return name, control, treatment, round(part, 1) or 0.1
    return "arm", "control", "treatment", 0.5


def _mentioning(columns: Iterable[str]) -> list[str]:
    return sorted(
        (name for name in columns if not set(ARM).isdisjoint(names.words(name))),
        key=lambda name: names.rank(name, ARM),
    )
