"""Predictable demand: what is known before the decision, and the evaluation model m_eval(x)
learned from it.

m_eval is learned from no-move rows on dates strictly before the replay window, apart from any
policy, and sees neither the realised shares nor an outcome of the row itself. Rows that moved would
teach it a part of the effects that it must leave in u = y − m_eval(x), of which matched responses
are made.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from realloc.base.errors import LogError
from realloc.base.simplex import Floats, Mask, Rows
from realloc.evaluate.events import Events
from realloc.evaluate.result import divide
from realloc.evaluate.trees import as_numbers, boost
from realloc.logs import Logs

if TYPE_CHECKING:
    import lightgbm as lgb

Codes = NDArray[np.int32]

LEAST_ROWS = 50  # fewer teach trees nothing
MOST_ROWS = 500_000  # more rows cost minutes and predict no better
HELD_OUT = 0.2  # part of the units that says when to stop
OPTIONS = {
    "objective": "l2",
    "num_iterations": 300,
    "learning_rate": 0.1,
    "num_leaves": 31,
    "bagging_fraction": 0.8,
    "bagging_freq": 1,
}


@dataclass(frozen=True, eq=False)
class Known:
    """What is known of every row before its decision; NaN where missing, categories as codes."""

    names: tuple[str, ...]
    values: NDArray[np.float32]  # (n, p)
    categorical: tuple[str, ...]

    def columns(self, names: tuple[str, ...], rows: Rows) -> Floats:
        """Some columns of some rows."""
        at = [self.names.index(name) for name in names]
        return self.values[rows][:, at].astype(np.float64)


def known_before(logs: Logs, events: Events, recent: int = 7) -> Known:
    """Previous shares, log budget, mean outcome of the unit's last `recent` rows,
    and all features.
    """
    columns: dict[str, Floats] = {}
    before = np.where(events.previous[:, None] >= 0, logs.shares[events.previous], np.nan)
    for k, channel in enumerate(logs.schema.channels):
        columns[previous_share(channel)] = before[:, k]
    budget = logs.budget
    columns["log budget"] = np.log(budget, out=np.full(len(logs), np.nan), where=budget > 0)
    columns["recent level"] = _recent_level(logs.outcome, events.previous, recent)
    for name in logs.features:
        columns[name] = as_numbers(logs.feature(name))
    values = np.stack([column.astype(np.float32) for column in columns.values()], axis=1)
    return Known(tuple(columns), values, logs.pinned_schema.categorical or ())


def previous_share(channel: str) -> str:
    """The name of a channel's share before the decision."""
    return f"previous share of {channel}"


def fit_demand(
    known: Known, outcome: Floats, units: Codes, learnable: Mask, seed: int = 0
) -> "lgb.Booster":
    """m_eval by boosted trees on the `learnable` rows;
    units held out among them say when to stop.
    """
    rows = np.flatnonzero(learnable & np.isfinite(outcome))
    if len(rows) < LEAST_ROWS:
        raise LogError(
            f"Expected at least {LEAST_ROWS} no-move rows on dates before the replay window to "
            f"learn predictable demand from, got {len(rows)}. Begin later (`start` of [report]), "
            "or raise `small_move` there."
        )
    rng = np.random.default_rng([seed, 7])
    if len(rows) > MOST_ROWS:
        rows = np.sort(rng.choice(rows, MOST_ROWS, replace=False))
    present, codes = np.unique(units[rows], return_inverse=True)
    stops = (rng.permutation(len(present)) < HELD_OUT * len(present))[codes]
    if stops.all():  # one unit: its last rows say when to stop
        stops = np.arange(len(rows)) >= (1 - HELD_OUT) * len(rows)
    leaf = max(5, min(40, len(rows) // 50))
    options = {**OPTIONS, "min_data_in_leaf": leaf, "seed": seed}
    categorical = [known.names.index(name) for name in known.categorical]
    return boost(known.values, outcome, rows[~stops], rows[stops], options, categorical)


def predict_demand(booster: "lgb.Booster", known: Known, rows: Rows) -> Floats:
    """m_eval(x) of some rows."""
    return np.asarray(booster.predict(known.values[rows], num_threads=1), dtype=np.float64)


def _recent_level(outcome: Floats, previous: Rows, recent: int) -> Floats:
    """Mean of the outcomes of up to `recent` earlier rows; NaN where there is none."""
    total = np.zeros(len(outcome))
    count = np.zeros(len(outcome))
    at = previous
    for _ in range(recent):
        row = np.flatnonzero(at >= 0)
        row = row[np.isfinite(outcome[at[row]])]
        total[row] += outcome[at[row]]
        count[row] += 1
        at = np.where(at >= 0, previous[at], -1)
    return divide(total, count)
