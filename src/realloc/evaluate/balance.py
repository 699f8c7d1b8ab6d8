"""Balance: standardised mean differences (SMD) before and after matching,
and the loosest matching that keeps them small.

SMD_j = (mean of events − mean of controls) / √((var of events + var of controls) / 2). Both sides
of a table are divided by the spread before matching, so that a matched sample that is merely
narrower does not look worse or better.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from realloc.base.errors import ConfigError, LogError
from realloc.base.simplex import Floats, Rows
from realloc.evaluate.matching import Matches, MatchSetting, Strata, match_events
from realloc.evaluate.result import divide

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

    def to_frame(self) -> "pd.DataFrame":
        """One row per covariate: covariate, before, after."""
        columns = {
            "covariate": list(self.names),
            "before": self.before,
            "after": self.after,
        }
        return pa.table(columns).to_pandas()


@dataclass(frozen=True, eq=False)
class Trial:
    """What one setting gave: how many events it matches, and their balance."""

    setting: MatchSetting
    matched: int
    balance: Balance


@dataclass(frozen=True, eq=False)
class Selection:
    """The setting that was chosen, if any keeps balance; `why` says so,
    and `trials` what each one gave.
    """

    setting: MatchSetting | None
    matches: Matches | None
    balance: Balance
    trials: tuple[Trial, ...]
    why: str


def balance_table(
    names: tuple[str, ...],
    values: Floats,
    events: Rows,
    controls: Rows,
    matches: Matches | None = None,
) -> Balance:
    """SMD of covariates (n, d): all events against all controls,
    then matched ones against theirs.
    """
    if not len(events) or not len(controls):
        raise LogError(
            f"Expected events and controls to compare, got {len(events)} and {len(controls)}."
        )
    moved = values[events]
    held = values[controls]
    spread = np.sqrt((moved.var(axis=0) + held.var(axis=0)) / 2)
    before = _ratio(moved.mean(axis=0) - held.mean(axis=0), spread)
    after = np.full(len(names), np.nan)
    if matches is not None and len(matches):
        after = _ratio(matches.contrast(values).mean(axis=0), spread)
    return Balance(names, before, after)


def ladder(categories: Sequence[str] = ()) -> tuple[MatchSetting, ...]:
    """Settings from strict to loose: within each category level (fine to coarse)
    ever wider calipers.
    """
    return tuple(
        MatchSetting(caliper=caliper, neighbours=NEIGHBOURS, category=category)
        for category in categories or (None,)
        for caliper in CALIPERS
    )


@dataclass(frozen=True, eq=False)
class Pool:
    """Everything that can be matched: covariates (n, d) with names, their coordinates z,
    events and controls.
    """

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
    """The setting that matches most events while every |SMD| stays below `limit`; if equal,
    the earlier.

    `strata` gives every row's stratum for a category level. Without a balanced setting nothing is
    chosen.
    """
    if not settings:
        raise ConfigError("Expected at least one matching setting to try, got none.")
    trials: list[Trial] = []
    best: Trial | None = None
    kept: Matches | None = None
    for category in dict.fromkeys(setting.category for setting in settings):
        level = [setting for setting in settings if setting.category == category]
        widest = MatchSetting(
            caliper=max(setting.caliper for setting in level),
            neighbours=max(setting.neighbours for setting in level),
        )
        every = match_events(pool.z, pool.events, pool.controls, strata(category), widest)
        for setting in level:
            matches = every.within(setting.caliper, setting.neighbours)
            balance = balance_table(
                pool.names, pool.values, pool.events, pool.controls, matches
            )
            trial = Trial(setting, len(matches), balance)
            trials.append(trial)
            if balance.largest < limit and (best is None or trial.matched > best.matched):
                best = trial
                kept = matches
        if best is not None and best.matched == len(pool.events):
            break  # a coarser category could not match more
    if best is None:
        return _refuse(pool, trials, limit)
    most = max(trial.matched for trial in trials)
    others = "none matches more"
    if best.matched < most:
        others = f"settings that match up to {most:,} lose balance"
    why = (
        f"Chosen of {len(trials)} settings: {best.setting}. It matches {best.matched:,} of "
        f"{len(pool.events):,} events with every |SMD| below {limit:g} (largest "
        f"{best.balance.largest:.3f}, {best.balance.worst}); {others}."
    )
    return Selection(best.setting, kept, best.balance, tuple(trials), why)


def _refuse(pool: Pool, trials: list[Trial], limit: float) -> Selection:
    """Nothing is chosen; the balance shown is that of the setting that came nearest."""
    some = [trial for trial in trials if trial.matched]
    if not some:
        why = (
            f"none of {len(pool.events):,} events has a control of its date and category within "
            "the widest caliper. Allow a wider caliper or a coarser category, or match on fewer "
            "features."
        )
        return Selection(None, None, trials[0].balance, tuple(trials), why)
    nearest = min(some, key=lambda trial: trial.balance.largest)
    balance = nearest.balance
    why = (
        f"no matching keeps every |SMD| below {limit:g}. The nearest ({nearest.setting}) leaves "
        f"{balance.largest:.3f} on {balance.worst!r} with {nearest.matched:,} of "
        f"{len(pool.events):,} events."
    )
    return Selection(None, None, balance, tuple(trials), why)


def _ratio(difference: Floats, spread: Floats) -> Floats:
    """Difference over spread; a covariate that never varies is balanced if both sides are the
    same.
    """
    quotient = divide(difference, spread, np.inf)
    return np.where(np.abs(difference) <= 1e-12, 0.0, quotient)
