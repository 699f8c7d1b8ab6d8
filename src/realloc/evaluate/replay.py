"""Matched replay: do predicted gains rank what moved events brought, against no-move controls of the same date?

    u = y − m_eval(x),   R_e = u_e − Σ_c w_ec u_c,   ρ = Spearman(G_e, R_e) over matched events e

Matching removes predictable demand and measured imbalance, never hidden confounding: R is a proxy for ranking, no value of
a policy. Intervals are by bootstrap over units, widened where events share controls. Where events cannot be matched in
balance, the verdict says so and no metric is given.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from realloc.base.errors import ConfigError, LogError
from realloc.base.progress import Progress, silent
from realloc.base.validation import check_types
from realloc.evaluate import ranking
from realloc.evaluate.balance import (
    LIMIT,
    Balance,
    Pool,
    Selection,
    balance_table,
    ladder,
    select_setting,
)
from realloc.evaluate.ceiling import effect_sd, noise_ceiling
from realloc.evaluate.demand import Known, fit_demand, known_before, predict_demand, previous_share
from realloc.evaluate.events import TOLERANCE, Events, Floats, Mask, Rows, at_previous, find_events
from realloc.evaluate.matching import (
    Matches,
    MatchSetting,
    Strata,
    Units,
    match_placebos,
    standardise,
)
from realloc.evaluate.ranking import Bootstrap
from realloc.evaluate.result import Estimate, EstimateTable
from realloc.logs import Logs

if TYPE_CHECKING:
    import pandas as pd

# Rows at their previous shares, and the shares they went to (n, K), to what that is worth (n,)
GainFunction = Callable[[Logs, Floats], NDArray[np.floating]]
AdviceFunction = Callable[
    [Logs], tuple[Mask, Mask]
]  # the same rows: which are moved, and which end is supported
PREDICTED = "predicted outcome"


@dataclass(frozen=True, kw_only=True)
class MatchedReplayConfig:
    """How events are found, matched and ranked."""

    categories: tuple[
        str, ...
    ] = ()  # categorical features that controls must share, from fine to coarse
    features: tuple[
        str, ...
    ] = ()  # further numbers to match on, beside shares, budget, recent level and prediction
    settings: tuple[MatchSetting, ...] = ()  # from strict to loose; none: `ladder(categories)`
    mahalanobis: bool = False
    limit: float = LIMIT  # |SMD| that no covariate may reach
    tolerance: float = TOLERANCE  # ‖Δp‖₁ up to which shares count as held
    recent: int = 7  # earlier rows whose mean outcome is the recent level
    least_events: int = 30  # fewer matched events are not ranked
    similarity: float = 0.5  # caliper of contexts for pairs of one unit's events
    part: float = 0.2  # α of the aligned–reverse gap
    bootstrap: Bootstrap = field(default_factory=Bootstrap)
    seed: int = 0  # of the evaluation model and the Monte Carlo

    def __post_init__(self) -> None:
        check_types(self, "the replay")
        if not (
            self.limit > 0 and self.recent >= 1 and self.least_events >= 2 and self.similarity > 0
        ):
            raise ConfigError(
                "Expected `limit` and `similarity` above 0, `recent` of at least 1 and `least_events` of at least 2."
            )


class Responses(NamedTuple):
    """R (m,), the unit of each, and the matches it comes from as rows of the log."""

    values: Floats
    units: Units
    matches: Matches


@dataclass(frozen=True, eq=False)
class MatchWindow:
    """The matched events of a replay window, ready for any policy's gains."""

    logs: Logs
    events: Events
    selection: Selection
    residual: Floats  # u (n,) less the mean of its stratum, NaN outside the window
    moved: Responses  # matched events
    context: Floats  # (m, d) their standardised covariates
    paired: Responses  # events again, with as many controls each as their placebo has
    placebo: Responses  # no-move rows in the events' place, matched alike
    explained: float  # R² of m_eval on the window's no-move rows
    notes: tuple[str, ...]

    @property
    def response(self) -> Floats:
        """R of every matched event."""
        return self.moved.values

    @property
    def matches(self) -> Matches:
        """Matched events and their controls, as rows of the log."""
        return self.moved.matches


@dataclass(frozen=True, eq=False)
class MatchedReplay:
    """What a replay says: metrics with intervals, balance, the matching that was chosen, a verdict and what is missing."""

    estimates: EstimateTable
    balance: Balance | None
    setting: MatchSetting | None
    verdict: str
    notes: tuple[str, ...]
    window: MatchWindow | None = None

    def __str__(self) -> str:
        return "\n".join(
            [self.verdict, *(str(estimate) for estimate in self.estimates), *self.notes]
        )

    def __getitem__(self, name: str) -> Estimate:
        return self.estimates[name]

    @property
    def is_evaluated(self) -> bool:
        """Whether there is a ranking to read."""
        return self.verdict.startswith("evaluated")

    def to_arrow(self) -> pa.Table:
        """One row per metric."""
        return self.estimates.to_arrow()

    def to_frame(self) -> "pd.DataFrame":
        """The same as a pandas frame."""
        return self.estimates.to_frame()


