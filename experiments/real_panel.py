"""Panels of advertising without an experiment: what the studies of Conjura and Meridian share.

permute   The control: every row of a unit gets the shares of another row of it and keeps its budget
and outcome. Whatever is
          found then is found in noise.
plant     The other control: permuted shares, and an outcome to which a known response to the shares
was added. What a method
          does not find then, it cannot find.
rank      Out of time: boosted trees (the S-learner) learned on earlier rows say what today's change
of the mix is worth; does
          that rank today's outcome less what was predictable without today's mix? No matching:
          hardly a row holds its shares.
"""

import os
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from realloc import Config, Logs, Schema, read_logs
from realloc.baselines import STrees
from realloc.evaluate import MatchedReplayConfig, matched_replay
from realloc.evaluate.demand import fit_demand, known_before, predict_demand
from realloc.evaluate.events import at_previous, find_events
from realloc.evaluate.ranking import rank_correlation

SHARED = Path(
    os.environ.get("REALLOC_DATA", Path(__file__).resolve().parents[2] / "shared/data")
)
ARMS, RECENT, STRENGTH = ("real", "permuted", "planted"), 7, 0.3
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Panel:
    """Rows in order of unit and time, their schema, the column whose levels are ranked apart, and
    days to a block.
    """

    frame: pd.DataFrame
    schema: Schema
    group: str
    block_days: int
    past: float = 0.75  # of the days of each group

    @property
    def spend(self) -> list[str]:
        """The columns of the channels."""
        return list(self.schema.channels)

    def shares(self) -> tuple[Floats, Floats]:
        """Shares (n, K), zeros where nothing is spent, and budgets (n, 1)."""
        spend = self.frame[self.spend].to_numpy(dtype=np.float64)
        budget = spend.sum(axis=1, keepdims=True)
        return spend / np.where(budget > 0, budget, 1.0), budget

    def with_shares(self, shares: Floats, outcome: Floats | None = None) -> "Panel":
        """The same budgets split otherwise, and perhaps another outcome."""
        spend = shares * self.shares()[1]
        frame = self.frame.assign(**dict(zip(self.spend, spend.T, strict=True)))
        if outcome is not None:
            frame[self.schema.outcome] = outcome
        return Panel(frame, self.schema, self.group, self.block_days, self.past)

    def is_past(self) -> NDArray[np.bool_]:
        """The rows to learn from: the first part of every unit's rows."""
        return (
            self.frame.groupby(self.schema.unit)[self.schema.time].rank(pct=True)
            <= self.past
        ).to_numpy()


def find(name: str) -> Path:
    """A file of the shared data, or one sentence and the end."""
    path = SHARED / name
    if not path.exists():
        raise SystemExit(
            f"There is no {path}: nothing to do. Set REALLOC_DATA to the folder of the real data "
            "sets."
        )
    return path


def arm_of(panel: Panel, arm: str, seed: int) -> Panel:
    """The panel as it is, permuted, or permuted with a planted response."""
    if arm == "real":
        return panel
    mixed = permute(panel, seed)
    return plant(mixed, planted_weights(mixed, seed)) if arm == "planted" else mixed


def permute(panel: Panel, seed: int) -> Panel:
    """Shares of another row of the same unit and half; rows without a budget stay out of it."""
    random, (shares, budget) = np.random.default_rng(seed), panel.shares()
    unit = np.unique(panel.frame[panel.schema.unit].astype(str), return_inverse=True)[1]
    part = 2 * unit + panel.is_past()
    for one in np.unique(part):
        rows = np.flatnonzero((part == one) & (budget[:, 0] > 0))
        shares[rows] = shares[random.permutation(rows)]
    return panel.with_shares(shares)


def planted_weights(panel: Panel, seed: int) -> Floats:
    """a (K,) of the response Σ a_k √p_k: drawn by seed, scaled to vary STRENGTH times as much as
    outcomes within units do.
    """
    a = np.random.default_rng([seed, 5]).permutation(
        np.linspace(0.0, 1.0, len(panel.spend))
    )
    outcome = panel.frame[panel.schema.outcome]
    within = float(
        (outcome - outcome.groupby(panel.frame[panel.schema.unit]).transform("mean")).std()
    )
    return STRENGTH * within * a / float(planted_response(a, panel.shares()[0]).std())


