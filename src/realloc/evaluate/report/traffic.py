"""Which rows are new to the model, and which drew their shares at random, from what, and with which chances.

A log says so by its schema's `propensity` (the chance of the drawn move, or the density of drawn shares, empty where nothing
was drawn), by one column of probabilities per arm, or by a column that only marks the rows: then chances are estimated.
"""

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from realloc.base.errors import ConfigError, LogError
from realloc.base.simplex import Floats
from realloc.evaluate.events import Events
from realloc.evaluate.propensity import check_propensities, estimate_propensities, possible_arms
from realloc.evaluate.randomized import (
    SAME_MOVE,
    SUM_TOLERANCE,
    Randomized,
    RandomizedMoves,
    RandomizedShares,
    find_arms,
    observed_menu,
    state_of,
)
from realloc.evaluate.report.config import ReportConfig
from realloc.evaluate.result import standard_error
from realloc.logs import Logs
from realloc.model.round import RoundState

Mask = NDArray[np.bool_]
Rows = NDArray[np.intp]
MOST_ARMS, ROWS_PER_ARM = (
    200,
    10,
)  # more distinct moves, or fewer rows each: shares were drawn from a density
FURTHEST = 4.0  # standard errors by which draws may miss stated propensities
EXPLORE = (
    "Let a tenth of the units draw small moves at random for some weeks, and log the chance of each drawn move "
    "(`propensity` of the schema, empty on other rows)."
)


@dataclass(frozen=True)
class New:
    """Rows that the model did not learn from."""

    mask: Mask
    sentence: str

    @property
    def any(self) -> bool:
        """Whether there are some."""
        return bool(self.mask.any())


@dataclass(frozen=True, eq=False)
class Drawn:
    """Randomized rows, where they stand in the log, and how their chances are known."""

    rows: Randomized
    at: Rows
    notes: tuple[str, ...]


def find_new(state: RoundState, logs: Logs) -> New:
    """Rows later than all that was learned from; or all rows, where none of the units was learned from."""
    logged = state.support.logged
    names = np.asarray(logs.units.cast("string").to_numpy(zero_copy_only=False), dtype=np.str_)
    if not np.isin(names[np.unique(logs.unit_codes)], logged.unit).any():
        return New(
            np.ones(len(logs), dtype=bool), "The model learned from none of the units of this log."
        )
    until = logged.time.max()
    later = logs.times > until
    return New(
        later,
        f"{int(later.sum()):,} of {len(logs):,} rows are later than {until.astype('datetime64[D]')}, the last date that the "
        "model learned from.",
    )


def mark_randomized(logs: Logs, config: ReportConfig) -> Mask:
    """Rows that drew their shares; a sentence where the log marks none."""
    if config.randomized is not None:
        marked = _flags(logs, config.randomized)
    elif config.arms:
        marked = np.asarray(np.isfinite(_columns(logs, tuple(config.arms))).any(axis=1))
    elif logs.propensity is not None:
        marked = np.asarray(np.isfinite(logs.propensity))
    else:
        raise LogError(
            f"No randomized rows: the schema names no `propensity` and [report] no `randomized`. {EXPLORE}"
        )
    if not marked.any():
        raise LogError(
            f"No randomized rows: none of {len(logs):,} rows is marked as drawn at random. {EXPLORE}"
        )
    return marked