class Unbalanced(LogError):
    """Events that cannot be matched in balance; holds what was tried."""

    def __init__(self, selection: Selection) -> None:
        super().__init__(selection.why)
        self.selection = selection


def matched_replay(
    logs: Logs,
    gain: GainFunction,
    start: str | date | datetime,
    config: MatchedReplayConfig | None = None,
    advise: AdviceFunction | None = None,
    progress: Progress = silent,
) -> MatchedReplay:
    """Match the window from `start` on and rank its events by a policy's `gain`. Several policies: `match_window` once.

    A log that cannot be replayed gives a verdict that says why; an option that cannot be used, or gains that are no numbers,
    an error.
    """
    config = config or MatchedReplayConfig()
    try:
        window = match_window(logs, start, config, progress)
    except Unbalanced as problem:
        return _refused(str(problem), problem.selection.balance)
    except LogError as problem:
        return _refused(str(problem), None)
    return rank_window(window, gain, config, advise, progress)


def match_window(
    logs: Logs,
    start: str | date | datetime,
    config: MatchedReplayConfig | None = None,
    progress: Progress = silent,
) -> MatchWindow:
    """Everything about a replay that no policy has a say in: events, m_eval, matching, balance and responses."""
    config = config or MatchedReplayConfig()
    events = find_events(logs, config.tolerance)
    settings = config.settings or ladder(config.categories)
    _check_columns(logs, config, settings)
    late = logs.times >= _parse(start)
    rows = _rows_to_match(logs, events, late, start)
    tell = _Teller("match events", 3 + len({setting.category for setting in settings}), progress)
    known = known_before(logs, events, config.recent)
    outcome = logs.outcome
    booster = fit_demand(known, outcome, logs.unit_codes, ~late & events.is_control, config.seed)
    predicted = predict_demand(booster, known, rows)
    tell()

    names = _covariates(logs, config)
    names, values = _filled(
        (*names, PREDICTED), np.column_stack([known.columns(names, rows), predicted])
    )
    moved, held = np.flatnonzero(events.is_event[rows]), np.flatnonzero(events.is_control[rows])
    pool = Pool(names, values, standardise(values, config.mahalanobis), moved, held)

    def strata(category: str | None) -> Strata:
        tell()  # asked for once per category that is tried, and once for the one that was chosen
        return _strata(logs, rows, known, category)

    selection = select_setting(pool, strata, settings, config.limit)
    if selection.setting is None or selection.matches is None:
        raise Unbalanced(selection)
    found = selection.matches  # positions in `rows`, not in the log
    stratum = strata(selection.setting.category)
    residual = np.full(len(logs), np.nan)
    residual[rows] = _less_stratum_mean(outcome[rows] - predicted, stratum)
    paired, placebos = match_placebos(pool.z, found, held, stratum, selection.setting)
    tell.end()
    return MatchWindow(
        logs=logs,
        events=events,
        selection=selection,
        residual=residual,
        moved=_responses(logs, found.at(rows), residual),
        context=pool.z[found.events],
        paired=_responses(logs, paired.at(rows), residual),
        placebo=_responses(logs, placebos.at(rows), residual),
        explained=_explained(outcome[rows[held]], predicted[held]),
        notes=(selection.why, *_left_aside(pool, known, rows, found, config.limit)),
    )


