"""Whether last period's mix still works in this one: then a row does not hold the whole effect.

What a mix does is learned by least squares on some units. On the others, the question is whether
last period's mix does the same, beyond the state and this period's mix; all is centred by unit and
by period. *Next* period's mix is the control: it cannot have worked yet, so what it predicts is a
state that lasts.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from realloc.base.simplex import Floats, Integers, Mask, Rows
from realloc.logs.checks.finding import Finding
from realloc.logs.checks.limits import CheckConfig
from realloc.logs.checks.variation import Variation
from realloc.logs.table import Logs, as_floats

MOST_ROWS = 20_000
MOST_TERMS = 200  # columns of products, so that many channels or features cost no gigabytes
FEWEST_ROWS = 200
FOLDS = 5
FEWEST_GROUPS = 10  # held-out groups that a standard error needs
SIGNIFICANT = 3.0  # standard errors above 0, with last period's mix
BEYOND_NEXT = 2.5  # … above what next period's mix predicts


def carry_over(logs: Logs, variation: Variation, config: CheckConfig) -> Iterator[Finding]:
    """Outcomes that belong to their own period."""
    found = strength(logs)
    if found is None or found[0] < SIGNIFICANT or found[1] < BEYOND_NEXT:
        return
    yield Finding(
        "carry_over",
        "warning",
        "The mix of the period before still works in this one (carry-over): it predicts outcomes "
        f"{found[0]:.1f} standard errors above chance on held-out rows, beyond this period's mix",
        "The model credits a row with what happens in its own period, so it misses what comes "
        "later: gains come out too small, most of all those of channels that work slowly.",
        "Make periods longer, so that most of the effect falls into its own row: for example, add "
        "up four of them.",
        column=logs.schema.outcome,
    )


def strength(logs: Logs) -> tuple[float, float] | None:
    """How surely last period's mix predicts, and how much more surely than next period's."""
    middle = _middles(logs)
    if len(middle) < FEWEST_ROWS:
        return None
    kept = logs.unit_codes[middle] % -(-len(middle) // MOST_ROWS) == 0
    rows = middle[kept]
    groups = _groups(logs, rows)
    if groups.max() + 1 < FEWEST_GROUPS:
        return None
    centre = Centre(logs, rows)
    outcome = centre(logs.outcome[rows][:, None])
    if outcome.std() == 0:
        return None
    features, state = numeric_state(logs, rows)
    mixes = {
        step: mix_terms(logs.shares_at(rows + step)[:, :-1], features)
        for step in (-1, 0, 1)
    }
    before, after = (
        _scores(outcome, state, mixes[0], mixes[step], groups, centre) for step in (-1, 1)
    )
    return t_of(before), t_of(before - after)


def _middles(logs: Logs) -> Rows:
    """Rows whose unit has a row one usual step before and after them."""
    steps = np.diff(logs.times.astype("datetime64[s]").astype(np.int64))
    steps = np.where(logs.same_unit, steps, 0)
    if not (steps > 0).any():
        return np.empty(0, np.int64)
    usual = np.median(steps[steps > 0])
    right: Mask = (steps > 0) & (np.abs(steps - usual) < 0.15 * usual)
    return np.flatnonzero(right[:-1] & right[1:]) + 1


def _groups(logs: Logs, rows: Rows) -> Integers:
    """Units; stretches of them where there are few."""
    _, unit = np.unique(logs.unit_codes[rows], return_inverse=True)
    parts = -(-4 * FEWEST_GROUPS // (unit.max() + 1))
    start = np.flatnonzero(np.append(True, np.diff(unit) != 0))
    length = np.diff(np.append(start, len(unit)))
    place = (np.arange(len(unit)) - start[unit]) / length[unit]
    return unit * parts + (place * parts).astype(np.int64)


class Centre:
    """Subtracts the means of units and of periods."""

    def __init__(self, logs: Logs, rows: Rows) -> None:
        self.keys = [
            np.unique(key[rows], return_inverse=True)[1]
            for key in (logs.unit_codes, logs.times)
        ]

    def __call__(self, values: Floats) -> Floats:
        """Values (n, q) without the means."""
        for _ in range(3):
            for key in self.keys:
                sums = np.zeros((key.max() + 1, values.shape[1]))
                np.add.at(sums, key, values)
                values = values - (sums / np.bincount(key)[:, None])[key]
        return values


def numeric_state(logs: Logs, rows: Rows) -> tuple[Floats, Floats]:
    """Numeric features (n, d), and all of the state that is not the mix."""
    budget = np.log(logs.budget)
    columns = [budget[rows]]
    places = pa.array(rows)
    for name in logs.features:
        column = logs.table[name]
        if str(column.type) in ("float", "double", "bool"):
            columns.append(np.nan_to_num(as_floats(column.take(places))))
    values = np.stack(columns, axis=1)
    spread = values.std(axis=0)
    features = np.clip(
        (values - values.mean(axis=0)) / np.where(spread > 0, spread, 1), -5, 5
    )
    around = np.stack([budget[rows - 1], budget[rows + 1]], axis=1)
    return features, np.concatenate([features, features**2, around], axis=1)


def mix_terms(shares: Floats, features: Floats) -> Floats:
    """Shares, their squares and products, and their products with features, as far as room is."""
    channels = shares.shape[1]
    products = [shares**2]
    if channels**2 <= MOST_TERMS:
        products = [shares * shares[:, [k]] for k in range(channels)]
    room = min(features.shape[1], MOST_TERMS // max(channels, 1))
    products += [shares * features[:, [j]] for j in range(room)]
    return np.concatenate([shares, *products], axis=1)


def _scores(
    outcome: Floats,
    state: Floats,
    mix: Floats,
    other: Floats,
    groups: Integers,
    centre: Centre,
) -> Floats:
    """Per group: the outcome times what the other mix would do if it worked like this one.

    Both beyond the state and this mix.
    """
    scores = np.zeros(groups.max() + 1)
    design = centre(np.concatenate([state, mix], axis=1))
    for fold in range(FOLDS):
        held = groups % FOLDS == fold
        effect = fit_ridge(design[~held], outcome[~held])
        moved = centre(other @ effect[state.shape[1] :])
        goals = np.concatenate([outcome, moved], axis=1)
        left = goals - design @ fit_ridge(design[~held], goals[~held])
        products = left[held, 0] * left[held, 1]
        scores += np.bincount(groups[held], weights=products, minlength=len(scores))
    return scores


def fit_ridge(design: Floats, goals: Floats) -> Floats:
    """Least squares with just enough ridge for columns that say the same."""
    gram = design.T @ design
    ridge = 1e-8 * np.trace(gram) / len(gram) + 1e-300
    return np.linalg.solve(gram + ridge * np.eye(len(gram)), design.T @ goals)


def t_of(scores: Floats) -> float:
    """The t of a sum of independent scores."""
    size = float(np.sqrt(np.square(scores).sum()))
    return float(scores.sum()) / size if size > 0 else 0.0
