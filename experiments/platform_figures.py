"""What the marketplace looks like in numbers: `python experiments/platform_figures.py --channels 2
--items 8000`.

Signal and noise are measured as in the paper's matched replay: R = u − mean u of no-move rows of
the same day and category nearest in m(x), u = y − m(x), m fitted on earlier days. τ is the true
effect of a move.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from realloc.base import simplex
from realloc.logs import Logs
from realloc.world.platform.draws import Floats
from realloc.world.platform.items import GRID
from realloc.world.platform.marketplace import Marketplace
from realloc.world.platform.response import OUTCOMES, MarketState

Flags = NDArray[np.bool_]
CONTROLS = 10
FEWEST_CONTROLS = 3
LAG_COLUMNS = ("orders_lag_1", "orders_lag_mean_7", "orders_lag_trend_7", "log_price")


@dataclass(frozen=True, eq=False)
class Panel:
    """Sampled logs, by day and item, beside their truth."""

    market: Marketplace
    logs: Logs
    state: MarketState
    day: NDArray[np.int64]  # (n,)
    before: Floats  # (n, K) shares before the decision
    after: Floats  # (n, K)
    opened: Flags  # (n, K)
    moved: Flags  # (n,)
    routine: Flags  # (n,)

    def column(self, name: str) -> NDArray[Any]:
        """A column's values."""
        return self.logs.table[name].to_numpy()

    def codes(self, name: str) -> NDArray[np.int32]:
        """A category column's codes."""
        return self.logs.table[name].chunk(0).indices.to_numpy()

    @property
    def late(self) -> Flags:
        """The last third of the days: the replay window."""
        return self.day >= (2 * (int(self.day.max()) + 1)) // 3


def look_at(market: Marketplace, items: int, days: int = 60, seed: int = 0) -> Panel:
    """Sample logs and recover their truth."""
    logs = market.sample(items=items, days=days, seed=seed)
    names = logs.schema.channels
    columns = [
        logs.table[f"share_{name}_prev"].to_numpy().astype(np.float64) for name in names
    ]
    before = np.rint(np.stack(columns, axis=1) * GRID) / GRID
    after = np.array(logs.amounts)
    return Panel(
        market=market,
        logs=logs,
        state=market.state(logs),
        day=np.repeat(np.arange(days), items),
        before=before,
        after=after,
        opened=np.stack([logs.table[f"open_{name}"].to_numpy() for name in names], axis=1),
        moved=(before != after).any(axis=1),
        routine=~logs.table["exploration"].to_numpy(),
    )


def true_effects(panel: Panel, outcome: str = "orders") -> Floats:
    """τ of every row's move; 0 where nothing moved."""
    return panel.market.gain(panel.state, panel.before, panel.after)[outcome]


def predict_orders(panel: Panel) -> Floats:
    """m(x) = a[category, weekday] + x·b from pre-decision columns, by least squares on the days
    before the window.
    """
    x = [panel.column(name).astype(np.float64) for name in LAG_COLUMNS]
    x += [
        np.log(panel.column("budget")),
        *panel.before[:, 1:].T,
        *np.square(panel.before).T,
    ]
    y, group, train = (
        panel.column("orders"),
        panel.codes("category") * 7 + panel.codes("weekday"),
        ~panel.late,
    )
    count = np.maximum(np.bincount(group[train], minlength=int(group.max()) + 1), 1)
    means = [
        np.bincount(group[train], column[train], len(count)) / count for column in (*x, y)
    ]
    flat = np.column_stack(
        [column - mean[group] for column, mean in zip((*x, y), means, strict=True)]
    )
    b = np.linalg.lstsq(flat[train, :-1], flat[train, -1], rcond=None)[0]
    return means[-1][group] + flat[:, :-1] @ b


def matched_residuals(panel: Panel) -> tuple[NDArray[np.intp], Floats]:
    """Rows of routine moves in the window that found controls, and their R."""
    m = predict_orders(panel)
    u = panel.column("orders") - m
    stratum = panel.day * 1000 + panel.codes("category")
    key = stratum * 1000.0 + m
    window = panel.routine & panel.late
    control = np.flatnonzero(~panel.moved & window)
    control = control[np.argsort(key[control])]
    event = np.flatnonzero(panel.moved & window)
    place = np.searchsorted(key[control], key[event])[:, None] + np.arange(
        -CONTROLS // 2, CONTROLS // 2
    )
    near = control[np.clip(place, 0, len(control) - 1)]
    same = stratum[near] == stratum[event][:, None]
    found = same.sum(axis=1)
    R = u[event] - np.where(same, u[near], 0).sum(axis=1) / np.maximum(found, 1)
    return event[found >= FEWEST_CONTROLS], R[found >= FEWEST_CONTROLS]


