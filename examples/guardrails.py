"""A second outcome that must not suffer, and what each rule costs."""

# %% Coupons bring orders and cost margin
from dataclasses import replace

import numpy as np
import pandas as pd

import realloc

UNITS = 400
random = np.random.default_rng(5)
rows = pd.DataFrame(
    {
        "item": np.repeat([f"i{number:04d}" for number in range(UNITS)], 8),
        "date": list(pd.date_range("2026-02-02", periods=8)) * UNITS,
        "price": np.repeat(random.normal(size=UNITS), 8),
    }
)
share = random.dirichlet([3.0, 3.0, 3.0], len(rows))
rows[["ads", "coupon", "rebate"]] = (share * 100).round(2)
level = 50 + 5 * rows["price"]
rows["orders"] = level + 40 * share[:, 1] + random.normal(0, 1, len(rows))
rows["margin"] = level - 30 * share[:, 1] + random.normal(0, 1, len(rows))
schema = realloc.Schema(
    unit="item",
    time="date",
    outcome="orders",
    channels=["ads", "coupon", "rebate"],
    guardrails=["margin"],
)
model = realloc.ReAlloc(realloc.Config(seed=2), schema=schema).fit(rows)
today = rows.groupby("item").tail(1).drop(columns=["orders", "margin"])


# %% Without a tolerance a move must not cost any margin, so most moves are given up
def describe(title: str, advice: pd.DataFrame) -> None:
    """Print one line on what is recommended."""
    total = realloc.total_gain(advice)
    moved = advice["moved"].mean()
    print(
        f"{title}: {moved:.0%} moved, gain {total.value:.0f} [{total.low:.0f}, {total.high:.0f}]"
    )


strict = model.recommend(today)
describe("margin may lose nothing", strict)
print(strict["limited_by"].value_counts())

# %% Each row may lose 2 of margin
decision = replace(model.config.decision, tolerances={"margin": 2.0})
model.decide_with(decision, model.config.constraints)
describe("margin may lose 2 a row", model.recommend(today))

# %% The price of a rule: the same rows with it and without it
rules = {"floors": {"ads": 0.3}, "largest_move": 0.1, "frozen": ["rebate"]}
describe("all rules", model.recommend(today, constraints=rules))
for name in rules:
    others = {rule: value for rule, value in rules.items() if rule != name}
    describe(f"without {name}", model.recommend(today, constraints=others))
