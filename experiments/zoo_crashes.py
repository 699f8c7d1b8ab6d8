"""Worlds of the zoo with cards drawn at random, at small size: does any of them break a fit?

    python experiments/zoo_crashes.py              # 1,000 worlds, an hour or more; resumable
    python experiments/zoo_crashes.py --quick      # 20 worlds
    python experiments/zoo_crashes.py --seeds 3    # the third twenty again

A cell is twenty worlds. Each log is fitted, decided on and saved with warnings as errors
(`fuzz_logs.try_log`); it must end in finite answers or in a refusal in words. A number makes its
world again.
"""

import numpy as np

from fuzz_logs import FuzzedLog, draw_config, try_log
from realloc.world.zoo import ZooWorld
from realloc.world.zoo.cards import Card
from runner import Figures, Study, arguments, conclude, describe

WORLDS = 1000
EACH = 20  # worlds in a cell
RESPONSES = ("hill", "ces", "threshold", "linear", "none")
NOISES = ("normal", "student", "counts")


def draw_card(random: np.random.Generator, number: int) -> Card:
    """Every property of a world, over wider ranges than those of the zoo."""
    units = int(random.choice([12, 40, 150, 600]))
    return Card(
        name=f"random_{number}",
        story="Drawn at random",
        half="tuning",
        units=units,
        periods=max(1, int(random.integers(150, 900)) // units),
        channels=int(random.integers(2, 13)),
        response=str(random.choice(RESPONSES)),
        days_apart=int(random.choice([1, 7])),
        noise=str(random.choice(NOISES)),
        noise_scale=float(10 ** random.uniform(-2, 1)),
        noise_tilt=float(random.choice([0.0, 1.0])),
        size_spread=float(random.choice([0.0, 1.0, 3.0])),
        confounding=float(random.uniform(0, 2)),
        hidden=float(random.choice([0.0, 1.0])),
        season=float(random.uniform(0, 2)),
        spread=float(10 ** random.uniform(-3, 0.3)),
        exploration=float(random.choice([0.0, 0.02, 0.1])),
        exploration_scale=float(random.choice([2.5, 10.0])),
        never_used=float(random.choice([0.0, 0.3])),
        not_today=float(random.choice([0.0, 0.3])),
        new_mix=float(random.choice([0.03, 1.0])),
        carry_over=float(random.choice([0.0, 0.3])),
        segment=float(random.choice([0.1, 1.0])),
    )


def cell(key: str) -> Figures:
    """Twenty worlds: how many were decided, and what broke."""
    first = int(key) * EACH
    decided = 0
    failures: dict[str, str] = {}
    for number in range(first, first + EACH):
        random = np.random.default_rng([21, number])
        card = draw_card(random, number)
        try:
            logs = ZooWorld(card, number).sample()
            log = FuzzedLog(logs.to_pandas(), logs.schema, draw_config(random, number))
            decided += try_log(log).startswith("decided")
        except Exception as problem:
            failures[str(number)] = f"{type(problem).__name__}: {problem}"
    return {"worlds": EACH, "decided": decided, "failures": failures}


def report(cells: dict[str, Figures]) -> str:
    """How many, and each failure by its number."""
    worlds = sum(cell["worlds"] for cell in cells.values())
    decided = sum(cell["decided"] for cell in cells.values())
    failures = {k: v for cell in cells.values() for k, v in cell["failures"].items()}
    lines = [
        f"{worlds} worlds: {decided} decided, {worlds - decided - len(failures)} refused in "
        f"words, {len(failures)} failures.",
        *(f"- {number}: {what}" for number, what in failures.items()),
    ]
    return "\n".join([*lines, "", describe(cells), ""])


def main() -> None:
    given = arguments(__doc__).parse_args()
    cells = given.seeds or range(1 if given.quick else WORLDS // EACH)
    name = "zoo_crashes_quick" if given.quick else "zoo_crashes"
    conclude(Study(name, cell, tuple(map(str, cells))), given, report)


if __name__ == "__main__":
    main()
