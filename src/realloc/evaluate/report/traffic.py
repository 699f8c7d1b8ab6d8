"""Which rows are new to the policy, and which drew their shares at random, from what,
with which chances.

A log says so by its schema's `propensity` (the chance of the drawn move, or the density of drawn
shares, empty where nothing was drawn), by one column of probabilities per arm, or by a column that
only marks the rows: then chances are estimated.
"""

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from realloc.base.errors import ConfigError, LogError
from realloc.base.simplex import Floats, Integers, Mask, Rows
from realloc.decide.types import Policy
from realloc.evaluate.events import Events
from realloc.evaluate.propensity import (
    check_propensities,
    estimate_propensities,
    possible_arms,
)
from realloc.evaluate.randomized import (
    SAME_MOVE,
    SUM_TOLERANCE,
    Randomized,
    RandomizedMoves,
    RandomizedShares,
    common_fields,
    find_arms,
    observed_menu,
)
from realloc.evaluate.report.config import ReportConfig
from realloc.evaluate.result import divide, standard_error
from realloc.logs import Logs
from realloc.model.realloc import ReAlloc

# More distinct moves, or fewer rows each: shares were drawn from a density.
MOST_ARMS = 200
ROWS_PER_ARM = 10
FURTHEST = 4.0  # standard errors by which draws may miss stated propensities
EXPLORE = (
    "Let a tenth of the units draw small moves at random for some weeks, and log the chance of "
    "each drawn move (`propensity` of the schema, empty on other rows)."
)


@dataclass(frozen=True)
class New:
    """Rows that the policy did not learn from."""

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


def find_new(policy: Policy, logs: Logs) -> New:
    """Rows later than all that was learned from; or all rows, where no unit was learned from.

    Only our own models say what they learned from: for others, no row counts as new.
    """
    if not isinstance(policy, ReAlloc):
        sentence = (
            "It is not known which rows the policy learned from, so none counts as new."
        )
        return New(np.zeros(len(logs), dtype=bool), sentence)
    logged = policy.fitted.support.logged
    names = np.asarray(
        logs.units.cast("string").to_numpy(zero_copy_only=False), dtype=np.str_
    )
    if not np.isin(names[np.unique(logs.unit_codes)], logged.unit).any():
        sentence = "The model learned from none of the units of this log."
        return New(np.ones(len(logs), dtype=bool), sentence)
    until = logged.time.max()
    later = logs.times > until
    sentence = (
        f"{int(later.sum()):,} of {len(logs):,} rows are later than "
        f"{until.astype('datetime64[D]')}, the last date that the model learned from."
    )
    return New(later, sentence)


def mark_randomized(logs: Logs, config: ReportConfig) -> Mask:
    """Rows that drew their shares; a log that marks none is refused."""
    if config.randomized is not None:
        flags = _numbers(logs, config.randomized)
        if not np.isin(flags[np.isfinite(flags)], (0.0, 1.0)).all():
            raise ConfigError(
                "Expected true and false (or 1 and 0) in the column "
                f"{config.randomized!r}, `randomized` of [report]."
            )
        marked = flags == 1
    elif config.arms:
        marked = np.isfinite(_probabilities(logs, config)).any(axis=1)
    elif logs.propensity is not None:
        marked = np.isfinite(logs.propensity)
    else:
        raise LogError(
            "No randomized rows: the schema names no `propensity` and [report] no `randomized`. "
            f"{EXPLORE}"
        )
    if not marked.any():
        raise LogError(
            f"No randomized rows: none of {len(logs):,} rows is marked as drawn at random. "
            f"{EXPLORE}"
        )
    return np.asarray(marked)


def find_drawn(logs: Logs, events: Events, wanted: Mask, config: ReportConfig) -> Drawn:
    """The rows of `wanted` that were drawn, as a menu of moves or as shares from a density."""
    marked = mark_randomized(logs, config) & wanted
    at = np.flatnonzero(marked & _follows(logs, events) & np.isfinite(logs.outcome))
    if not len(at):
        raise LogError(
            "No randomized rows that follow their unit's row of the period before and that the "
            f"model did not learn from, of {int(marked.sum()):,} marked ones. Hand in the log with "
            "earlier dates, or a later one."
        )
    start = logs.shares[events.previous[at]]
    notes = [
        f"{len(at):,} randomized rows of {len(np.unique(logs.unit_codes[at])):,} units."
    ]
    if config.arms:
        return _stated_menu(logs, at, start, config, notes)
    moves, drawn = observed_menu(start, logs.shares[at])
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
    unknown = int((drawn < 0).sum())
    if unknown:
        raise LogError(
            f"Expected moves of the {len(moves)} arms of [report] in randomized rows, got others "
            f"in {unknown:,} of {len(at):,}. Complete `arms`, or leave those rows unmarked."
        )
    rows = RandomizedMoves(
        moves=moves,
        probabilities=_probabilities(logs, config)[at],
        drawn=drawn,
        **common_fields(logs.take(at), start),
    )
    check = check_propensities(rows)
    if not check.consistent:
        raise LogError(f"{check.reason} Check where the probabilities come from.")
    notes.append(f"They drew from the {len(moves)} arms of [report]. {check.reason}")
    return Drawn(rows, at, tuple(notes))


