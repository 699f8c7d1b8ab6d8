"""100,000 units choose under three pools: CPU seconds, duality gap, exact feasibility.

    python benchmarks/portfolio_speed.py

Bar: 10 CPU seconds and a gap below 0.1 %. Each unit has a lognormal budget, a trace of six
transfers
towards its best channels and one of six out of the capped ones. Gains are concave along a trace.
Cases: pools that bind, pools that today's spend already exceeds, a cap on the money moved in
addition, and copies of only 20 units, which prices cannot tell apart. One thread.
"""

import argparse
import json
import os
import resource
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from realloc.base.simplex import round_money
from realloc.decide.portfolio.knapsack import Menu
from realloc.decide.portfolio.portfolio import Choice, choose

RESULTS = Path(__file__).parent / "results" / "portfolio_speed.json"
CHANNELS = 5
CAPPED = (0, 1, 2)
STEPS = 6
STEP = 0.04
NAMES = ("coupon", "feed", "search", "moved money")
DISTINCT = 20
BAR_SECONDS = 10.0
BAR_GAP = 1e-3
# Limits: a part of what the units would use on their own best options, or of what keep uses.
CASES = {
    "pools": ("best", (0.90, 0.92, 0.95), False),
    "keep exceeds": ("keep", (0.97, 0.98, 0.99), False),
    "moved": ("best", (0.95, 0.97, 0.98, 0.5), True),
    "copies": ("best", (0.90, 0.92, 0.95), False),
}


def draw_trace(
    rng: np.random.Generator, start: np.ndarray, slope: np.ndarray
) -> np.ndarray:
    """Shares (n, STEPS + 1, K): each step moves up to STEP from a unit's lowest slope that has
    money to its highest.
    """
    rows = np.arange(len(start))
    points = np.repeat(start[:, None], STEPS + 1, axis=1)
    noisy = slope + 0.2 * rng.normal(size=slope.shape)
    for r in range(1, STEPS + 1):
        now = points[:, r - 1].copy()
        source = np.where(now > 0, noisy, np.inf).argmin(axis=1)
        target = (noisy - 0.3 * r * (now - start)).argmax(axis=1)
        size = np.minimum(now[rows, source], STEP)
        now[rows, source] -= size
        now[rows, target] += size
        points[:, r] = now
    return points


def draw_menu(units: int, seed: int, moved: bool) -> Menu:
    """Keep, then two traces per unit: towards gain, and out of the capped channels.

    The gain is Σ slope·move − curvature·move².
    """
    rng = np.random.default_rng(seed)
    start = rng.dirichlet(np.full(CHANNELS, 2.0), size=units)
    budget = np.round(np.exp(rng.normal(6.0, 1.2, size=units)), 2)
    capped = np.isin(np.arange(CHANNELS), CAPPED)
    slope = rng.normal(size=(units, CHANNELS)) * 0.1 + capped * 0.05
    towards_gain = draw_trace(rng, start, slope)
    out_of_capped = draw_trace(rng, start, slope - capped)
    points = np.concatenate([towards_gain, out_of_capped[:, 1:]], axis=1)
    shift = points - start[:, None]
    gain = budget[:, None] * (
        (shift * slope[:, None]).sum(-1) - 0.3 * np.square(shift).sum(-1)
    )
    use = np.empty((*gain.shape, len(CAPPED) + moved), np.int64)
    today = round_money(start, budget)
    for j in range(points.shape[1]):
        money = round_money(points[:, j], budget)
        use[:, j, : len(CAPPED)] = money[:, CAPPED]
        if moved:
            use[:, j, -1] = np.maximum(money - today, 0).sum(axis=1)
    possible = np.ones(gain.shape, bool)
    for trace in (
        towards_gain,
        out_of_capped,
    ):  # a point that repeats the one before is no option
        first = 1 if trace is towards_gain else STEPS + 1
        stopped = (trace[:, 1:] == trace[:, :-1]).all(axis=-1)
        possible[:, first : first + STEPS] = ~stopped
    return Menu(gain, use, possible)


def draw_case(case: str, units: int, seed: int) -> tuple[Menu, np.ndarray]:
    """A menu and its limits."""
    reference, factors, moved = CASES[case]
    menu = draw_menu(DISTINCT if case == "copies" else units, seed, moved)
    if case == "copies":
        copies = np.arange(units) % DISTINCT
        menu = Menu(menu.gain[copies], menu.use[copies], menu.possible[copies])
    best = np.where(menu.possible, menu.gain, -np.inf).argmax(axis=1) * (
        reference == "best"
    )
    return menu, (menu.used(best) * np.array(factors)).astype(np.int64)


def summarise(menu: Menu, limits: np.ndarray, choice: Choice) -> dict[str, object]:
    used = menu.used(choice.option)
    alone = float(np.where(menu.possible, menu.gain, -np.inf).max(axis=1).sum())
    return {
        "units": len(choice.option),
        "options": menu.gain.shape[1],
        "resources": menu.use.shape[2],
        "value": choice.value,
        "bound": choice.bound,
        "value_without_caps": alone,
        "relative_gap": choice.gap / abs(choice.value),
        "feasible": bool((used <= limits).all()),
        "limits": limits.tolist(),
        "used": used.tolist(),
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--units", type=int, default=100_000)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    arguments = parser.parse_args()
    rows: list[dict[str, object]] = []
    for case in CASES:
        for seed in arguments.seeds:
            menu, limits = draw_case(case, arguments.units, seed)
            names = NAMES[: len(limits)]
            begin = time.process_time()
            choice = choose(menu, limits, names)
            cpu = time.process_time() - begin
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
            row = {"case": case, "seed": seed, "cpu_seconds": cpu, "peak_mib": memory}
            row |= summarise(menu, limits, choice)
            rows.append(row)
            print(
                f"{case:12} seed {seed}: {cpu:5.2f} CPU s, relative gap "
                f"{choice.gap / abs(choice.value):.1e}, feasible {row['feasible']}, "
                f"value {choice.value:,.0f} of "
                f"{row['value_without_caps']:,.0f}",
                flush=True,
            )
    RESULTS.write_text(
        json.dumps({"arguments": vars(arguments), "rows": rows}, indent=1) + "\n"
    )
    met = all(
        row["feasible"]
        and float(str(row["cpu_seconds"])) < BAR_SECONDS
        and float(str(row["relative_gap"])) < BAR_GAP
        for row in rows
    )
    print("bar", f"{BAR_SECONDS:.0f} CPU s and gap {BAR_GAP}", "met" if met else "MISSED")


if __name__ == "__main__":
    main()
