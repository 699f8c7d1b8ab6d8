"""Fit, recommend, explain, and compare with a known truth."""

# %% A market whose truth is known: 600 items, ten days, three channels
import realloc
from realloc.world.score import score_shares

UNITS = 600
world = realloc.World(regime="medium", seed=1)
logs = world.sample(units=UNITS, periods=10, seed=0)
print(logs.summary())

# %% Learn. With your own file: realloc.read_logs("logs.parquet", schema)
model = realloc.ReAlloc(realloc.Config(seed=7)).fit(logs)
print(model.summary())

# %% Recommend for items that the model has never seen
today = world.sample(units=200, periods=1, seed=1)
advice = model.recommend(today)
print(advice.select(["item_id", "share_ads", "gain", "gain_lower", "reason"]).slice(0, 5))
total = realloc.total_gain(advice)
print(f"Total gain {total.value:.1f}, 95 % interval {total.low:.1f} to {total.high:.1f}")

# %% Why, for one item
unit = advice["item_id"][0].as_py()
print("\n".join(model.explain(today, unit).lines()))

# %% Only a simulated world can say what was true
recommended = advice.select(list(today.schema.share_columns)).to_pandas().to_numpy()
before = world.response(world.state(today), today.shares)
after = world.response(world.state(today), recommended)
print(f"True gain {(after - before).sum():.1f}, predicted {total.value:.1f}")
print(score_shares(world, today, recommended))
