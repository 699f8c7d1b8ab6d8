"""Matched replay: do predicted gains rank what moved events brought,
against no-move controls of the same date?

    u = y − m_eval(x),   R_e = u_e − Σ_c w_ec u_c,   ρ = Spearman(G_e, R_e) over matched events e

Matching removes predictable demand and measured imbalance, never hidden confounding: R is a proxy
for ranking, no value of a policy. Intervals are by bootstrap over units, widened where events share
controls. Where events cannot be matched in balance, the verdict says so and no metric is given.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import date, datetime

import numpy as np
from numpy.typing import NDArray

from realloc.base.errors import ConfigError, LogError
from realloc.base.numbers import written
from realloc.base.progress import Progress, silent
from realloc.base.simplex import Floats, Mask, Rows
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
from realloc.evaluate.bootstrap import Bootstrap
from realloc.evaluate.ceiling import effect_sd, noise_ceiling
from realloc.evaluate.demand import (
    Known,
    fit_demand,
    known_before,
    predict_demand,
    previous_share,
)
from realloc.evaluate.events import (
    FEWEST_HELD,
    LEAST_MOVED,
    TOLERANCE,
    Events,
    at_previous,
    find_events,
    with_small_moves,
)
from realloc.evaluate.matching import (
    Matches,
    MatchSetting,
    Strata,
    Units,
    match_placebos,
    standardise,
)
from realloc.evaluate.result import NAN, Estimate, EstimateTable, group_codes
from realloc.logs import Logs

# Rows at their previous shares, and the shares they went to (n, K), to what that is worth (n,)
GainFunction = Callable[[Logs, Floats], NDArray[np.floating]]
# The same rows to which of them are moved, and which recommendations are supported
AdviceFunction = Callable[[Logs], tuple[Mask, Mask]]
PREDICTED = "predicted outcome"


@dataclass(frozen=True, kw_only=True)
class MatchedReplayConfig:
    """How events are found, matched and ranked."""

    categories: tuple[
        str, ...
    ] = ()  # features that controls must share, from fine to coarse
    features: tuple[
        str, ...
    ] = ()  # numbers to match on beside shares, budget, level, prediction
    settings: tuple[
        MatchSetting, ...
    ] = ()  # from strict to loose; none: `ladder(categories)`
    limit: float = LIMIT  # |SMD| that no covariate may reach
    # Moved share up to which a row counts as one that held its shares; None: none that is more than
    # rounding, and where hardly any row holds them, the smallest moves.
    small_move: float | None = None
    least_events: int = 30  # fewer matched events are not ranked
    bootstrap: Bootstrap = field(default_factory=Bootstrap)

    def __post_init__(self) -> None:
        check_types(self, "the replay")
        if not (self.limit > 0 and self.least_events >= 2):
            raise ConfigError("Expected `limit` above 0 and `least_events` of at least 2.")


@dataclass(frozen=True, eq=False)
class Responses:
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
class MatchedReplay(EstimateTable):
    """Metrics with intervals, balance, the matching that was chosen,
    a verdict and what is missing.
    """

    balance: Balance | None
    setting: MatchSetting | None
    verdict: str
    notes: tuple[str, ...]
    window: MatchWindow | None = None

    def __str__(self) -> str:
        return "\n".join([self.verdict, *map(str, self.estimates), *self.notes])

    @property
    def is_evaluated(self) -> bool:
        """Whether there is a ranking to read."""
        return self.verdict.startswith("evaluated")


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
    """Match the window from `start` on and rank its events by a policy's `gain`.

    A log that cannot be replayed gives a verdict that says why; an option that cannot be used, or
    gains that are no numbers, an error. For several policies, call `match_window` once.
    """
    try:
        window = match_window(logs, start, config, progress)
    except Unbalanced as problem:
        return _refused(str(problem), problem.selection.balance)
    except LogError as problem:
        return _refused(str(problem))
    return rank_window(window, gain, config, advise, progress)


def match_window(
    logs: Logs,
    start: str | date | datetime,
    config: MatchedReplayConfig | None = None,
    progress: Progress = silent,
) -> MatchWindow:
    """All of a replay that no policy has a say in: events, m_eval, matching,
    balance and responses.
    """
    config = config or MatchedReplayConfig()
    settings = config.settings or ladder(config.categories)
    _check_columns(logs, config, settings)
    late = logs.times >= _parse(start)
    events = _find_events(logs, late, config.small_move)
    least_held = FEWEST_HELD if config.small_move is None else 0.0
    rows = _rows_to_match(logs, events, late, start, least_held)
    progress("match events", 0, 3)
    known = known_before(logs, events)
    outcome = logs.outcome
    booster = fit_demand(known, outcome, logs.unit_codes, ~late & events.is_control)
    predicted = predict_demand(booster, known, rows)
    progress("match events", 1, 3)

    pool = _pool(logs, events, known, predicted, rows, config)

    dates = group_codes(logs.times[rows])

    def strata(category: str | None) -> Strata:
        """One number per date and level; rows without a level have one of their own."""
        if category is None:
            return dates
        level = (
            np.nan_to_num(known.columns((category,), rows)[:, 0], nan=-1.0).astype(int) + 1
        )
        return dates * (int(level.max()) + 1) + level

    selection = select_setting(pool, strata, settings, config.limit)
    if selection.setting is None or selection.matches is None:
        raise Unbalanced(selection)
    progress("match events", 2, 3)
    matches = selection.matches  # positions in `rows`, not in the log
    stratum = strata(selection.setting.category)
    paired, placebos = match_placebos(
        pool.z, matches, pool.controls, stratum, selection.setting
    )
    rest = outcome[rows] - predicted
    residual = np.full(len(logs), np.nan)
    # Without what a date does to all rows of a category: no response changes, and rows of
    # different units become independent.
    codes = group_codes(stratum)
    residual[rows] = rest - (np.bincount(codes, rest) / np.bincount(codes))[codes]
    variance = outcome[rows[pool.controls]].var()

    def responses(found: Matches) -> Responses:
        placed = found.at(rows)
        return Responses(placed.contrast(residual), logs.unit_codes[placed.events], placed)

    window = MatchWindow(
        logs=logs,
        events=events,
        selection=selection,
        residual=residual,
        moved=responses(matches),
        context=pool.z[matches.events],
        paired=responses(paired),
        placebo=responses(placebos),
        explained=float(1 - rest[pool.controls].var() / variance) if variance > 0 else 0.0,
        notes=(
            *_smallest(events),
            selection.why,
            *_left_aside(pool, known, rows, matches, config.limit),
        ),
    )
    progress("match events", 3, 3)
    return window


def _find_events(logs: Logs, late: Mask, small_move: float | None) -> Events:
    if small_move is not None:
        return find_events(logs, 2 * small_move)
    return with_small_moves(find_events(logs), late)


def rank_window(
    window: MatchWindow,
    gain: GainFunction,
    config: MatchedReplayConfig | None = None,
    advise: AdviceFunction | None = None,
    progress: Progress = silent,
) -> MatchedReplay:
    """The metrics of one policy on a matched window."""
    config = config or MatchedReplayConfig()
    rows = window.matches.events
    selection = window.selection
    if len(rows) < config.least_events:
        why = f"Expected at least {config.least_events} matched events to rank, got {len(rows)}."
        return _refused(why, selection.balance, window)
    before = at_previous(window.logs, window.events, rows)
    progress("rank events", 0, 8)
    gains = np.asarray(gain(before, window.logs.shares[rows]), dtype=np.float64)
    ranking.check_pairs(gains, window.response, window.moved.units)
    if np.ptp(gains) == 0:
        why = (
            f"Expected gains that differ between events, got {written(gains[0])} for all "
            f"{len(gains):,}. Nothing is ranked."
        )
        return _refused(why, selection.balance, window)
    notes = list(window.notes)
    estimates = _rank(window, gains, config, progress)
    if not estimates[2].n:
        notes.append(
            "Within-unit concordance: no unit has two matched events in like contexts."
        )
    estimates += _ceiling(window, config, notes)
    progress("rank events", 7, 8)
    if advise is None:
        notes.append("Support violation: not measured, because no `advise` was given.")
    else:
        moved, supported = advise(before)
        units = window.moved.units
        estimates += ranking.support_violation(moved, supported, units, config.bootstrap)
    progress("rank events", 8, 8)
    verdict = f"evaluated: {estimates[0]}, {against_chance(estimates[0])}."
    return MatchedReplay(
        tuple(estimates),
        selection.balance,
        selection.setting,
        verdict,
        tuple(notes),
        window,
    )


def _rank(
    window: MatchWindow, G: Floats, config: MatchedReplayConfig, progress: Progress
) -> list[Estimate]:
    """Rank correlations, concordance, gap and mean responses,
    widened where events share controls.
    """
    R = window.moved.values
    units = window.moved.units
    draws = config.bootstrap
    S = ranking.score(G, window.events.moved_by[window.matches.events])
    placebo = window.placebo
    estimates: list[Estimate] = []

    def add(
        estimate: Estimate,
        leverage: Floats,
        matches: Matches = window.matches,
        largest: float = np.inf,
    ) -> None:
        """`leverage` says how much each response moves the estimate."""
        if len(leverage):
            factor = matches.sharing(leverage, window.residual, window.logs.unit_codes)
            estimate = ranking.widen(estimate, factor, largest)
        estimates.append(estimate)
        progress("rank events", len(estimates), 8)

    for name, predicted in (("rho_gain", G), ("rho_score", S)):
        rho = ranking.rank_correlation(name, predicted, R, units, draws)
        add(rho, ranking.centred_ranks(predicted), largest=1.0)
    pairs = ranking.within_unit_concordance(S, R, units, window.context, bootstrap=draws)
    estimates.append(pairs)
    gap = ranking.aligned_gap(S, R, units, bootstrap=draws)
    add(gap, ranking.tail_shares(S))
    add(ranking.mean_response("mean_response", R, units, draws), np.ones(len(R)))
    # Rows that did not move: far from 0, matching leaves something that also makes movers differ.
    mean = ranking.mean_response(
        "mean_placebo_response", placebo.values, placebo.units, draws
    )
    add(mean, np.ones(len(placebo.values)), placebo.matches)
    return estimates


def _ceiling(
    window: MatchWindow, config: MatchedReplayConfig, notes: list[str]
) -> list[Estimate]:
    """sd(τ), ρ* and R² of m_eval; what cannot be estimated is noted."""
    n = len(window.response)
    estimates = [
        Estimate.point("response_sd", window.response.std(), n),
        Estimate.point("demand_r2", window.explained, n),
    ]
    paired = window.paired
    placebo = window.placebo
    try:
        effect = effect_sd(
            paired.values, paired.units, placebo.values, placebo.units, config.bootstrap
        )
    except LogError as problem:
        notes.append(f"Noise ceiling: not known. {problem}")
        return estimates
    if not effect.low > 0:
        notes.append(
            "Noise ceiling: a guess, because the size of effects may well be zero (see "
            "`effect_sd`)."
        )
    noise = float(placebo.values.std())
    value, low, high = [
        noise_ceiling(sd, noise, n).value if np.isfinite(sd) else NAN
        for sd in (effect.value, effect.low, effect.high)
    ]
    return [*estimates, effect, Estimate("noise_ceiling", value, low, high, n)]


def _rows_to_match(
    logs: Logs, events: Events, late: Mask, start: object, least_held: float
) -> Rows:
    """Rows of the window that moved or held and have an outcome."""
    if not len(logs):
        raise LogError("Expected rows to replay, got an empty log.")
    first = logs.times.min()
    last = logs.times.max()
    if first == last:
        raise LogError(
            f"Expected several dates, got only {first}. A move is a change against an earlier date."
        )
    if not late.any():
        raise LogError(f"Expected dates from {start} on to replay, got {first} to {last}.")
    if late.all():
        raise LogError(
            f"Expected dates before {start} to learn predictable demand from, got {first} to "
            f"{last}. Start the window later."
        )
    usable = late & np.isfinite(logs.outcome)
    moved = usable & events.is_event
    held = usable & events.is_control
    if not moved.any():
        raise LogError(
            f"Expected rows in the replay window that moved {_more_than(events)} against their "
            f"unit's previous row, got none of {int(usable.sum()):,}."
        )
    if held.sum() <= least_held * moved.sum():
        least = np.ceil(50 * np.quantile(events.moved_by[moved], LEAST_MOVED)) / 100
        raise LogError(
            f"Expected rows that hardly moved in the replay window, to compare others with, but "
            f"{int(moved.sum()):,} of {int(usable.sum()):,} moved {_more_than(events)}. Set "
            "`small_move` in [report] to what is no decision for you; a fifth of the rows moved by "
            f"up to {least:.2g}."
        )
    return np.flatnonzero(moved | held)


def _smallest(events: Events) -> Iterator[str]:
    if events.tolerance > TOLERANCE:
        yield (
            "Hardly any row kept its mix exactly, so rows that moved by up to "
            f"{events.tolerance / 2:.1%} of their budget stand for those that did not move "
            "(`small_move` of [report])."
        )


def _more_than(events: Events) -> str:
    if events.tolerance <= TOLERANCE:
        return "at all"
    return f"by more than {events.tolerance / 2:.1%} of their budget"


def _check_columns(
    logs: Logs, config: MatchedReplayConfig, settings: tuple[MatchSetting, ...]
) -> None:
    """Categories must be categories and features numbers of this log."""
    coded = list(logs.pinned_schema.categorical or ())
    numbers = [name for name in logs.features if name not in coded]
    for name in (*config.categories, *(setting.category for setting in settings)):
        if name is not None and name not in coded:
            raise ConfigError(
                f"Expected a category among the categorical features {coded}, got {name!r}."
            )
    for name in config.features:
        if name not in numbers:
            raise ConfigError(
                f"Expected features to match on among the numbers {numbers}, got {name!r}."
            )


def _pool(
    logs: Logs,
    events: Events,
    known: Known,
    predicted: Floats,
    rows: Rows,
    config: MatchedReplayConfig,
) -> Pool:
    """What the rows are matched on, and which of them moved and held."""
    shares = [previous_share(channel) for channel in logs.schema.channels]
    numbers = (*shares, "log budget", "recent level", *config.features)
    covariates = np.column_stack([known.columns(numbers, rows), predicted])
    names, values = _filled((*numbers, PREDICTED), covariates)
    moved = np.flatnonzero(events.is_event[rows])
    held = np.flatnonzero(events.is_control[rows])
    return Pool(names, values, standardise(values), moved, held)


def _filled(names: tuple[str, ...], values: Floats) -> tuple[tuple[str, ...], Floats]:
    """Missing values at the mean, with a flag of their own that must balance as well."""
    missing = ~np.isfinite(values)
    gaps = np.flatnonzero(missing.any(axis=0))
    if not len(gaps):
        return names, values
    means = np.ma.masked_array(values, missing).mean(axis=0).filled(0.0)
    filled = np.hstack([np.where(missing, means, values), missing[:, gaps]])
    return (*names, *(f"{names[j]} missing" for j in gaps)), filled


def _left_aside(
    pool: Pool, known: Known, rows: Rows, matches: Matches, limit: float
) -> list[str]:
    """A sentence on numbers that were not matched on and are out of balance."""
    matched = {*pool.names, *known.categorical}
    others = tuple(name for name in known.names if name not in matched)
    if not others:
        return []
    names, values = _filled(others, known.columns(others, rows))
    balance = balance_table(names, values, pool.events, pool.controls, matches)
    far = [
        f"{name} ({smd:.2f})"
        for name, smd in zip(names, balance.after, strict=True)
        if abs(smd) >= limit
    ]
    if not far:
        return []
    return [
        f"Not matched on, and out of balance (SMD): {', '.join(far)}. Name them in `features`."
    ]


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
    return "worse than chance" if rho.high < 0 else "not distinguishable from chance"


def _refused(
    why: str, balance: Balance | None = None, window: MatchWindow | None = None
) -> MatchedReplay:
    setting = window and window.selection.setting
    notes = window.notes if window else ()
    return MatchedReplay((), balance, setting, f"cannot be evaluated: {why}", notes, window)
