"""A messy export to recommendations: long format, decimal commas, gaps, zeros, two currencies."""

# %% What marketing systems export. Replace this cell by your own file
from pathlib import Path

import numpy as np
import pandas as pd

import realloc

UNITS = 400
random = np.random.default_rng(3)
days = pd.date_range("2026-01-05", periods=10)
shops = pd.DataFrame({"shop": [f"S{number:04d}" for number in range(UNITS)]})
shops["region"] = random.choice(["north", "south"], UNITS)
shops["stock"] = random.normal(50, 10, UNITS).round(1)
rows = shops.merge(pd.DataFrame({"day": days}), how="cross")
spend = random.gamma(3.0, 20.0, (len(rows), 3)) + 1
spend[random.random(len(rows)) < 0.2, 2] = 0.0  # a channel that rests
share = spend / spend.sum(axis=1, keepdims=True)
rows["orders"] = (
    20 + 15 * share[:, 1] + 0.1 * rows["stock"] + random.normal(0, 1, len(rows))
)
rows[["search", "social", "coupon"]] = spend.round(2)
rows.loc[random.random(len(rows)) < 0.05, "stock"] = np.nan  # a sensor that fails
rows["currency"] = "EUR"
long = rows.melt(
    id_vars=["shop", "day", "region", "stock", "orders", "currency"],
    value_vars=["search", "social", "coupon"],
    var_name="channel",
    value_name="cost",
)
long["day"] = long["day"].dt.strftime("%d.%m.%Y")
long.to_csv("export.csv", sep=";", decimal=",", index=False)

# %% What ReAlloc makes of it. `schema.notes` says why each column got its part
schema = realloc.guess_schema("export.csv")
print(schema)
print({name: schema.notes[name] for name in ("shop", "day", "cost")})

# %% A second currency slips in: the check says so, with the first place. Nothing is guessed
broken = long.copy()
broken.loc[broken["shop"] == "S0001", "currency"] = "USD"
broken.to_csv("broken.csv", sep=";", decimal=",", index=False)
print(realloc.check_source("broken.csv", schema))

# %% The repaired export passes, with what is risky
check = realloc.check_source("export.csv", schema)
print(check)
check.require()  # raises where something is wrong

# %% Learn, and recommend for the newest day
model = realloc.ReAlloc(realloc.Config(seed=1), schema=schema).fit("export.csv")
newest = long[long["day"] == long["day"].iloc[-1]].drop(columns="orders")
newest.to_csv("today.csv", sep=";", decimal=",", index=False)
advice = model.recommend("today.csv").to_pandas()
print(advice.head(6))
print(advice.drop_duplicates("shop")["reason"].value_counts())
advice.to_csv("recommendations.csv", index=False)
print(Path("recommendations.csv").stat().st_size, "bytes written")
