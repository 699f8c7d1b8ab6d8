"""The paper's online test on the marketplace: ReAlloc against the old policy, items randomized,
with the truth beside it.

    python experiments/marketplace_abtest.py
        # 14 days of the routine items of 60,000; resumable
    python experiments/marketplace_abtest.py --quick
        # a tiny market and a tiny learner: does it run?

Both arms of every item are simulated with the same noise; half of the items show one, half the
other. The truth is the difference of both over all items, which no real team sees. ReAlloc is the
model of marketplace_offline.py, learned on the days before the test. `daily` asks it every morning,
`once` on the first day only and then holds, `none` is a test of the old policy against itself.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

import marketplace_learned as market
from marketplace_learned import FULL, Floats, Ours, Size, chosen
from marketplace_offline import make_config
from marketplace_tables import met, number
from realloc.base import simplex
from realloc.evaluate.abtest import AbtestConfig, Metric, Readout, read_out
from realloc.logs import Logs
from realloc.world.platform import Marketplace
from realloc.world.platform.columns import day_table
from realloc.world.platform.draws import Draws
from realloc.world.platform.items import GRID, Items, Thousandths, draw_items, item_names
from realloc.world.platform.legacy import Before
from realloc.world.platform.simulation import (
    Day,
    decide,
    look_back,
    observe,
    set_budget,
    warm_up,
)
from runner import Figures, Study, arguments, conclude, describe, markdown

DAYS, AGAIN = 14, 20  # of the test; times that items are assigned anew
WAYS = {"daily": 1, "once": DAYS, "none": 0}  # every how many days ReAlloc is asked
METRICS = (
    Metric(name="pay orders", value="orders", before="orders_before"),
    Metric(name="GMV", value="gmv", before="gmv_before", margin=1.0),
    Metric(
        name="total cost", value="cost", before="cost_before", direction="down", margin=1.0
    ),
    Metric(
        name="marketing ROI",
        numerator="gmv",
        denominator="cost",
        numerator_before="gmv_before",
        denominator_before="cost_before",
    ),
    Metric(
        name="profit margin",
        numerator="income",
        denominator="gmv",
        numerator_before="income_before",
        denominator_before="gmv_before",
        effect="points",
    ),
    Metric(name="platform income", value="income", before="income_before", margin=1.0),
    Metric(
        name="log orders", value="log_orders", before="log_orders_before", effect="absolute"
    ),
)
CONFIG = AbtestConfig(
    unit="item",
    metrics=METRICS,
    time="day",
    predicted="predicted",
    predicted_metric="log orders",
    alpha=0.05,
)
PAPER = {
    "pay orders": "+3.5 % [2.8, 5.1]",
    "GMV": "−2.6 % [−3.1, −1.1]",
    "total cost": "−2.5 % [−2.0, −0.8]",
    "marketing ROI": "−0.1 % [−1.8, 1.5]",
    "profit margin": "+1.42 pt [0.8, 2.0]",
    "platform income": "+3.2 pt [2.1, 4.4]",
}
ABOUT = """Marketplace of seed {world}, {channels} channels; ReAlloc learned {rows:,} rows of days
0–{last}; the test runs from day {split} on for {length} days on the routine ones of {test_items:,}
items, a fair coin each. GMV, cost and income are guardrails that may lose 1 %. Truth: both worlds
of all items with the same noise. Cost is the budget, which follows sales; ROI is GMV over it,
margin income over GMV. Predicted gains are summed up from day to day; those of control items come
from a shadow run of the model."""
OUTCOMES = ("orders", "gmv", "income", "cost", "log_orders")
Choose = Callable[
    [int, Before], tuple[Thousandths, Floats]
]  # a day's shares, and what they promise over yesterday's


@dataclass(frozen=True, eq=False)
class Path:
    """What happened to n items over the days before and of the test: columns of (days, n)."""

    values: dict[str, Floats]
    promised: Floats  # (days, n) summed up since the test began
    moved: Floats  # (days, n) whether shares changed

    def test(self, name: str) -> Floats:
        return self.values[name][-DAYS:]

    def earlier(self, name: str) -> Floats:
        """Totals of as many days before the test, (n,)."""
        return self.values[name][:-DAYS].sum(axis=0)


class Market:
    """Items of the log and further ones, day by day, under a policy of one's choice from the first
    day of the test on.
    """

    def __init__(self, size: Size) -> None:
        self.size, self.world = size, Marketplace(seed=size.world, channels=size.channels)
        self.rules, self.draws = (
            self.world.rules,
            Draws((size.world, 0), 0, size.test_items),
        )
        self.items: Items = draw_items(
            self.rules.catalogue, self.draws, self.world.parameters.items
        )
        self.names = item_names(0, 0, size.test_items)
        self.routine = np.flatnonzero(~self.items.explored)

    def days(self, choose: Choose) -> Iterator[tuple[Day, Floats]]:
        """As the world's own simulation, with the choice of shares left open."""
        history, holding = warm_up(self.rules, self.items, self.draws), self.items.start
        for day in range(self.size.split + DAYS):
            past = look_back(np.stack(history))
            before = Before(
                past,
                set_budget(
                    self.items, past, self.draws, day, self.world.parameters.budgets
                ),
                holding,
            )
            after, promised = choose(day, before)
            outcomes = observe(
                self.rules, self.items, self.draws, day, before.budget, after
            )
            yield (
                Day(
                    day,
                    past,
                    before.budget,
                    holding,
                    after,
                    np.full(len(self.items), np.nan),
                    outcomes,
                ),
                promised,
            )
            holding = after
            history.append(outcomes["orders"])

    def legacy(self, day: int, before: Before) -> tuple[Thousandths, Floats]:
        """The old policy."""
        return decide(self.rules, self.items, before, self.draws, day)[0], np.zeros(
            len(self.items)
        )

    def asking(self, model: Ours, every: int) -> Choose:
        """The old policy until the test begins, then the model's advice, held on days without."""

        def choose(day: int, before: Before) -> tuple[Thousandths, Floats]:
            since = day - self.size.split
            if since < 0:
                return self.legacy(day, before)
            after, promised = before.holding.copy(), np.zeros(len(self.items))
            if since % every == 0:
                ends, promised[self.routine] = model.ends(self.today(day, before))
                after[self.routine] = simplex.round_money(ends, float(GRID), digits=0)
            return after, promised

        return choose

    def today(self, day: int, before: Before) -> Logs:
        """Routine rows as the model sees them in the morning, at yesterday's shares."""
        nothing = np.full(len(self.items), np.nan)
        row = Day(
            day, before.past, before.budget, before.holding, before.holding, nothing, {}
        )
        schema = replace(self.world.schema, guardrails=(), propensity=None)
        table = day_table(self.rules, self.names, self.items, row).take(
            pa.array(self.routine)
        )
        return Logs(schema=schema, table=table, features=schema.features or ())

    def path(self, choose: Choose) -> Path:
        """Routine items over the test and as many days before it."""
        found: dict[str, list[Floats]] = {
            name: [] for name in (*OUTCOMES, "promised", "moved")
        }
        for day, promised in self.days(choose):
            if day.day < self.size.split - DAYS:
                continue
            money = {
                name: np.exp(day.outcomes[name]) for name in ("orders", "gmv", "income")
            }
            money |= {
                "cost": day.budget,
                "log_orders": day.outcomes["orders"],
                "promised": promised,
            }
            money |= {"moved": (day.shares != day.before).any(axis=1).astype(np.float64)}
            for name, values in money.items():
                found[name].append(values[self.routine])
        columns = {name: np.stack(values) for name, values in found.items()}
        promised, moved = columns.pop("promised"), columns.pop("moved")
        return Path(columns, promised[-DAYS:].cumsum(axis=0), moved[-DAYS:])


