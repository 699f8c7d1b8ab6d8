"""Balance: standardised mean differences before and after matching, and the loosest matching that keeps them small.

SMD_j = (mean of events − mean of controls) / √((var of events + var of controls) / 2). Both sides of a table are divided by
the spread before matching, so that a matched sample that is merely narrower does not look worse or better.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from realloc.base.errors import ConfigError, LogError
from realloc.evaluate.events import Floats, Rows
from realloc.evaluate.matching import Matches, MatchSetting, Strata, match_events

if TYPE_CHECKING:
    import pandas as pd

LIMIT = 0.1  # |SMD| from which a covariate counts as unbalanced
CALIPERS = (0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.65, 0.8)
NEIGHBOURS = 10  # fewer would match as many events, with noisier responses


@dataclass(frozen=True, eq=False)
class Balance:
    """SMD of every covariate before and after matching; NaN after where nothing was matched."""

    names: tuple[str, ...]
    before: Floats  # (d,)
    after: Floats  # (d,)

    @property
    def worst(self) -> str:
        """The covariate with the largest |SMD| after matching."""
        return self.names[int(np.argmax(np.nan_to_num(np.abs(self.after), nan=np.inf)))]

    @property
    def largest(self) -> float:
        """The largest |SMD| after matching."""
        return float(np.abs(self.after).max())

    def to_arrow(self) -> pa.Table:
        """One row per covariate: covariate, before, after."""
        return pa.table({"covariate": list(self.names), "before": self.before, "after": self.after})

    def to_frame(self) -> "pd.DataFrame":
        """The same as a pandas frame."""
        return self.to_arrow().to_pandas()


@dataclass(frozen=True, eq=False)
class Trial:
    """What one setting gave: how many events it matches, and their balance."""

    setting: MatchSetting
    matched: int
    balance: Balance


@dataclass(frozen=True, eq=False)
class Selection:
    """The setting that was chosen, if any keeps balance; `why` says so, and `trials` what each one gave."""

    setting: MatchSetting | None
    matches: Matches | None
    balance: Balance
    trials: tuple[Trial, ...]
    why: str

    def to_frame(self) -> "pd.DataFrame":
        """One row per setting that was tried."""
        rows = [
            vars(trial.setting)
            | {
                "matched": trial.matched,
                "worst": trial.balance.worst,
                "largest": trial.balance.largest,
            }
            for trial in self.trials
        ]
        return pa.Table.from_pylist(rows).to_pandas()


def balance_table(
    names: tuple[str, ...],
    values: Floats,
    events: Rows,
    controls: Rows,
    matches: Matches | None = None,
) -> Balance:
    """SMD of covariates (n, d): all events against all controls, then matched ones against theirs."""
    mine, theirs = values[events], values[controls]
    if not len(mine) or not len(theirs):
        raise LogError(
            f"Expected events and controls to compare, got {len(mine)} and {len(theirs)}."
        )
    spread = np.sqrt((mine.var(axis=0) + theirs.var(axis=0)) / 2)
    before = _ratio(mine.mean(axis=0) - theirs.mean(axis=0), spread)
    if matches is None or not len(matches):
        return Balance(names, before, np.full(len(names), np.nan))
    return Balance(names, before, _ratio(matches.contrast(values).mean(axis=0), spread))


def ladder(categories: Sequence[str] = ()) -> tuple[MatchSetting, ...]:
    """Settings from strict to loose: within each category level (fine to coarse) ever wider calipers."""
    return tuple(
        MatchSetting(caliper=caliper, neighbours=NEIGHBOURS, category=category)
        for category in categories or (None,)
        for caliper in CALIPERS
    )


@dataclass(frozen=True, eq=False)
class Pool:
    """Everything that can be matched: covariates (n, d) with names, their coordinates z, events and controls."""

    names: tuple[str, ...]
    values: Floats
    z: Floats
    events: Rows
    controls: Rows


def select_setting(
    pool: Pool,
    strata: Callable[[str | None], Strata],
    settings: Sequence[MatchSetting],
    limit: float = LIMIT,
) -> Selection:
    """The setting that matches most events while every |SMD| stays below `limit`; at equal counts the earlier one.

    `strata` gives every row's stratum for a category level. Without a balanced setting nothing is chosen.
    """
    if not settings:
        raise ConfigError("Expected at least one matching setting to try, got none.")
    trials: list[Trial] = []
    best: Trial | None = None
    kept: Matches | None = None
    for category in dict.fromkeys(setting.category for setting in settings):
        level = [setting for setting in settings if setting.category == category]
        every = match_events(pool.z, pool.events, pool.controls, strata(category), _widest(level))
        for setting in level:
            matches = every.within(setting.caliper, setting.neighbours)
            balance = balance_table(pool.names, pool.values, pool.events, pool.controls, matches)
            trials.append(Trial(setting, len(matches), balance))
            if balance.largest < limit and (best is None or len(matches) > best.matched):
                best, kept = trials[-1], matches
        if best is not None and best.matched == len(pool.events):
            break  # a coarser category could not match more
    if best is None:
        return _refuse(pool, trials, limit)
    return Selection(
        best.setting, kept, best.balance, tuple(trials), _praise(pool, best, trials, limit)
    )


def _widest(level: Sequence[MatchSetting]) -> MatchSetting:
    """A setting that finds whatever one of them finds."""
    return MatchSetting(
        caliper=max(setting.caliper for setting in level),
        neighbours=max(setting.neighbours for setting in level),
    )


def _praise(pool: Pool, best: Trial, trials: list[Trial], limit: float) -> str:
    most = max(trial.matched for trial in trials)
    more = (
        "none matches more"
        if best.matched == most
        else f"settings that match up to {most:,} lose balance"
    )
    return (
        f"Chosen of {len(trials)} settings: {best.setting}. It matches {best.matched:,} of {len(pool.events):,} events with "
        f"every |SMD| below {limit:g} (largest {best.balance.largest:.3f}, {best.balance.worst}); {more}."
    )


def _refuse(pool: Pool, trials: list[Trial], limit: float) -> Selection:
    """Nothing is chosen; the balance shown is that of the setting that came nearest."""
    some = [trial for trial in trials if trial.matched]
    if not some:
        why = (
            f"none of {len(pool.events):,} events has a control of its date and category within the widest caliper. "
            "Allow a wider caliper or a coarser category, or match on fewer features."
        )
        return Selection(None, None, trials[0].balance, tuple(trials), why)
    nearest = min(some, key=lambda trial: trial.balance.largest)
    why = (
        f"no matching keeps every |SMD| below {limit:g}. The nearest ({nearest.setting}) leaves "
        f"{nearest.balance.largest:.3f} on {nearest.balance.worst!r} with {nearest.matched:,} of {len(pool.events):,} events."
    )
    return Selection(None, None, nearest.balance, tuple(trials), why)


def _ratio(difference: Floats, spread: Floats) -> Floats:
    """Difference over spread; a covariate that never varies is balanced if it is the same on both sides."""
    same = np.abs(difference) <= 1e-12
    return np.where(
        same, 0.0, np.divide(difference, spread, out=np.full(len(spread), np.inf), where=spread > 0)
    )
