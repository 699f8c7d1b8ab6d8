"""Rules that look at all rows at once hold over all chunks."""

from dataclasses import replace

from realloc import ReAlloc
from realloc.decide.constraints.constraints import Constraints
from realloc.model.config import Config
from realloc.storage.store import Store
from tests.batch.conftest import NOW, answers, recommend, rows
from tests.small import CONFIG, window


def test_pools_hold_over_all_parts(place):
    free = recommend(place)
    cap = round(float(answers(place).spend_coupon.sum()) - 0.05, 2)
    assert free.summary.to_json()["all_rows"] is False
    told = recommend(place, "pool.parquet", pools={"coupon": cap}).summary.to_json()
    assert told["all_rows"] is True
    assert told["searches"] == free.summary.searches
    assert sum(told["searches"].values()) == told["usable"]
    assert round(answers(place, "pool.parquet").spend_coupon.sum(), 2) <= cap
    assert (
        answers(place, "pool.parquet").item_id.tolist() == answers(place).item_id.tolist()
    )


def test_a_cap_over_all_rows_holds_over_all_parts(place):
    free = recommend(place).summary.to_json()
    rules = Constraints(largest_move_per_day=free["moved_share"] / 3)
    told = recommend(
        place, "capped.parquet", config=Config(decision=CONFIG.decision, constraints=rules)
    ).summary.to_json()
    assert told["all_rows"] is True
    # The cap is held in cents, the moved share is of shares before rounding.
    budgets = answers(place).filter(like="spend_").sum(axis=1)
    assert told["moved_share"] <= free["moved_share"] / 3 + 0.01 / budgets.mean()


def test_rows_that_look_back_at_each_other_are_decided_together(tmp_path):
    store, lags = (
        Store(tmp_path / "store", clock=lambda: NOW),
        replace(CONFIG, features=replace(CONFIG.features, lags=2)),
    )
    store.commit(ReAlloc(lags, quiet=True).fit(window()), window())
    rows().to_parquet(tmp_path / "today.parquet")
    assert recommend(tmp_path).summary.to_json()["all_rows"] is True
    rows().drop_duplicates("item_id").to_parquet(tmp_path / "today.parquet")
    assert recommend(tmp_path).summary.to_json()["all_rows"] is False


def test_rows_that_cannot_be_read_are_counted_once_where_all_are_decided_together(place):
    given = rows()
    given.loc[3, "ads"] = -1.0
    given.to_parquet(place / "bad.parquet")
    told = recommend(
        place, source=place / "bad.parquet", pools={"coupon": 1e9}
    ).summary.to_json()
    assert told["bad_input"]["negative"]["rows"] == told["bad_rows"] == 1