def rank_correlation(a: Floats, b: Floats) -> float:
    """Spearman's ρ."""
    return float(np.asarray(spearmanr(a, b))[0])


def oracle_bound(tau: Floats, noise_sd: float, rounds: int = 40) -> float:
    """Monte Carlo of the best reachable ρ: Spearman of τ with τ + ε."""
    rng = np.random.default_rng(5)
    return float(
        np.mean(
            [
                rank_correlation(tau, tau + rng.normal(0, noise_sd, len(tau)))
                for _ in range(rounds)
            ]
        )
    )


def best_for_orders(
    panel: Panel, step: float = 0.05
) -> tuple[NDArray[np.intp], dict[str, Floats]]:
    """The feasible transfer of `step` that raises orders most, where one does: its edge and effect
    on each outcome.
    """
    source, target = simplex.edges(panel.after.shape[1]).T
    feasible = (
        panel.opened[:, source] & panel.opened[:, target] & (panel.after[:, source] >= step)
    )
    effects = {name: np.empty(feasible.shape) for name in OUTCOMES}
    for edge, direction in enumerate(simplex.edge_directions(panel.after.shape[1])):
        gain = panel.market.gain(panel.state, panel.after, panel.after + step * direction)
        for name in OUTCOMES:
            effects[name][:, edge] = np.where(feasible[:, edge], gain[name], -np.inf)
    best = effects["orders"].argmax(axis=1)
    chosen = {
        name: np.take_along_axis(effects[name], best[:, None], axis=1)[:, 0]
        for name in OUTCOMES
    }
    useful = chosen["orders"] > 0
    return best[useful], {name: values[useful] for name, values in chosen.items()}


def balance(panel: Panel, column: Floats) -> float:
    """Standardised mean difference of routine movers and non-movers before the move."""
    move, stay = (
        column[panel.routine & (panel.moved == which)].astype(np.float64)
        for which in (True, False)
    )
    return float((move.mean() - stay.mean()) / np.sqrt((move.var() + stay.var()) / 2))


def describe(panel: Panel) -> dict[str, float]:
    """The figures of docs/platform.md."""
    legacy = panel.moved & panel.routine
    event, R = matched_residuals(panel)
    tau = true_effects(panel)
    _, best = best_for_orders(panel)
    figures: dict[str, Any] = {
        "rows": len(panel.logs),
        "share of items under exploration": 1 - panel.routine.mean(),
        "routine rows without a move": 1 - panel.moved[panel.routine].mean(),
        "zero share cells": (panel.after == 0).mean(),
        "zero share cells of opened channels": ((panel.after == 0) & panel.opened).mean(),
        **{
            f"sd of the effect of a legacy move, {name}": true_effects(panel, name)[
                legacy
            ].std()
            for name in OUTCOMES
        },
        "sd of orders": panel.column("orders").std(),
        "sd of y − m(x), last third of the days": (
            panel.column("orders") - predict_orders(panel)
        )[panel.late].std(),
        "sd of the matched residual R": R.std(),
        "oracle Spearman, Monte Carlo over all legacy moves": oracle_bound(
            tau[legacy], float(R.std())
        ),
        "oracle Spearman with R": rank_correlation(tau[event], R),
        "its standard error": 1 / np.sqrt(len(event)),
        "best 5-point move for orders lowers gmv": (best["gmv"] < 0).mean(),
        "best 5-point move for orders lowers income": (best["income"] < 0).mean(),
        "SMD before matching, ad share": balance(panel, panel.before[:, 0]),
        "SMD before matching, log price": balance(panel, panel.column("log_price")),
        "SMD before matching, log budget": balance(panel, np.log(panel.column("budget"))),
        "SMD before matching, recent sales": balance(
            panel, panel.column("orders_lag_mean_7")
        ),
    }
    return {name: float(value) for name, value in figures.items()}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--items", type=int, default=8000)
    parser.add_argument("--channels", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args(arguments)
    figures = describe(
        look_at(Marketplace(seed=chosen.seed, channels=chosen.channels), chosen.items)
    )
    rounded = {
        name: float(f"{value:.3g}") if value < 1e3 else round(value)
        for name, value in figures.items()
    }
    sys.stdout.write(json.dumps(rounded, indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
