"""Logs in which nothing has an effect but something drives both mixes and outcomes: what moves?

    python experiments/zoo_nulls.py                # 40 logs of the evaluation half; resumable
    python experiments/zoo_nulls.py --worlds promotions_alone --seeds 301 302
    python experiments/zoo_nulls.py --quick        # two small logs

Each log is learned from by default. It counts as moved if any row of fresh units is.
"""

from functools import partial

import numpy as np

import realloc
from realloc.decide.types import MOVED
from realloc.world.zoo import CARDS, ZooWorld
from runner import Figures, Study, arguments, conclude, describe, markdown

NULLS = [name for name, card in CARDS.items() if card.response == "none"]
ROWS = (2_000, 5_000, 10_000, 20_000, 40_000)
SEEDS = tuple(range(11, 19))
TEST_UNITS = 400


def cell(key: str, rows: int | None = None) -> Figures:
    """One log: `world/rows/seed`."""
    name, size, seed = key.split("/")
    world = ZooWorld(name, int(seed))
    units = max(10, (rows or int(size)) // world.parameters.periods)
    model = realloc.ReAlloc(realloc.Config(seed=int(seed)), quiet=True)
    model.fit(world.draw(units, seed=0).logs)
    decision = model.decide(world.draw(TEST_UNITS, 3, seed=1).logs)
    return {
        "moved": float(np.isin(decision.reason, MOVED).mean()),
        "significance": model.fitted.main.committee.significance,
    }


def report(cells: dict[str, Figures]) -> str:
    """One row per world and size, and all together."""
    rows: list[list[str]] = []
    for name in NULLS:
        for size in ROWS:
            own = [c for key, c in cells.items() if key.startswith(f"{name}/{size}/")]
            if own:
                rows.append([name, f"{size:,}", *row_of(own)])
    rows.append(["all", "", *row_of(list(cells.values()))])
    heads = [
        "world",
        "rows",
        "logs",
        "moved anything",
        "rows moved",
        "highest significance",
    ]
    return "\n".join([*markdown(heads, rows), describe(cells), ""])


def row_of(cells: list[Figures]) -> list[str]:
    """How many logs, how many moved anything, the mean part of their rows, the highest z."""
    moved = np.array([cell["moved"] for cell in cells])
    highest = max(cell["significance"] for cell in cells)
    return [
        str(len(cells)),
        str(int((moved > 0).sum())),
        f"{moved.mean():.1%}",
        f"{highest:.2f}",
    ]


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--worlds", nargs="+", choices=NULLS, default=["seasons_alone"])
    given = parser.parse_args()
    sizes = ROWS[:1] if given.quick else ROWS
    seeds = given.seeds or (SEEDS[:2] if given.quick else SEEDS)
    keys = tuple(
        f"{world}/{size}/{seed}"
        for seed in seeds
        for world in given.worlds
        for size in sizes
    )
    name = "zoo_nulls_quick" if given.quick else "zoo_nulls"
    work = partial(cell, rows=600 if given.quick else None)
    conclude(Study(name, work, keys), given, report)


if __name__ == "__main__":
    main()
