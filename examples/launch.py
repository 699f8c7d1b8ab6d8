"""Evaluation that ends in a launch, one that ends in "do not", and the A/B test after it."""

# %% A log where most items draw their moves at random, with the chance of each draw
from dataclasses import replace

import numpy as np
import pandas as pd

import realloc
from realloc.evaluate.abtest import parse_abtest, plan_test, read_out
from realloc.evaluate.report import ReportConfig, evaluation_report

UNITS = 600
MOVES = np.array([0.0, 0.05, -0.05, 0.1, -0.1])  # of the share of ads
SCHEMA = realloc.Schema(
    unit="item",
    time="date",
    outcome="orders",
    channels=["ads", "coupon"],
    budget="budget",
    propensity="chance",
)


def draw_log(seed: int, worth: float) -> pd.DataFrame:
    """Ten days; `worth`: orders that a whole share of ads brings more than of coupons."""
    random = np.random.default_rng(seed)
    share, price = random.uniform(0.3, 0.7, UNITS), random.standard_normal(UNITS)
    days = []
    for day in pd.date_range("2026-01-05", periods=10):
        possible = (share[:, None] + MOVES >= 0) & (share[:, None] + MOVES <= 1)
        chance = possible / possible.sum(axis=1, keepdims=True)
        drawn = (random.random(UNITS)[:, None] > chance.cumsum(axis=1)).sum(axis=1)
        share = share + MOVES[drawn]
        orders = 10 + price + worth * share + 0.2 * random.standard_normal(UNITS)
        days.append(
            pd.DataFrame(
                {
                    "item": [f"s{seed}-{number:03d}" for number in range(UNITS)],
                    "date": day,
                    "budget": 100.0,
                    "ads": share,
                    "coupon": 1 - share,
                    "price": price,
                    "orders": orders,
                    "chance": chance[np.arange(UNITS), drawn],
                }
            )
        )
    return pd.concat(days, ignore_index=True)


# %% Learn where ads pay, in steps that were drawn
config = realloc.Config(seed=3)
decision = replace(config.decision, steps=(0.05,), max_turns=5, max_length=0.1 * np.sqrt(2))
config = replace(config, decision=decision)
model = realloc.ReAlloc(config, SCHEMA).fit(draw_log(seed=0, worth=4.0))

# %% New items in the same market: the whole interval of the lift is above 0
report = evaluation_report(model, draw_log(seed=1, worth=4.0), ReportConfig())
print(report.verdict, *report.reasons, sep="\n  ")
launch = report.verdict

# %% New items where ads have stopped paying: the honest answer is "do not"
report = evaluation_report(model, draw_log(seed=2, worth=-4.0), ReportConfig())
print(report.verdict, *report.reasons, sep="\n  ")
do_not = report.verdict

# %% A launch is followed by a test of whole units. First: what can it find?
settings = parse_abtest(
    {"unit": "item", "metrics": {"orders": {"value": "orders", "before": "orders_before"}}}
)
random = np.random.default_rng(4)
before = random.normal(10, 2, 4000)
units = pd.DataFrame({"item": np.arange(4000), "orders_before": before})
units["arm"] = np.where(random.random(4000) < 0.5, "treatment", "control")
units["orders"] = before + random.normal(0, 1, 4000)
plan = plan_test(units, settings, units=4000)["orders"]
print(f"4,000 units find an effect of {plan.effect:.2f} %")

# %% Then: what did it find?
units.loc[units["arm"] == "treatment", "orders"] += 0.3
readout = read_out(units, settings)
print(readout)
