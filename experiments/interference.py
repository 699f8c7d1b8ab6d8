"""How often `realloc check` sees that units compete, and how often it sees it where they do not.

    python experiments/interference.py            # five worlds, three seeds; minutes; resumable

Units of a world of the zoo belong to groups of eight. `spill` is the part of what its neighbours'
mixes bring them that a unit loses. A warning needs z of at least 3 on held-out groups, and 2.5 more
than next period's neighbours have.
"""

import numpy as np
from tests.logs.checks.test_interference import grouped

from realloc.logs.checks.interference import BEYOND_NEXT, SIGNIFICANT, neighbour_strength
from runner import Figures, Study, arguments, conclude, describe, markdown

WORLDS = (
    "nine_channels",
    "rare_exploration",
    "seasons_alone",
    "unseen_demand",
    "sticky_mixes",
)
SPILLS = (0.0, 0.5, 1.0, 2.0)
SEEDS = (321, 322, 323)
UNITS = 640


def cell(key: str) -> Figures:
    name, spill, seed = key.split("/")
    found = neighbour_strength(grouped(name, float(spill), int(seed), UNITS), "category")
    z, beyond = found or (0.0, 0.0)
    return {"z": z, "beyond": beyond, "warned": z >= SIGNIFICANT and beyond >= BEYOND_NEXT}


def report(cells: dict[str, Figures]) -> str:
    rows: list[list[str]] = []
    for name in WORLDS:
        row = [name]
        for spill in SPILLS:
            own = [one for key, one in cells.items() if key.startswith(f"{name}/{spill}/")]
            if own:
                z = np.mean([one["z"] for one in own])
                row.append(f"{sum(one['warned'] for one in own)} of {len(own)} (z {z:.1f})")
        rows.append(row)
    heads = ["world", *(f"spill {spill:g}" for spill in SPILLS)]
    return "\n".join([*markdown(heads, rows), describe(cells), ""])


def main() -> None:
    given = arguments(__doc__).parse_args()
    seeds = given.seeds or (SEEDS[:1] if given.quick else SEEDS)
    keys = tuple(
        f"{w}/{spill}/{seed}" for seed in seeds for w in WORLDS for spill in SPILLS
    )
    name = "interference_quick" if given.quick else "interference"
    conclude(Study(name, cell, keys), given, report)


if __name__ == "__main__":
    main()