def find_drawn(logs: Logs, events: Events, wanted: Mask, config: ReportConfig) -> Drawn:
    """The rows of `wanted` that were drawn, as a menu of moves or as shares from a density."""
    marked = mark_randomized(logs, config) & wanted
    at = np.flatnonzero(marked & _follows(logs, events) & np.isfinite(logs.outcome))
    if not len(at):
        raise LogError(
            f"No randomized rows that follow their unit's row of the period before and that the model did not learn from, of "
            f"{int(marked.sum()):,} marked ones. Hand in the log with earlier dates, or a later one."
        )
    start, shares = logs.shares[events.previous[at]], logs.shares[at]
    notes = [f"{len(at):,} randomized rows of {len(np.unique(logs.unit_codes[at])):,} units."]
    if config.arms:
        return _stated_menu(logs, at, start, config, notes)
    moves, drawn = observed_menu(start, shares)
    if len(moves) > min(MOST_ARMS, len(at) / ROWS_PER_ARM):
        return _density(logs, at, start, notes)
    notes.append(f"They drew from {len(moves)} moves, taken from the log.")
    return _observed_menu(logs, at, start, moves, drawn, notes)


def _stated_menu(
    logs: Logs, at: Rows, start: Floats, config: ReportConfig, notes: list[str]
) -> Drawn:
    """Every arm has a column of probabilities."""
    moves = config.moves_of(logs.schema.channels)
    drawn = find_arms(logs.shares[at] - start, moves)
    if (drawn < 0).any():
        raise LogError(
            f"Expected moves of the {len(moves)} arms of [report] in randomized rows, got others in "
            f"{int((drawn < 0).sum()):,} of {len(at):,}. Complete `arms`, or leave those rows unmarked."
        )
    rows = _moves(logs, at, start, moves, _columns(logs, tuple(config.arms))[at], drawn)
    check = check_propensities(rows)
    if not check.consistent:
        raise LogError(f"{check.reason} Check where the probabilities come from.")
    return Drawn(
        rows, at, (*notes, f"They drew from the {len(moves)} arms of [report]. {check.reason}")
    )


def _observed_menu(
    logs: Logs, at: Rows, start: Floats, moves: Floats, drawn: NDArray[np.int64], notes: list[str]
) -> Drawn:
    """The menu is what was drawn; chances are stated for the drawn arm only, or not at all."""
    fits = (start + moves[drawn]).min(
        axis=1
    ) >= -SAME_MOVE  # a rounded move may take more than there was
    if not fits.all():
        notes.append(
            f"{int((~fits).sum()):,} rows whose move cannot be rounded to three digits are left out."
        )
        at, start, drawn = at[fits], start[fits], drawn[fits]
    guess = estimate_propensities(
        _moves(logs, at, start, moves, possible_arms(start, moves, drawn), drawn)
    )
    if logs.propensity is None:
        notes.append("Their chances are estimated, because the log states none.")
        return Drawn(guess, at, tuple(notes))
    stated = logs.propensity[at]
    if np.isnan(stated).any():
        raise LogError(
            f"Expected a propensity in every randomized row, got none in {int(np.isnan(stated).sum()):,} of {len(at):,}. "
            "Fill them in, or leave those rows unmarked."
        )
    rows = replace(guess, probabilities=_complete(stated, guess.probabilities, drawn))
    notes.append(
        "The chance of each drawn move is stated; those of the moves not drawn are estimated."
    )
    _check_hold(rows)
    return Drawn(rows, at, tuple(notes))


def _complete(stated: Floats, guess: Floats, drawn: NDArray[np.int64]) -> Floats:
    """Stated chances of drawn arms; what they leave goes to the other arms in the guessed proportions."""
    if stated.max() > 1 + SUM_TOLERANCE:
        raise LogError(
            f"Expected propensities up to 1, as rows drew from a menu of {guess.shape[1]} moves, got up to "
            f"{stated.max():.4g}. Log the probability of the drawn move."
        )
    every = np.arange(len(stated))
    others = guess.copy()
    others[every, drawn] = 0.0
    total, rest = others.sum(axis=1), np.maximum(1 - stated, 0.0)
    alone = (total <= 0) & (rest > SUM_TOLERANCE)
    if alone.any():
        raise LogError(
            f"Expected a propensity of 1 where no other move of the log was possible, got less in {int(alone.sum()):,} of "
            f"{len(stated):,} rows. Check that propensities sum to 1 over the moves a row could get."
        )
    others *= np.divide(rest, total, out=np.zeros_like(total), where=total > 0)[:, None]
    others[every, drawn] = 1 - others.sum(axis=1)
    return others