def cell(key: str, size: Size = FULL) -> Figures:
    """One way to use the model, tested once in daily rows and again by totals with other
    assignments.
    """
    place, model = Market(size), None
    control = treated = place.path(place.legacy)
    if WAYS[key]:
        model = Ours(market.learned_model(size, make_config(size)), "realloc")
        treated = place.path(place.asking(model, WAYS[key]))
    truth = true_effects(control, treated)
    config = CONFIG if model else replace(CONFIG, predicted=None, predicted_metric=None)
    beta, threshold = (
        (model.config.decision.beta, model.config.decision.threshold)
        if model
        else (0.25, 0.0)
    )
    shown = read_out(
        daily_rows(control, treated, assign(len(place.routine), 0)), config, beta, threshold
    )
    again = [
        read_out(
            total_rows(control, treated, assign(len(place.routine), seed)),
            replace(config, time=None),
            beta,
            threshold,
        )
        for seed in range(1, AGAIN + 1)
    ]
    figures: Figures = {
        "items": len(place.routine),
        "truth": truth,
        "readout": shown.to_json(),
        "text": str(shown),
        "held": {
            name: sum(one[name].low <= truth[name] <= one[name].high for one in again)
            for name in truth
        },
        "again": AGAIN,
        "update_rate": float(treated.moved.mean()) if model else 0.0,
        "update_rate_first": float(treated.moved[0].mean()) if model else 0.0,
        "old_update_rate": float(control.moved.mean()),
        "promised": float(treated.promised.mean()),
    }
    if model:
        figures["kept"] = (
            truth["log orders"] / DAYS / figures["promised"]
            if figures["promised"]
            else float("nan")
        )
        figures["calibrations"] = [changes_of(one) for one in again]
    return figures


