"""Which features matter, against a world where it is known."""

import numpy as np
import pandas as pd
import pytest

from realloc import ReAlloc, Schema, read_logs
from realloc.decide.config import DecisionConfig
from tests.advised import CLOSE

SCHEMA = Schema(unit="shop", time="day", outcome="orders", channels=["ads", "coupon"])


def market(units: int, seed: int) -> pd.DataFrame:
    """Ads pay where the price is high and cost where it is low; the two other columns are noise,
    or matter to the outcome but not to what ads are worth.
    """
    random = np.random.default_rng(seed)
    n = units * 6
    share = random.uniform(0.2, 0.8, n)
    frame = pd.DataFrame(
        {
            "shop": np.repeat([f"s{seed}-{k}" for k in range(units)], 6),
            "day": np.tile(pd.date_range("2026-01-05", periods=6), units),
            "price": random.normal(size=n).round(4),
            "noise": random.normal(size=n).round(4),
            "size": random.normal(size=n).round(4),
        }
    )
    frame["ads"] = (100 * share).round(2)
    frame["coupon"] = 100 - frame["ads"]
    frame["orders"] = (
        20 + 3 * frame["size"] + 4 * frame["price"] * share + 0.3 * random.normal(size=n)
    )
    return frame


@pytest.fixture(scope="module")
def model() -> ReAlloc:
    return ReAlloc(CLOSE, SCHEMA, quiet=True).fit(market(120, 1))


def test_the_feature_that_gains_hang_on_is_found_and_the_others_are_not(model):
    found = model.importance(market(40, 2).drop(columns="orders"))
    parts = {one.feature: one for one in found.features}
    assert set(parts) == {"price", "noise", "size", "budget", "current mix"}
    assert found.features[0].feature == "price"
    assert parts["price"].low <= 1.0 <= parts["price"].high  # gains are 4 · price · 0.01
    assert max(parts[name].high for name in parts if name != "price") < 0.1
    assert str(found).startswith("Which moves pay depends on price (")


def test_rows_are_not_changed_and_the_answer_is_the_same_again(model):
    rows = market(40, 2)
    before = rows.copy()
    assert model.importance(rows) == model.importance(rows)
    pd.testing.assert_frame_equal(rows, before)
    frame = model.importance(rows).to_frame()
    assert list(frame.columns) == ["feature", "value", "low", "high"]


def test_where_all_rows_gain_alike_no_feature_matters(model):
    rows = market(40, 2).assign(price=1.0, noise=0.0, size=0.0, ads=50.0, coupon=50.0)
    rows["day"] = rows["day"].min()
    rows["shop"] = [f"x{k}" for k in range(len(rows))]
    found = model.importance(rows)
    assert all(one.value == 0 for one in found.features)
    assert str(found) == "No feature makes a clear difference to gains (of 240 rows)."


def test_weak_evidence_is_said(model):
    settings = model.config
    strict = DecisionConfig(min_significance=1e9)
    try:
        model.decide_with(strict, settings.constraints)
        assert "too weak" in str(model.importance(market(20, 2)))
    finally:
        model.decide_with(settings.decision, settings.constraints)


def test_gains_differ_with_the_price_as_in_the_world(model):
    rows = read_logs(market(40, 2), SCHEMA)
    to = np.array(rows.shares)
    to[:, 0] = np.minimum(to[:, 0] + 0.1, 1.0)
    to[:, 1] = 1 - to[:, 0]
    true = 4 * rows.table["price"].to_numpy() * (to[:, 0] - rows.shares[:, 0])
    assert np.corrcoef(model.gain(rows, to), true)[0, 1] > 0.9