def planted_response(weights: Floats, shares: Floats) -> Floats:
    """Σ a_k √p_k of each row."""
    return np.sqrt(np.maximum(shares, 0.0)) @ weights


def plant(panel: Panel, weights: Floats) -> Panel:
    """The same shares with the planted response in the outcome."""
    shares, _ = panel.shares()
    outcome = panel.frame[panel.schema.outcome].to_numpy(dtype=np.float64)
    return panel.with_shares(shares, outcome + planted_response(weights, shares))


def rank(panel: Panel, seed: int) -> dict[str, Any]:
    """ρ(G, u) over later rows, in each group and over all: [value, low, high, n]; and what part of
    u was predictable.
    """
    logs = with_recent(panel)
    early = (
        pd.Series(logs.times).groupby(logs.unit_codes).rank(pct=True) <= panel.past
    ).to_numpy()
    events = find_events(logs)
    known, follows = known_before(logs, events, RECENT), events.previous >= 0
    booster = fit_demand(known, logs.outcome, logs.unit_codes, early & follows, seed)
    policy = STrees(config=Config(seed=seed)).fit(logs.take(early))
    rows = np.flatnonzero(~early & follows)
    rest = logs.outcome[rows] - predict_demand(booster, known, rows)
    gain = policy.gain(at_previous(logs, events, rows), np.asarray(logs.shares)[rows])
    group = panel.frame.groupby(panel.schema.unit)[panel.group].first()
    name = group.loc[logs.units.to_pylist()].to_numpy().astype(str)[logs.unit_codes[rows]]
    block = (logs.times[rows] - logs.times.min()).astype("timedelta64[D]").astype(
        np.int64
    ) // panel.block_days
    return _by_group(gain, rest, name, block) | {
        "explained": 1 - float(rest.var() / logs.outcome[rows].var())
    }


def with_recent(panel: Panel) -> Logs:
    """Logs with one more feature: the mean outcome of the unit's last rows before, known before the
    decision.
    """
    schema, frame = (
        panel.schema,
        panel.frame.sort_values([panel.schema.unit, panel.schema.time]),
    )
    recent = frame.groupby(schema.unit)[schema.outcome].transform(
        lambda y: y.shift(1).rolling(RECENT, min_periods=1).mean()
    )
    frame = frame.assign(recent=recent.fillna(frame[schema.outcome].mean()))
    return read_logs(
        frame,
        replace(schema, features=(*(schema.features or ()), "recent")),
        today=date(2100, 1, 1),
    )


def _by_group(
    gain: Floats, rest: Floats, group: NDArray[Any], block: NDArray[np.int64]
) -> dict[str, list[float]]:
    """Blocks of days are resampled within a group; over all, group and block together."""
    every = np.unique(group, return_inverse=True)[1] * (int(block.max()) + 1) + block
    found: dict[str, list[float]] = {}
    for name in [*np.unique(group), "all"]:
        mine = (group == name) | (name == "all")
        one = rank_correlation("rho", gain[mine], rest[mine], every[mine])
        found[str(name)[:8]] = [round(x, 4) for x in (one.value, one.low, one.high)] + [
            one.n
        ]
    return found


def shown_rank(one: list[float]) -> list[str]:
    """ρ, its interval and the rows as text."""
    if np.isnan(one[0]):
        return ["none", "the trees use no share", str(one[3])]
    return [f"{one[0]:+.3f}", f"{one[1]:+.3f} … {one[2]:+.3f}", str(one[3])]


def matched_verdict(panel: Panel, tolerance: float) -> str:
    """What matched replay says of these logs, with changes of up to `tolerance` (‖Δp‖₁) taken for
    none.
    """
    past = panel.frame.loc[panel.is_past(), panel.schema.time].max()
    logs = read_logs(panel.frame, panel.schema, today=date(2100, 1, 1))
    start = str(pd.Timestamp(past).date())
    return matched_replay(
        logs,
        lambda asked, to: (to - asked.shares)[:, 0],
        start,
        MatchedReplayConfig(small_move=tolerance / 2),
    ).verdict
