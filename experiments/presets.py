"""The three presets beside each other: `Config()`, `Config.fast()` and `Config.paper()`.

    python experiments/presets.py                               # seeds 1 to 10, four regimes
    python experiments/presets.py --seeds 201 --regimes hard    # minutes

Each preset is fitted on the same rows and decides with its own search. `fit CPU` is that of
`ReAlloc.fit` alone, on one core; the other figures are those of `static_quality.py`.
"""

import time
from functools import partial

import numpy as np

import realloc
from realloc.world import REGIMES, World
from runner import Figures, Study, arguments, conclude, describe, markdown
from static_quality import FULL, QUICK_REGIMES, QUICK_SEEDS, SEEDS, SMALL, decide, judge

PRESETS = {
    "default": realloc.Config,
    "fast": realloc.Config.fast,
    "paper": realloc.Config.paper,
}
COLUMNS = {
    "recovery": "safe_local_recovery",
    "uplift": "deployable_uplift",
    "harm": "harm_rate",
    "OOS": "oos_rate",
    "moved": "moved",
}


def cell(key: str, sizes: tuple[dict[str, int], dict[str, int]] = FULL) -> Figures:
    """One preset in one world."""
    preset, regime, number = key.split("/")
    world = World(regime, int(number))
    config = PRESETS[preset](seed=int(number))
    train = world.sample(**sizes[0])
    began = time.process_time()
    model = realloc.ReAlloc(config, quiet=True).fit(train)
    fit_seconds = time.process_time() - began
    test = world.sample(**sizes[1])
    decision = judge(world, test, decide(model, test, config.decision))
    return {"fit_seconds": round(fit_seconds, 1), "decision": decision}


def to_markdown(cells: dict[str, Figures]) -> str:
    """A table per regime: means over seeds."""
    seeds = sorted({int(key.split("/")[2]) for key in cells})
    lines = ["# Presets", "", f"World seeds {seeds}. {describe(cells)}", ""]
    for regime in REGIMES:
        rows: list[list[str]] = []
        for preset in PRESETS:
            known = [
                cell for key, cell in cells.items() if key.startswith(f"{preset}/{regime}/")
            ]
            if not known:
                continue
            seconds = np.mean([cell["fit_seconds"] for cell in known])
            means = [
                np.mean([cell["decision"][name] for cell in known])
                for name in COLUMNS.values()
            ]
            rows.append([preset, f"{seconds:.0f} s", *(f"{mean:.3f}" for mean in means)])
        if rows:
            lines += markdown([regime, "fit CPU", *COLUMNS], rows)
    return "\n".join(lines)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument(
        "--regimes", nargs="+", choices=list(REGIMES), default=list(REGIMES)
    )
    given = parser.parse_args()
    seeds = given.seeds or (QUICK_SEEDS if given.quick else SEEDS)
    regimes = QUICK_REGIMES if given.quick else tuple(given.regimes)
    keys = tuple(f"{p}/{r}/{s}" for s in seeds for r in regimes for p in PRESETS)
    name = "presets_quick" if given.quick else "presets"
    study = Study(name, partial(cell, sizes=SMALL if given.quick else FULL), keys)
    conclude(study, given, to_markdown)


if __name__ == "__main__":
    main()
