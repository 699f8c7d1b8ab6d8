"""How many rows of the paper's world are drawn per second. The target: 500,000 on 2 cores.

python benchmarks/world_speed.py
"""

import time

from realloc.world import World

UNITS, PERIODS, REPEATS = 100_000, 10, 5
BAR = 500_000


def main() -> None:
    world = World("hard", seed=1)
    world.sample(
        units=1000, periods=PERIODS
    )  # warm up: imports and the response's calibration
    rates: list[float] = []
    for seed in range(REPEATS):
        begin = time.perf_counter()
        logs = world.sample(units=UNITS, periods=PERIODS, seed=seed)
        rates.append(len(logs) / (time.perf_counter() - begin))
    rates.sort()
    median = rates[REPEATS // 2]
    print(
        f"{median:,.0f} rows/s, median of {REPEATS} draws of {UNITS * PERIODS:,} rows (slowest "
        f"{rates[0]:,.0f})"
    )
    print("bar", f"{BAR:,}", "met" if median >= BAR else "MISSED")


if __name__ == "__main__":
    main()