def rank_window(
    window: MatchWindow,
    gain: GainFunction,
    config: MatchedReplayConfig | None = None,
    advise: AdviceFunction | None = None,
    progress: Progress = silent,
) -> MatchedReplay:
    """The metrics of one policy on a matched window."""
    config = config or MatchedReplayConfig()
    (R, units, matches), draws = window.moved, config.bootstrap
    rows = matches.events
    if len(rows) < config.least_events:
        why = f"Expected at least {config.least_events} matched events to rank, got {len(rows)}."
        return _refused(why, window.selection.balance, window)
    asked, tell = at_previous(window.logs, window.events, rows), _Teller("rank events", 9, progress)
    G = _checked(gain(asked, window.logs.shares[rows]), len(rows))
    if np.ptp(G) == 0:
        why = f"Expected gains that differ between events, got {G[0]:.4g} for all {len(G):,}. Nothing is ranked."
        return _refused(why, window.selection.balance, window)
    S = ranking.score(G, window.events.moved_by[rows])
    tell()

    def shared(estimate: Estimate, leverage: Floats, largest: float = np.inf) -> Estimate:
        tell()
        return ranking.widen(
            estimate, matches.sharing(leverage, window.residual, window.logs.unit_codes), largest
        )

    estimates = [
        shared(
            ranking.rank_correlation("rho_gain", G, R, units, draws), ranking.centred_ranks(G), 1.0
        ),
        shared(
            ranking.rank_correlation("rho_score", S, R, units, draws), ranking.centred_ranks(S), 1.0
        ),
        ranking.within_unit_concordance(S, R, units, window.context, config.similarity, draws),
        shared(
            ranking.aligned_gap(S, R, units, config.part, draws),
            ranking.tail_shares(S, config.part),
        ),
        shared(ranking.mean_response("mean_response", R, units, draws), np.ones(len(R))),
        _placebo_mean(window, draws),
    ]
    notes = list(window.notes)
    if not estimates[2].n:
        notes.append("Within-unit concordance: no unit has two matched events in like contexts.")
    tell()
    estimates += _ceiling(window, config, notes)
    tell()
    if advise is None:
        notes.append("Support violation: not measured, because no `advise` was given.")
    else:
        estimates += ranking.support_violation(*advise(asked), units, draws)
    tell.end()
    return MatchedReplay(
        EstimateTable(tuple(estimates)),
        window.selection.balance,
        window.selection.setting,
        f"evaluated: {estimates[0]}, {against_chance(estimates[0])}.",
        tuple(notes),
        window,
    )


class _Teller:
    """Says how far a step is: a call ends one of its parts, `end` all that are left."""

    def __init__(self, step: str, total: int, progress: Progress) -> None:
        self.step, self.total, self.progress, self.done = step, total, progress, 0
        progress(step, 0, total)

    def __call__(self) -> None:
        self.done = min(self.done + 1, self.total)
        self.progress(self.step, self.done, self.total)

    def end(self) -> None:
        """Nothing is left to do."""
        self.progress(self.step, self.total, self.total)


def _placebo_mean(window: MatchWindow, draws: Bootstrap) -> Estimate:
    """Mean R of rows that did not move: far from 0, matching leaves something that also makes movers differ."""
    values, units, matches = window.placebo
    found = ranking.mean_response("mean_placebo_response", values, units, draws)
    factor = (
        matches.sharing(np.ones(len(values)), window.residual, window.logs.unit_codes)
        if len(values)
        else 1.0
    )
    return ranking.widen(found, factor)


def _ceiling(window: MatchWindow, config: MatchedReplayConfig, notes: list[str]) -> list[Estimate]:
    """sd(τ), ρ* and R² of m_eval; what cannot be told is noted."""
    found = [
        Estimate(
            "response_sd",
            float(window.response.std()),
            float("nan"),
            float("nan"),
            len(window.response),
        ),
        Estimate("demand_r2", window.explained, float("nan"), float("nan"), len(window.response)),
    ]
    try:
        effect = effect_sd(*window.paired[:2], *window.placebo[:2], config.bootstrap)
    except LogError as problem:
        notes.append(f"Noise ceiling: not known. {problem}")
        return found
    if not effect.low > 0:
        notes.append(
            "Noise ceiling: a guess, because the size of effects cannot be told from zero (see `effect_sd`)."
        )
    n, noise = len(window.response), float(window.placebo.values.std())
    value, low, high = (
        noise_ceiling(sd, noise, n, seed=config.seed).value if np.isfinite(sd) else float("nan")
        for sd in (effect.value, effect.low, effect.high)
    )
    return [*found, effect, Estimate("noise_ceiling", value, low, high, n)]


def _rows_to_match(logs: Logs, events: Events, late: Mask, start: object) -> Rows:
    """Rows of the window that moved or held and have an outcome; a sentence where there are none of a kind."""
    if not len(logs):
        raise LogError("Expected rows to replay, got an empty log.")
    times = np.unique(logs.times)
    if len(times) == 1:
        raise LogError(
            f"Expected several dates, got only {times[0]}. A move is a change against an earlier date."
        )
    if not late.any():
        raise LogError(f"Expected dates from {start} on to replay, got {times[0]} to {times[-1]}.")
    if late.all():
        raise LogError(
            f"Expected dates before {start} to learn predictable demand from, got {times[0]} to {times[-1]}. "
            "Start the window later."
        )
    usable = late & np.isfinite(logs.outcome)
    moved, held = usable & events.is_event, usable & events.is_control
    if not moved.any():
        raise LogError(
            f"Expected events in the replay window: rows whose shares moved by more than {events.tolerance:g} (‖Δp‖₁) from "
            f"their unit's previous row, got none of {int(usable.sum()):,}."
        )
    if not held.any():
        raise LogError(
            f"Expected no-move controls in the replay window, got none: all {int(moved.sum()):,} rows that can be compared moved "
            f"by more than {events.tolerance:g} (‖Δp‖₁). Raise `tolerance` if small changes are no decisions."
        )
    return np.flatnonzero(moved | held)


