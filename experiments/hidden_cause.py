"""Do omitted-variable bounds cover what a hidden cause does to gains, without being vacuous?

    python experiments/hidden_cause.py            # two worlds, two strengths, two seeds; resumable
    python experiments/hidden_cause.py --quick    # one small world, one seed

Worlds of the zoo in which demand or quality that nobody recorded drives both the mix and sales.
Every log is learned from twice: as it is, and with the hidden cause recorded. The bias of a move is
the difference of its two gains, averaged over two logs of other units, so that noise averages
out. The bound is that of the model without the cause, for a cause as strong as this one is: what it
explains of the outcome and of the mix beyond all features, as measured where it is recorded.

`covers`: part of the decided moves whose bias is within the bound. `ratio`: median of the bound
over the bias. `total ratio`: the bound on the bias of all moves together, over that bias. `held`:
part of the moves whose true gain is above gain_lower, and above gain_lower less the bound.
"""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

import realloc
from realloc.decide.robustness import SINGLE
from realloc.decide.types import MOVED
from realloc.learn.hidden_cause import strength_of
from realloc.logs import Logs
from realloc.world.zoo import CARDS, ZooWorld
from realloc.world.zoo.state import draw_state
from runner import Figures, Study, arguments, conclude, describe, interval, markdown

WORLDS = ("unseen_demand", "unseen_quality")
STRENGTHS = (0.5, 1.0)
SEEDS = (301, 302)
LOGS = 2
TEST = (400, 5)
CAUSE = "unseen"
QUICK_UNITS = 300


def cell(key: str, units: int | None = None) -> Figures:
    """One world of one seed."""
    name, hidden, number = key.split("/")
    seed = int(number)
    world = ZooWorld(replace(CARDS[name], hidden=float(hidden)), seed)
    test = world.draw(*TEST, seed=1000)
    known = record_cause(world, test.logs, TEST, 1000)
    first: realloc.ReAlloc | None = None
    ends = decision = moved = None
    bias: list[Any] = []
    strengths: list[float] = []
    for log in range(LOGS if units is None else 1):
        size = (units or world.parameters.units, world.parameters.periods)
        logs = world.draw(*size, seed=log).logs
        short = fit(logs, seed)
        long = fit(record_cause(world, logs, size, log), seed)
        cause = next(f for f in long.fitted.main.hidden.features if f.name == CAUSE)
        strengths.append(strength_of(cause.of_outcome, cause.of_moves))
        if first is None:
            first = short
            decision = short.decide(test.logs)
            moved = np.isin(decision.reason, MOVED)
            ends = decision.shares
        without = short.fitted.gain(test.logs, ends).mean(axis=0)
        bias.append(without - long.fitted.gain(known, ends).mean(axis=0))
    signed = np.mean(bias, axis=0)[moved]
    off = np.abs(signed)
    learned = first.fitted.main
    offset = learned.hidden_offset(first.fitted.encode(test.logs))
    every = np.arange(len(ends))
    unit = offset(every, np.array(test.logs.shares), ends[:, None])[moved, 0]
    bound = strengths[0] * SINGLE * unit
    # By Cauchy and Schwarz, for the sum of all moves.
    together = strengths[0] * float(np.sqrt(len(unit) * np.square(unit).sum()))
    true = test.gain(ends)[moved]
    lower = decision.gain_lower[moved]
    return {
        "strength": float(np.mean(strengths)),
        "moved": float(moved.mean()),
        "bias": float(np.median(off)),
        "bound": float(np.median(bound)),
        "covers": float((off <= bound).mean()),
        "ratio": float(np.median(bound / off)),
        "total_ratio": together / abs(float(signed.sum())),
        "held": float((true >= lower).mean()),
        "held_with_bound": float((true >= lower - bound).mean()),
        "robustness": float(np.median(decision.further["robustness"][moved])),
    }


def fit(logs: Logs, seed: int) -> realloc.ReAlloc:
    """A model of the smaller preset."""
    return realloc.ReAlloc(realloc.Config.fast(seed=seed), quiet=True).fit(logs)


def record_cause(world: ZooWorld, logs: Logs, size: tuple[int, int], sample: int) -> Logs:
    """The same log with the hidden cause as a feature."""
    state = draw_state(world.parameters, world.seed, sample, *size)
    column = pa.array(state.hidden.astype(np.float32))
    features = (*logs.features, CAUSE)
    schema = replace(logs.schema, features=features)
    return replace(
        logs,
        schema=schema,
        table=logs.table.append_column(CAUSE, column),
        features=features,
    )


def report(cells: dict[str, Figures]) -> str:
    """One row per world and strength, means over seeds, and what was asked for."""
    names = (
        "strength",
        "moved",
        "bias",
        "bound",
        "covers",
        "ratio",
        "total_ratio",
        "held",
        "held_with_bound",
        "robustness",
    )
    groups: dict[str, list[Figures]] = {}
    for key, found in cells.items():
        groups.setdefault(key.rsplit("/", 1)[0], []).append(found)
    rows = [
        [group, *(f"{np.mean([one[name] for one in found]):.3f}" for name in names)]
        for group, found in groups.items()
    ]
    lines = markdown(
        ["world / strength", *(name.replace("_", " ") for name in names)], rows
    )
    for name, bar in (("covers", "at least .95"), ("ratio", "at most 3")):
        values = np.array([one[name] for one in cells.values()])
        low, high = interval(values)
        lines.append(
            f"- {name}: {values.mean():.3f} [{low:.3f}, {high:.3f}] over {len(values)} logs "
            f"({bar} was asked for; in single logs {values.min():.3f} to {values.max():.3f})"
        )
    return "\n".join([*lines, "", describe(cells), ""])


def main() -> None:
    given = arguments(__doc__).parse_args()
    seeds = given.seeds or SEEDS
    keys = tuple(f"{w}/{s}/{seed}" for seed in seeds for w in WORLDS for s in STRENGTHS)
    if given.quick:
        study = Study(
            "hidden_cause_quick",
            partial(cell, units=QUICK_UNITS),
            ("unseen_demand/1.0/301",),
        )
    else:
        study = Study("hidden_cause", cell, keys)
    conclude(study, given, report)


if __name__ == "__main__":
    main()
