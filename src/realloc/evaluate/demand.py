"""Predictable demand: what is known before the decision, and the evaluation model m_eval(x) that foretells from it.

m_eval is learned from no-move rows on dates strictly before the replay window, apart from any policy, and sees neither the
realised shares nor an outcome of the row itself. Rows that moved would teach it a part of the effects that it must leave in
u = y − m_eval(x), of which matched responses are made.
"""

from dataclasses import dataclass

import lightgbm as lgb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from realloc.base.errors import LogError
from realloc.evaluate.events import Events, Floats, Mask, Rows
from realloc.logs import Logs

Codes = NDArray[np.int32]

LEAST_ROWS = 50  # fewer teach trees nothing
MOST_ROWS = 500_000  # more rows cost minutes and foretell no better
TREES, PATIENCE, HELD_OUT = 300, 20, 0.2


@dataclass(frozen=True, eq=False)
class Known:
    """What is known of every row before its decision: values (n, p), NaN where missing; categories as codes."""

    names: tuple[str, ...]
    values: NDArray[np.float32]
    categorical: tuple[str, ...]

    def columns(self, names: tuple[str, ...], rows: Rows) -> Floats:
        """Some columns of some rows."""
        at = [self.names.index(name) for name in names]
        return self.values[rows][:, at].astype(np.float64)


def known_before(logs: Logs, events: Events, recent: int = 7) -> Known:
    """Previous shares, log budget, mean outcome of the unit's last `recent` rows before, and all features."""
    n, categorical = len(logs), list[str]()
    columns: dict[str, NDArray[np.float32]] = {}
    shares = np.vstack([logs.shares, np.full(len(logs.schema.channels), np.nan)])[
        events.previous
    ]  # −1: the NaN row
    for k, channel in enumerate(logs.schema.channels):
        columns[previous_share(channel)] = shares[:, k].astype(np.float32)
    budget = logs.budget
    columns["log budget"] = np.log(budget, out=np.full(n, np.nan), where=budget > 0).astype(
        np.float32
    )
    columns["recent level"] = _recent_level(logs.outcome, events.previous, recent).astype(
        np.float32
    )
    for name in logs.features:
        columns[name] = _numbers(logs.feature(name))
        if pa.types.is_dictionary(logs.feature(name).type):
            categorical.append(name)
    return Known(tuple(columns), np.stack(list(columns.values()), axis=1), tuple(categorical))


def previous_share(channel: str) -> str:
    """The name of a channel's share before the decision."""
    return f"previous share of {channel}"


def fit_demand(
    known: Known, outcome: Floats, units: Codes, learnable: Mask, seed: int = 0
) -> lgb.Booster:
    """m_eval by boosted trees on the `learnable` rows; units held out among them say when to stop."""
    rows = np.flatnonzero(learnable & np.isfinite(outcome))
    if len(rows) < LEAST_ROWS:
        raise LogError(
            f"Expected at least {LEAST_ROWS} no-move rows on dates before the replay window to learn predictable demand "
            f"from, got {len(rows)}. Start the window later, or raise `tolerance`."
        )
    rng = np.random.default_rng([seed, 7])
    if len(rows) > MOST_ROWS:
        rows = np.sort(rng.choice(rows, MOST_ROWS, replace=False))
    present, codes = np.unique(units[rows], return_inverse=True)
    stops = (rng.permutation(len(present)) < HELD_OUT * len(present))[codes]
    if stops.all():  # one unit: its last rows say when to stop
        stops = np.arange(len(rows)) >= (1 - HELD_OUT) * len(rows)
    options = {
        "objective": "l2",
        "learning_rate": 0.1,
        "num_leaves": 31,
        "min_data_in_leaf": max(5, min(40, len(rows) // 50)),
        "feature_fraction": 0.7,
        "bagging_fraction": 0.8,
        "bagging_freq": 1,
        "lambda_l2": 5.0,
        "seed": seed,
        "deterministic": True,
        "force_row_wise": True,
        "num_threads": 1,
        "verbose": -1,
    }
    categorical = [known.names.index(name) for name in known.categorical]
    train, stop = rows[~stops], rows[stops]
    learned = lgb.Dataset(
        known.values[train], outcome[train], categorical_feature=categorical, params=options
    )
    held = lgb.Dataset(known.values[stop], outcome[stop], reference=learned, params=options)
    quiet = [lgb.early_stopping(PATIENCE, verbose=False)]
    return lgb.train(options, learned, TREES, valid_sets=[held], callbacks=quiet)


def predict_demand(booster: lgb.Booster, known: Known, rows: Rows) -> Floats:
    """m_eval(x) of some rows."""
    return np.asarray(booster.predict(known.values[rows], num_threads=1), dtype=np.float64)


def _recent_level(outcome: Floats, previous: Rows, recent: int) -> Floats:
    """Mean of the outcomes of up to `recent` earlier rows; NaN where there is none."""
    total, count, at = np.zeros(len(outcome)), np.zeros(len(outcome)), previous
    for _ in range(recent):
        row = np.flatnonzero(at >= 0)
        row = row[np.isfinite(outcome[at[row]])]
        total[row] += outcome[at[row]]
        count[row] += 1
        at = np.where(at >= 0, previous[at], -1)
    return np.divide(total, count, out=np.full(len(total), np.nan), where=count > 0)


def _numbers(column: pa.ChunkedArray) -> NDArray[np.float32]:
    """Numbers, flags, days since 1970 or category codes, NaN where missing."""
    if pa.types.is_dictionary(column.type):
        column = pa.chunked_array(
            [chunk.indices for chunk in column.unify_dictionaries().chunks], pa.int32()
        )
    elif pa.types.is_date(column.type) or pa.types.is_timestamp(column.type):
        days = column.to_numpy().astype("datetime64[us]").astype(np.float64) / 86_400e6
        return np.where(column.is_null().to_numpy(), np.nan, days).astype(np.float32)
    return column.cast(pa.float32()).to_numpy().astype(np.float32)