def _check_columns(
    logs: Logs, config: MatchedReplayConfig, settings: tuple[MatchSetting, ...]
) -> None:
    """Categories must be categories and features numbers of this log."""
    coded = [name for name in logs.features if pa.types.is_dictionary(logs.feature(name).type)]
    numbers = [name for name in logs.features if name not in coded]
    for name in dict.fromkeys(
        [*config.categories, *(s.category for s in settings if s.category is not None)]
    ):
        if name not in coded:
            raise ConfigError(
                f"Expected a category among the categorical features {coded}, got {name!r}."
            )
    for name in config.features:
        if name not in numbers:
            raise ConfigError(
                f"Expected features to match on among the numbers {numbers}, got {name!r}."
            )


def _covariates(logs: Logs, config: MatchedReplayConfig) -> tuple[str, ...]:
    shares = (previous_share(channel) for channel in logs.schema.channels)
    return (*shares, "log budget", "recent level", *config.features)


def _filled(names: tuple[str, ...], values: Floats) -> tuple[tuple[str, ...], Floats]:
    """Missing values at the mean, with a flag of their own that must balance as well."""
    missing = ~np.isfinite(values)
    gaps = np.flatnonzero(missing.any(axis=0))
    if not len(gaps):
        return names, values
    count = np.maximum((~missing).sum(axis=0), 1)
    means = np.where(missing, 0.0, values).sum(axis=0) / count
    flags = missing[:, gaps].astype(np.float64)
    return (*names, *(f"{names[j]} missing" for j in gaps)), np.hstack(
        [np.where(missing, means, values), flags]
    )


def _strata(logs: Logs, rows: Rows, known: Known, category: str | None) -> Strata:
    """One number per date and level of a category; rows without a level have one of their own."""
    dates = np.unique(logs.times[rows], return_inverse=True)[1]
    if category is None:
        return dates
    level = np.nan_to_num(known.columns((category,), rows)[:, 0], nan=-1.0).astype(np.int64) + 1
    return dates * (int(level.max()) + 1) + level


def _left_aside(pool: Pool, known: Known, rows: Rows, matches: Matches, limit: float) -> list[str]:
    """A sentence on numbers that were not matched on and are out of balance."""
    others = tuple(
        name for name in known.names if name not in pool.names and name not in known.categorical
    )
    if not others:
        return []
    names, values = _filled(others, known.columns(others, rows))
    found = balance_table(names, values, pool.events, pool.controls, matches)
    far = [
        f"{name} ({smd:.2f})"
        for name, smd in zip(names, found.after, strict=True)
        if abs(smd) >= limit
    ]
    return (
        [f"Not matched on, and out of balance (SMD): {', '.join(far)}. Name them in `features`."]
        if far
        else []
    )


def _responses(logs: Logs, matches: Matches, residual: Floats) -> Responses:
    return Responses(matches.contrast(residual), logs.unit_codes[matches.events], matches)


def _less_stratum_mean(residual: Floats, stratum: Strata) -> Floats:
    """What a date does to all rows of a category: no response changes, and rows of different units become independent."""
    codes = np.unique(stratum, return_inverse=True)[1]
    return residual - (np.bincount(codes, residual) / np.bincount(codes))[codes]


def _explained(outcome: Floats, predicted: Floats) -> float:
    """R²; 0 where the outcome never varies."""
    return float(1 - (outcome - predicted).var() / outcome.var()) if outcome.var() > 0 else 0.0


def _checked(gain: object, n: int) -> Floats:
    found = np.asarray(gain, dtype=np.float64)
    if found.shape != (n,):
        raise LogError(f"Expected one gain per event, an array of shape ({n},), got {found.shape}.")
    bad = int((~np.isfinite(found)).sum())
    if bad:
        raise LogError(
            f"Expected finite gains from the policy, got {bad:,} of {n:,} that are NaN or infinite."
        )
    return found


def _parse(start: str | date | datetime) -> np.datetime64:
    try:
        return np.datetime64(start, "us")
    except (ValueError, TypeError) as problem:
        raise ConfigError(
            f"Expected a date such as 2026-01-31 as start of the window, got {start!r}."
        ) from problem


def against_chance(rho: Estimate) -> str:
    """What an interval says of a rank correlation."""
    if np.isnan(rho.low):
        return "no interval, because all events are of one unit"
    if rho.low > 0:
        return "better than chance"
    return "worse than chance" if rho.high < 0 else "not told from chance"


def _refused(why: str, balance: Balance | None, window: MatchWindow | None = None) -> MatchedReplay:
    setting = None if window is None else window.selection.setting
    notes = () if window is None else window.notes
    return MatchedReplay(
        EstimateTable(()), balance, setting, f"cannot be evaluated: {why}", notes, window
    )