def _check_hold(rows: RandomizedMoves) -> None:
    """Holding is always possible, so 1{held}/e must average to 1: else stated chances do not sum to 1."""
    if rows.hold is None:
        return
    weight = (rows.drawn == rows.hold) / rows.propensity
    error = standard_error(weight, rows.unit)
    if abs(float(weight.mean()) - 1) > FURTHEST * error:
        raise LogError(
            f"The stated propensities do not fit the draws: rows that kept their shares should weigh 1 on average, and weigh "
            f"{weight.mean():.3f} ± {error:.2g}. Check that propensities sum to 1 over the moves a row could get."
        )


def _density(logs: Logs, at: Rows, start: Floats, notes: list[str]) -> Drawn:
    """Shares drawn from a density over the simplex."""
    if logs.propensity is None:
        raise LogError(
            "Randomized shares differ from row to row, so they were drawn from a density, and the log does not state it. Log "
            "the density of every drawn allocation in the schema's `propensity`."
        )
    notes.append("They drew shares from a density; values are smoothed over nearby shares.")
    state, categorical = state_of(logs.take(at))
    rows = RandomizedShares(
        start=start,
        shares=logs.shares[at],
        density=logs.propensity[at],
        outcome=logs.outcome[at],
        unit=logs.unit_codes[at],
        state=state,
        categorical=categorical,
    )
    return Drawn(rows, at, tuple(notes))


def _moves(
    logs: Logs,
    at: Rows,
    start: Floats,
    moves: Floats,
    probabilities: Floats,
    drawn: NDArray[np.int64],
) -> RandomizedMoves:
    state, categorical = state_of(logs.take(at))
    return RandomizedMoves(
        start=start,
        moves=moves,
        probabilities=probabilities,
        drawn=drawn,
        outcome=logs.outcome[at],
        unit=logs.unit_codes[at],
        state=state,
        categorical=categorical,
    )


def _follows(logs: Logs, events: Events) -> Mask:
    """Rows whose unit's previous row is one period back: only there the shares before the move are known."""
    known = events.previous >= 0
    gap = np.where(known, logs.times - logs.times[events.previous], np.timedelta64(0, "D"))
    if not known.any():
        return known
    gaps, counts = np.unique(gap[known], return_counts=True)
    return known & (gap == gaps[counts.argmax()])


def _flags(logs: Logs, name: str) -> Mask:
    column = _column(logs, name)
    if pa.types.is_boolean(column.type):
        return np.asarray(column.fill_null(False).to_numpy(), dtype=bool)
    values = _numbers(column, name)
    if not np.isin(values[np.isfinite(values)], (0.0, 1.0)).all():
        raise ConfigError(
            f"Expected true and false (or 1 and 0) in the column {name!r}, `randomized` of [report]."
        )
    return values == 1


def _columns(logs: Logs, names: tuple[str, ...]) -> Floats:
    """Probabilities (n, M); read in single precision, so sums are made exact where they are 1 up to that."""
    found = np.stack([_numbers(_column(logs, name), name) for name in names], axis=1)
    total = found.sum(axis=1, keepdims=True)
    return np.where(np.abs(total - 1) <= SUM_TOLERANCE, found / total, found)


def _column(logs: Logs, name: str) -> pa.ChunkedArray:
    if name not in logs.table.column_names:
        raise ConfigError(f"Expected a column {name!r} that [report] names, but the log has none.")
    return logs.table[name]


def _numbers(column: pa.ChunkedArray, name: str) -> Floats:
    if pa.types.is_dictionary(column.type):
        raise ConfigError(
            f"Expected numbers in the column {name!r} that [report] names, got texts."
        )
    return np.asarray(column.cast(pa.float64()).to_numpy(), dtype=np.float64)