def changes_of(readout: Readout) -> list[Any]:
    """What a readout says of the model's gains: share realised, and the change of β and τ."""
    found = readout.calibration
    return (
        []
        if found is None
        else [found.fit.share.value, found.change, found.beta, found.threshold]
    )


def assign(items: int, seed: int) -> NDArray[np.bool_]:
    """Which items are treated: a fair coin each."""
    return np.random.default_rng([seed, 23]).random(items) < 0.5


def true_effects(control: Path, treated: Path) -> dict[str, float]:
    """The metrics of both worlds of all items, with the same noise, in the units of the readout."""
    one, other = (
        {name: float(path.test(name).sum()) for name in OUTCOMES}
        for path in (treated, control)
    )
    found = {}
    for metric in METRICS:
        top, bottom = metric.measured[0], metric.denominator
        new, old = (
            totals[top] / (totals[bottom] if bottom else 1.0) for totals in (one, other)
        )
        if metric.effect == "percent":
            found[metric.name] = 100 * (new / old - 1)
        else:
            found[metric.name] = (
                100 * (new - old)
                if metric.effect == "points"
                else (new - old) / control.test(top).shape[1]
            )
    return found


def daily_rows(control: Path, treated: Path, arm: NDArray[np.bool_]) -> pd.DataFrame:
    """The table of the test: a row per item and day; totals from before stand in every row of an
    item.
    """
    n = len(arm)
    columns = {
        name: np.where(arm, treated.test(name), control.test(name)).ravel()
        for name in OUTCOMES
    }
    columns |= {f"{name}_before": np.tile(control.earlier(name), DAYS) for name in OUTCOMES}
    columns["predicted"] = treated.promised.ravel()  # for control items, of a shadow run
    keys = {"item": np.tile(np.arange(n), DAYS), "day": np.repeat(np.arange(DAYS), n)}
    return pd.DataFrame(
        {**keys, "arm": np.tile(np.where(arm, "treatment", "control"), DAYS), **columns}
    )


