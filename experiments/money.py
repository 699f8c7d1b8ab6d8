"""What deciding in money is worth, where units have margins of their own.

    python experiments/money.py            # three worlds of the zoo, two seeds; minutes; resumable

An outcome of a unit is worth exp(u4), a recorded feature with a factor of e between ordinary units.
`cap`: money truly gained with a daily cap of 3 % on what changes hands, decided in money, over the
same decided in outcomes. `cost`: money truly gained less costs where changing a split costs half
of what a typical move brings, decided with `move_cost`, over the same decided without it.
"""

from dataclasses import replace

import numpy as np
import pyarrow as pa

import realloc
from realloc.decide.constraints.constraints import Constraints
from realloc.decide.types import MOVED, Decision
from realloc.logs import Logs
from realloc.world.zoo import ZooSample, ZooWorld
from runner import Figures, Study, arguments, conclude, describe, interval, markdown

WORLDS = ("one_segment", "thresholds", "shop_sizes")
SEEDS = (311, 312)
UNITS = 800
CAP = Constraints(largest_move_per_day=0.03)
MARGIN = "margin"


def cell(key: str) -> Figures:
    """One world of one seed."""
    name, number = key.split("/")
    world = ZooWorld(name, int(number))
    train = world.sample(UNITS, seed=0)
    test = world.draw(400, 2, seed=1)
    logs, margin = with_margin(test.logs)
    config = realloc.Config.fast(seed=int(number))
    model = realloc.ReAlloc(config, quiet=True).fit(with_margin(train)[0])
    blind = model.decide(logs)
    gains = margin * blind.gain
    cost = 0.5 * float(np.median(gains[blind.gain > 0])) if (blind.gain > 0).any() else 1.0
    capped = model.decide(logs, CAP)
    found = {
        "blind_cap": earned(test, margin, capped, 0.0),
        "blind_cost": earned(test, margin, blind, cost),
        "moved": float(np.isin(blind.reason, MOVED).mean()),
    }
    in_money = replace(config.decision, worth=MARGIN)
    model.decide_with(in_money, config.constraints)
    found["cap"] = earned(test, margin, model.decide(logs, CAP), 0.0)
    model.decide_with(replace(in_money, move_cost=cost), config.constraints)
    found["cost"] = earned(test, margin, model.decide(logs), cost)
    return found


def with_margin(logs: Logs) -> tuple[Logs, np.ndarray]:
    """The log with a margin per unit, and the margins."""
    margin = np.exp(logs.table["u4"].to_numpy().astype(np.float64))
    table = logs.table.append_column(MARGIN, pa.array(margin.astype(np.float32)))
    features = (*logs.features, MARGIN)
    schema = replace(logs.schema, features=features)
    return replace(logs, schema=schema, table=table, features=features), margin


def earned(test: ZooSample, margin: np.ndarray, decision: Decision, cost: float) -> float:
    """True money per row, less costs."""
    moved = np.isin(decision.reason, MOVED)
    gain = np.where(moved, test.gain(decision.shares), 0.0)
    return float((margin * gain - cost * moved).mean())


def report(cells: dict[str, Figures]) -> str:
    """One row per cell, then the ratios with intervals."""
    names = ("moved", "blind_cap", "cap", "blind_cost", "cost")
    rows = [[key, *(f"{one[name]:.3f}" for name in names)] for key, one in cells.items()]
    heads = [
        "world / seed",
        "moved without rules",
        "cap, decided in outcomes",
        "cap, in money",
        "costs, decided without",
        "costs, with",
    ]
    lines = markdown(heads, rows)
    for name in ("cap", "cost"):
        moving = [one for one in cells.values() if one[f"blind_{name}"] > 0]
        ratios = np.array([one[name] / one[f"blind_{name}"] for one in moving])
        low, high = interval(ratios)
        lines.append(
            f"- {name}: {ratios.mean():.2f} times as much [{low:.2f}, {high:.2f}] over the "
            f"{len(ratios)} of {len(cells)} logs in which anything moves"
        )
    return "\n".join([*lines, "", describe(cells), ""])


def main() -> None:
    given = arguments(__doc__).parse_args()
    worlds = WORLDS[:1] if given.quick else WORLDS
    seeds = given.seeds or (SEEDS[:1] if given.quick else SEEDS)
    keys = tuple(f"{world}/{seed}" for seed in seeds for world in worlds)
    conclude(Study("money_quick" if given.quick else "money", cell, keys), given, report)


if __name__ == "__main__":
    main()
