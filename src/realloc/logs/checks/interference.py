"""Whether the mix of a unit's neighbours predicts its outcome: then gains of units do not add up.

Neighbours are the other units of the same group (a category, a shop, a region) in the same period.
What their mean mix does is learned by least squares on some groups, beyond the state and the unit's
own mix; on the others, the question is whether it predicts. All is centred by unit and by period.
Neighbours' mixes of the *next* period are the control: they cannot have worked yet, so what they
predict is something that lasts and that nobody recorded.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from realloc.base.simplex import Floats, Integers, Rows
from realloc.logs.checks.carry_over import (
    FOLDS,
    Centre,
    fit_ridge,
    mix_terms,
    numeric_state,
    t_of,
)
from realloc.logs.checks.finding import Finding
from realloc.logs.checks.limits import CheckConfig
from realloc.logs.checks.variation import Variation
from realloc.logs.table import Logs

MOST_ROWS = 20_000
FEWEST_ROWS = 200
FEWEST_GROUPS = 10
MOST_COLUMNS = 4  # categories that are tried where none is named
SIGNIFICANT = 3.0  # standard errors above chance
BEYOND_NEXT = 2.5  # … above what next period's neighbours predict


def interference(
    logs: Logs, variation: Variation, config: CheckConfig
) -> Iterator[Finding]:
    """Outcomes that depend on their own unit's mix alone."""
    for name in groups_to_try(logs, config):
        found = neighbour_strength(logs, name)
        if found is None or found[0] < SIGNIFICANT or found[1] < BEYOND_NEXT:
            continue
        yield Finding(
            "interference",
            "warning",
            f"The mix of the other units of the same {name!r} predicts a unit's outcome: "
            f"{found[0]:.1f} standard errors above chance on held-out groups, beyond the unit's "
            "own mix",
            "Either units compete for the same demand, or something that nobody recorded drives "
            "them together. If many of them move at once, gains do not add up to what is promised.",
            f"Prove gains by a test that randomises whole groups (`cluster = {name!r}` in "
            "[abtest], and `realloc abtest --plan` for its size), or make the group the unit.",
            column=name,
        )


def groups_to_try(logs: Logs, config: CheckConfig) -> list[str]:
    """The category that the config names, or those that never change within a unit."""
    if config.cluster is not None:
        return [config.cluster] if config.cluster in logs.features else []
    categories = [
        name for name in logs.features if pa.types.is_dictionary(logs.table[name].type)
    ]
    lasting = [name for name in categories if _lasts(logs, name)]
    return lasting[:MOST_COLUMNS]


def neighbour_strength(logs: Logs, name: str) -> tuple[float, float] | None:
    """How surely neighbours' mixes predict, and how much more surely than those of next period."""
    group = _codes(logs, name)
    period = np.unique(logs.times, return_inverse=True)[1]
    now = _neighbours(logs.shares, group, period)
    later = _later(logs, now)
    rows = np.flatnonzero(np.isfinite(now + later).all(axis=1))
    rows = rows[group[rows] % max(1, -(-len(rows) // MOST_ROWS)) == 0]
    if len(rows) < FEWEST_ROWS or len(np.unique(group[rows])) < FEWEST_GROUPS:
        return None
    groups = np.unique(group[rows], return_inverse=True)[1]
    centre = Centre(logs, rows)
    outcome = centre(logs.outcome[rows][:, None])
    if outcome.std() == 0:
        return None
    features, state = numeric_state(logs, rows)
    own = mix_terms(logs.shares_at(rows)[:, :-1], features)
    design = centre(np.concatenate([state, own], axis=1))
    at_once, control = (
        _scores(outcome, design, centre(mixes[rows, :-1]), groups) for mixes in (now, later)
    )
    return t_of(at_once), t_of(at_once - control)


def _codes(logs: Logs, name: str) -> Integers:
    column = logs.table[name].combine_chunks()
    chunk = column.chunk(0) if isinstance(column, pa.ChunkedArray) else column
    if not pa.types.is_dictionary(chunk.type):
        chunk = chunk.dictionary_encode()
    return chunk.indices.fill_null(-1).to_numpy().astype(np.int64) + 1


def _lasts(logs: Logs, name: str) -> bool:
    codes = _codes(logs, name)
    return bool((np.diff(codes)[logs.same_unit] == 0).all())


def _neighbours(shares: Floats, group: Integers, period: Rows) -> Floats:
    """The mean mix (n, K) of the other rows of the same group and period; NaN where alone."""
    key = np.unique(group * (period.max() + 1) + period, return_inverse=True)[1]
    count = np.bincount(key)[key]
    sums = np.stack([np.bincount(key, weights=column)[key] for column in shares.T], axis=1)
    others = np.maximum(count - 1, 1)[:, None]
    return np.where((count > 1)[:, None], (sums - shares) / others, np.nan)


def _later(logs: Logs, mixes: Floats) -> Floats:
    """Of the same unit's next row; NaN for its last."""
    later = np.full_like(mixes, np.nan)
    later[:-1][logs.same_unit] = mixes[1:][logs.same_unit]
    return later


def _scores(
    outcome: Floats, design: Floats, neighbours: Floats, groups: Integers
) -> Floats:
    """Per group: what is left of the outcome times what neighbours say, learned on others."""
    scores = np.zeros(groups.max() + 1)
    for fold in range(FOLDS):
        held = groups % FOLDS == fold
        goals = np.concatenate([outcome, neighbours], axis=1)
        left = goals - design @ fit_ridge(design[~held], goals[~held])
        effect = fit_ridge(left[~held, 1:], left[~held, :1])
        products = left[held, 0] * (left[held, 1:] @ effect)[:, 0]
        scores += np.bincount(groups[held], weights=products, minlength=len(scores))
    return scores