def total_rows(control: Path, treated: Path, arm: NDArray[np.bool_]) -> pd.DataFrame:
    """The same with one row per item: the same readout, sooner."""
    columns = {
        name: np.where(arm, treated.test(name), control.test(name)).sum(axis=0)
        for name in OUTCOMES
    }
    columns |= {f"{name}_before": control.earlier(name) for name in OUTCOMES}
    columns["predicted"] = treated.promised.sum(axis=0)
    return pd.DataFrame(
        {
            "item": np.arange(len(arm)),
            "arm": np.where(arm, "treatment", "control"),
            **columns,
        }
    )


def to_markdown(cells: dict[str, Figures], size: Size) -> str:
    """A table for every way to use the model."""
    text = ABOUT.format(**vars(size), last=size.split - 1, length=DAYS).replace("\n", " ")
    lines = ["# A/B test on the marketplace", "", describe(cells), "", text, ""]
    titles = {
        "daily": "ReAlloc, asked every day",
        "once": "ReAlloc, asked on the first day",
        "none": "Old against old",
    }
    for key, title in titles.items():
        if key in cells:
            lines += [f"## {title}", "", *of_cell(cells[key])]
    return "\n".join(lines)


def of_cell(cell: Figures) -> list[str]:
    """Effects beside the truth, the verdict, and what became of predictions."""
    rows = []
    for one in cell["readout"]["metrics"]:
        name, true, sign = one["metric"], cell["truth"][one["metric"]], one["sign"]
        effect = f"{one['value']:+.2f} {sign} [{one['low']:+.2f}, {one['high']:+.2f}]"
        p = one["p_look"] if one["p_adjusted"] is None else one["p_adjusted"]
        saved = (
            "–" if one["variance_reduction"] is None else f"{one['variance_reduction']:.0%}"
        )
        held = "yes" if one["low"] <= true <= one["high"] else "no"
        again = f"{cell['held'][name]} of {cell['again']}"
        row = [
            name,
            effect,
            f"{p:.3f}",
            f"**{true:+.2f}**",
            held,
            again,
            saved,
            one["decision"],
            PAPER.get(name, ""),
        ]
        rows.append(row)
    head = [
        "metric",
        "effect",
        "p",
        "truth",
        "interval holds it",
        "… other assignments",
        "variance saved by CUPED",
    ]
    head += ["decision", "paper"]
    split = cell["readout"]["split"]
    said = [
        f"{cell['readout']['verdict']} Sample ratio {'fits' if split['ok'] else 'MISMATCH'} the "
        "split."
    ]
    moved, first, old = (
        number(cell[name], 2)
        for name in ("update_rate", "update_rate_first", "old_update_rate")
    )
    said.append(f"Rows moved {moved} (first day {first}), by the old policy {old}.")
    found = cell["readout"]["calibration"]
    if found:
        changes = [change[1] for change in cell["calibrations"] if change]
        counts = ", ".join(
            f"{change} {changes.count(change)}" for change in sorted(set(changes))
        )
        said.append(
            f"{found['sentence']} True part of what was promised: {number(cell['kept'], 2)}. "
            "Recommended β "
            f"{found['beta']:.3g}, τ {found['threshold']:.3g} ({found['change']}); in other "
            f"assignments: {counts}."
        )
    orders = next(
        one for one in cell["readout"]["metrics"] if one["metric"] == "pay orders"
    )
    if "calibrations" in cell:  # the old policy against itself has nothing to win
        said.append(f"Orders up with an interval above 0: {met(orders['low'] > 0)}.")
    return [" ".join(said), "", *markdown(head, rows)]


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument(
        "--rows", type=int, default=FULL.rows, help="rows that ReAlloc learned from"
    )
    given = parser.parse_args()
    size, name = chosen(given, "marketplace_abtest")
    study = Study(name, partial(cell, size=size), tuple(WAYS))
    conclude(study, given, partial(to_markdown, size=size))


if __name__ == "__main__":
    main()
