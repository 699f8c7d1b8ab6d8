"""Tests as a user writes them, `[[test]]` in TOML, brought to a fitted model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from realloc.base.errors import ConfigError, LogError
from realloc.base.numbers import counted, signed
from realloc.base.simplex import Floats, Mask
from realloc.base.validation import check_known, check_types, from_table, nearest
from realloc.decide.config import DecisionConfig
from realloc.decide.totals import NORMAL_QUANTILE
from realloc.learn.tested import (
    WRONG,
    EffectReading,
    GainCorrection,
    holds,
    learn_from_tests,
)
from realloc.logs import Logs
from realloc.model.config import read_toml
from realloc.model.effects import SHARED
from realloc.model.state import Learned, RoundState

INTERVAL = 0.1  # how far a stated error may be off its stated interval, in parts


@dataclass(frozen=True, kw_only=True)
class ExperimentResult:
    """A lift test, geo test or A/B readout: a move, whom it was made for, and what it brought."""

    name: str
    source: str
    target: str
    share: float  # part of the budget that was moved
    effect: float  # per row, in units of the outcome
    error: float | None = None  # standard error
    low: float | None = None  # or the 95 % interval
    high: float | None = None
    units: tuple[str, ...] = ()  # none: all
    where: dict[str, str] = field(default_factory=dict[str, str])  # categories

    def __post_init__(self) -> None:
        place = f"the test {self.name!r}"
        check_types(self, place)
        if not 0 < self.share <= 1:
            raise ConfigError(
                f"Expected `share` of {place} above 0 and up to 1 (the part of the budget that was "
                f"moved), got {self.share:g}."
            )
        if self.source == self.target:
            raise ConfigError(
                f"Expected two channels in {place}, got {self.source!r} twice."
            )
        if (self.low is None) != (self.high is None) or self.low is self.error is None:
            raise ConfigError(
                f"Expected `error` (the standard error) or both `low` and `high` (the 95 % "
                f"interval) in {place}."
            )
        if self.error is not None and self.error <= 0:
            raise ConfigError(f"Expected `error` of {place} above 0, got {self.error:g}.")
        self._check_interval(place)

    def _check_interval(self, place: str) -> None:
        if self.low is None or self.high is None:
            return
        if not self.low < self.effect < self.high:
            raise ConfigError(
                f"Expected the effect of {place} inside its own interval, got {self.effect:g} and "
                f"{self.low:g} to {self.high:g}. Look at the readout again."
            )
        own = (self.high - self.low) / (2 * NORMAL_QUANTILE)
        if self.error is not None and abs(self.error / own - 1) > INTERVAL:
            raise ConfigError(
                f"Expected the standard error of {place} to agree with its 95 % interval (which "
                f"says {own:.3g}), got {self.error:g}. Give the one that the readout has."
            )

    @property
    def standard_error(self) -> float:
        """As given, or by the interval."""
        if self.error is not None:
            return self.error
        return ((self.high or 0.0) - (self.low or 0.0)) / (2 * NORMAL_QUANTILE)


Experiments = str | PathLike[str] | Sequence[ExperimentResult | Mapping[str, Any]]


def read_experiments(given: Experiments) -> tuple[ExperimentResult, ...]:
    """From a TOML file with `[[test]]` tables, or from values with the same keys."""
    where = "`experiments`"
    tables: Any = given
    if isinstance(given, str | PathLike):
        where = str(given)
        parsed = read_toml(Path(given))
        unknown = [key for key in parsed if key != "test"]
        if unknown:
            raise ConfigError(
                f"Expected tables [[test]] alone in {where}, got {unknown[0]!r}."
            )
        tables = parsed.get("test", [])
    if not isinstance(tables, Sequence) or not tables:
        raise ConfigError(f"Expected at least one table [[test]] in {where}, got none.")
    tests = tuple(
        one
        if isinstance(one, ExperimentResult)
        else from_table(ExperimentResult, one, f"test {number} of {where}")
        for number, one in enumerate(tables, 1)
    )
    names = [test.name for test in tests]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ConfigError(
            f"Expected each test once in {where}, but {twice!r} stands there twice."
        )
    return tests


def apply_experiments(
    state: RoundState,
    logs: Logs,
    tests: tuple[ExperimentResult, ...],
    config: DecisionConfig,
) -> RoundState:
    """The state whose gains of the outcome agree with the tests, as far as these are sure."""
    from realloc.learn.student.potential import Potential

    learned = state.main
    student = learned.student
    if learned.hidden is None or not isinstance(student, Potential):
        raise LogError(
            "Expected a model that learned a student from logs, got another one."
        )
    readings = tuple(read_test(state, logs, test, config) for test in tests)
    tested = learn_from_tests(readings, learned.hidden)
    first = next(iter(state.outcomes))
    corrected = replace(
        learned,
        memory=tested.correct_labels(learned.memory),
        student=tested.correct(student),
        tested=tested,
    )
    return replace(state, outcomes={**state.outcomes, first: corrected})


def read_test(
    state: RoundState, logs: Logs, test: ExperimentResult, config: DecisionConfig
) -> EffectReading:
    """The test beside what the model says about its rows."""
    channels = logs.schema.channels
    for name in (test.source, test.target):
        check_known("channel", name, channels, f"the test {test.name!r}")
    source, target = channels.index(test.source), channels.index(test.target)
    inside = rows_of(logs, test)
    able = inside & holds(np.array(logs.shares), source, test.share)
    if not able.any():
        raise LogError(
            f"Expected rows of the log that the test {test.name!r} is about, but none of its "
            f"{counted(int(inside.sum()), 'row')} holds {test.share:.0%} of the budget in "
            f"{test.source!r}. Give `share` as a part of the budget."
        )
    own = logs.take(able)
    start = np.array(own.shares)
    ends = start.copy()
    ends[:, source] -= test.share
    ends[:, target] += test.share
    x = state.encode(logs)[able]
    term = state.terms(x, start, config)[0]
    every = np.arange(len(start))
    gain = term.gain(every, start, ends[:, None])[:, 0]
    sigma = term.sigma(every, start, ends[:, None])[:, 0]
    mean = float(gain.mean())
    size = _level(state.main, x)
    return EffectReading(
        name=test.name,
        move=f"{test.share:.0%} of the budget, {test.source} → {test.target}",
        rows=len(own),
        effect=test.effect,
        error=test.standard_error,
        predicted=mean,
        predicted_error=float(
            np.hypot(term.common_error * mean, SHARED**0.5 * sigma.mean())
        ),
        direction=tuple((size[:, None] * (ends - start)).mean(axis=0).tolist()),
    )


def _level(learned: Learned, x: Any) -> Floats:
    return np.ones(len(x)) if learned.level is None else learned.level(x)


def rows_of(logs: Logs, test: ExperimentResult) -> Mask:
    """The rows of a test's units and categories."""
    inside = np.ones(len(logs), dtype=bool)
    if test.units:
        texts = np.asarray(logs.units.cast("string").to_pylist(), dtype=object)
        unknown = [name for name in test.units if name not in set(texts.tolist())]
        if unknown:
            raise LogError(
                f"Expected the units of the test {test.name!r} in the log, but {unknown[0]!r} is "
                f"not among its {len(texts):,} units{nearest(unknown[0], texts.tolist())}"
            )
        inside &= np.isin(texts, test.units)[logs.unit_codes]
    for name, level in test.where.items():
        if name not in logs.features:
            raise LogError(
                f"Expected `where` of the test {test.name!r} to name features of the log, got "
                f"{name!r}.{nearest(name, logs.features)}"
            )
        values = logs.table[name].cast("string").to_numpy().astype(object)
        if level not in values:
            raise LogError(
                f"Expected rows with {name} = {level!r} for the test {test.name!r}, but the log "
                f"has none.{nearest(level, sorted({str(v) for v in values}))}"
            )
        inside &= values == level
    return inside


def experiment_lines(tested: GainCorrection) -> list[str]:
    """What the tests say, and what became of them."""
    lines: list[str] = []
    for one in tested.tests:
        text = (
            f"Test {one.name!r} ({one.move}, {counted(one.rows, 'row')}): {signed(one.effect)} ± "
            f"{one.error:.2g} a row; the log alone says {signed(one.predicted)} ± "
            f"{one.predicted_error:.2g}."
        )
        if one.left_out:
            text += (
                f" Left out: it lies {abs(one.beyond):.1f} standard errors off what the log and "
                "the other tests say, and those agree. Look at it again."
            )
        elif abs(one.apart) > WRONG:
            text += (
                f" Your test and your log disagree by {abs(one.apart):.1f} standard errors: "
                "something that nobody recorded drives the mix, or the test is of other "
                "circumstances."
            )
        lines.append(text)
    lines.append(
        "All gains were corrected by what the tests say together."
        if any(tested.slope)
        else "The tests leave the gains as they are."
    )
    return lines