def _observed_menu(
    logs: Logs, at: Rows, start: Floats, moves: Floats, drawn: Integers, notes: list[str]
) -> Drawn:
    """The menu is what was drawn; chances are stated for the drawn arm only, or not at all."""
    # A rounded move may take more than there was.
    fits = (start + moves[drawn]).min(axis=1) >= -SAME_MOVE
    if not fits.all():
        notes.append(
            f"{int((~fits).sum()):,} rows whose move cannot be rounded to three digits are left "
            "out."
        )
        at = at[fits]
        start = start[fits]
        drawn = drawn[fits]
    guess = RandomizedMoves(
        moves=moves,
        probabilities=possible_arms(start, moves, drawn),
        drawn=drawn,
        **common_fields(logs.take(at), start),
    )
    rows = estimate_propensities(guess)
    if logs.propensity is None:
        notes.append("Their chances are estimated, because the log states none.")
        return Drawn(rows, at, tuple(notes))
    stated = logs.propensity[at]
    absent = int(np.isnan(stated).sum())
    if absent:
        raise LogError(
            f"Expected a propensity in every randomized row, got none in {absent:,} of "
            f"{len(at):,}. Fill them in, or leave those rows unmarked."
        )
    rows = replace(rows, probabilities=_complete(stated, rows.probabilities, drawn))
    notes.append(
        "The chance of each drawn move is stated; those of the moves not drawn are estimated."
    )
    _check_hold(rows)
    return Drawn(rows, at, tuple(notes))


def _complete(stated: Floats, guess: Floats, drawn: Integers) -> Floats:
    """Stated chances of drawn arms; what they leave goes to the other arms in the guessed
    proportions.
    """
    if stated.max() > 1 + SUM_TOLERANCE:
        raise LogError(
            f"Expected propensities up to 1, as rows drew from a menu of {guess.shape[1]} moves, "
            f"got up to {stated.max():.4g}. Log the probability of the drawn move."
        )
    every = np.arange(len(stated))
    others = guess.copy()
    others[every, drawn] = 0.0
    total = others.sum(axis=1)
    rest = np.maximum(1 - stated, 0.0)
    alone = int(((total <= 0) & (rest > SUM_TOLERANCE)).sum())
    if alone:
        raise LogError(
            "Expected a propensity of 1 where no other move of the log was possible, got less in "
            f"{alone:,} of {len(stated):,} rows. Check that propensities sum to 1 over the moves a "
            "row could get."
        )
    others *= divide(rest, total, 0.0)[:, None]
    others[every, drawn] = 1 - others.sum(axis=1)
    return others


def _check_hold(rows: RandomizedMoves) -> None:
    """Holding is always possible, so 1{held}/e must average to 1:
    else stated chances do not sum to 1.
    """
    if rows.hold is None:
        return
    weight = (rows.drawn == rows.hold) / rows.propensity
    error = standard_error(weight, rows.unit)
    if abs(float(weight.mean()) - 1) > FURTHEST * error:
        raise LogError(
            "The stated propensities do not fit the draws: rows that kept their shares should "
            f"weigh 1 on average, and weigh {weight.mean():.3f} ± {error:.2g}. Check that "
            "propensities sum to 1 over the moves a row could get."
        )


def _density(logs: Logs, at: Rows, start: Floats, notes: list[str]) -> Drawn:
    """Shares drawn from a density over the simplex."""
    if logs.propensity is None:
        raise LogError(
            "Randomized shares differ from row to row, so they were drawn from a density, and the "
            "log does not state it. Log the density of every drawn allocation in the schema's "
            "`propensity`."
        )
    notes.append("They drew shares from a density; values are smoothed over nearby shares.")
    rows = RandomizedShares(
        shares=logs.shares[at],
        density=logs.propensity[at],
        **common_fields(logs.take(at), start),
    )
    return Drawn(rows, at, tuple(notes))


def _follows(logs: Logs, events: Events) -> Mask:
    """Rows whose unit's previous row is one period back: only there the shares before are known."""
    known = events.previous >= 0
    if not known.any():
        return known
    gap = logs.times - logs.times[events.previous]
    gaps, counts = np.unique(gap[known], return_counts=True)
    return known & (gap == gaps[counts.argmax()])


def _probabilities(logs: Logs, config: ReportConfig) -> Floats:
    """Those of `arms`, (n, M); read in single precision,
    so sums are made exact where they are nearly 1.
    """
    chances = np.stack([_numbers(logs, name) for name in config.arms], axis=1)
    total = chances.sum(axis=1, keepdims=True)
    return np.where(np.abs(total - 1) <= SUM_TOLERANCE, chances / total, chances)


def _numbers(logs: Logs, name: str) -> Floats:
    """A column that [report] names; flags are 1 and 0."""
    if name not in logs.table.column_names:
        raise ConfigError(
            f"Expected a column {name!r} that [report] names, but the log has none."
        )
    column = logs.table[name]
    if pa.types.is_dictionary(column.type):
        raise ConfigError(
            f"Expected numbers in the column {name!r} that [report] names, got texts."
        )
    return np.asarray(column.cast(pa.float64()).to_numpy(), dtype=np.float64)
