"""Weeks in a store: fit, update, publish a batch, roll back, freeze."""

# %% Four weeks of logs, and the rows of next Monday
from pathlib import Path

import pyarrow.parquet as pq

import realloc
from realloc.batch import recommend_file
from realloc.storage.store import Store

UNITS = 300
world = realloc.World(regime="medium", seed=2)
weeks = [
    world.sample(units=UNITS, periods=7, seed=week, first_day=f"2026-01-{5 + 7 * week:02d}")
    for week in range(3)
]
monday = world.sample(units=100, periods=1, seed=9, first_day="2026-01-26")
pq.write_table(monday.to_arrow().drop_columns(["orders"]), "today.parquet")

# %% The first week makes version 1, each further week one more
store = Store("store")
model = realloc.ReAlloc(realloc.Config(seed=4)).fit(weeks[0])
with store.writer():
    store.commit(model, weeks[0])
for week in weeks[1:]:
    with store.writer():
        model = store.load()
        store.check_window(week, model)
        version = store.commit(model.update(week, churn=True), week)
    print(f"Version {version.number} learned from {version.windows[-1]}")
    print("\n".join(model.churn.lines()))

# %% The daily batch: whole or not at all, with a decision log
result = recommend_file("today.parquet", store.path, Path("monday.parquet"))
print(result.summary.moved, "of", result.summary.rows, "rows move")

# %% Something looks odd: freeze first, then look, then go back
store.freeze("orders fell on Monday")
frozen = recommend_file("today.parquet", store.path, Path("frozen.parquet"))
print(frozen.summary.moved, "rows move while the store is frozen")
back = store.rollback(to=2)
store.unfreeze()
print(f"Version {back.number} is the model of version {back.restores}")
print(*store.verify() or ["Every checksum matches."], sep="\n")
