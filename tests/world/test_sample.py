from datetime import date

import numpy as np
import pyarrow as pa
import pytest

from realloc.base.errors import ConfigError
from realloc.world import World
from realloc.world import sample as sampling
from tests.world.drawn import ALL_REGIMES


def test_columns_are_the_contracts():
    logs = World("hard", 1).sample(units=3, periods=2, seed=4)
    table = logs.table
    assert logs.schema.channels == ("ads", "coupon", "rebate")
    assert logs.schema.budget == "budget"
    assert logs.features == tuple(f"{block}{j}" for block in "ces" for j in range(1, 7))
    assert table.schema.field("item_id").type == pa.dictionary(pa.int32(), pa.string())
    assert table.schema.field("date").type == pa.date32()
    assert {str(table.schema.field(n).type) for n in ("ads", "budget", "orders")} == {
        "double"
    }
    assert {str(table.schema.field(n).type) for n in logs.features} == {"float"}
    assert table["item_id"].to_pylist()[:3] == [
        "s4-item-000000",
        "s4-item-000000",
        "s4-item-000001",
    ]
    assert table["date"].to_pylist()[:2] == [date(2025, 1, 1), date(2025, 1, 2)]


@pytest.mark.parametrize("channels", [2, 3, 5, 9])
def test_shares_are_inside_the_simplex(channels):
    logs = World("extreme", 1, channels).sample(units=200, periods=2)
    assert logs.amounts.shape == (400, channels)
    assert logs.amounts.min() > 0
    assert np.allclose(logs.amounts.sum(axis=1), 1, atol=1e-14)
    assert logs.schema.channels[3:] == tuple(f"channel_{k}" for k in range(4, channels + 1))


def test_same_seeds_give_the_same_logs_to_the_bit():
    first, second = (
        World("hard", 1).sample(units=50, periods=3, seed=2).table for _ in range(2)
    )
    assert first.equals(second)


def test_items_of_other_seeds_are_other_items():
    world = World("hard", 1)
    one, two = (
        world.sample(units=50, periods=1, seed=0),
        world.sample(units=50, periods=1, seed=1),
    )
    assert not set(one.units.to_pylist()) & set(two.units.to_pylist())
    assert not np.array_equal(one.feature("c1").to_numpy(), two.feature("c1").to_numpy())


def test_more_items_keep_the_first_ones():
    world = World("hard", 1)
    few, many = (
        world.sample(units=10, periods=3).table,
        world.sample(units=30, periods=3).table,
    )
    assert few["c1"].equals(many["c1"].slice(0, 30))
    assert np.allclose(few["orders"].to_numpy(), many["orders"].to_numpy()[:30], rtol=1e-13)


def test_regimes_share_items_budgets_and_shocks():
    tables = [World(regime, 1).sample(units=20, periods=2).table for regime in ALL_REGIMES]
    for name in ("c1", "e6", "s3", "budget"):
        assert all(tables[0][name].equals(other[name]) for other in tables[1:])
    assert not tables[0]["ads"].equals(tables[1]["ads"])


def test_blocks_and_threads_change_nothing(monkeypatch):
    world = World("hard", 1)
    monkeypatch.setattr(sampling, "BLOCK_ROWS", 64)
    threaded = world.sample(units=100, periods=4).table
    monkeypatch.setattr(sampling.os, "cpu_count", lambda: 1)
    assert world.sample(units=100, periods=4).table.equals(threaded)


def test_first_day_may_be_text():
    logs = World("hard", 1).sample(units=1, periods=1, first_day="2026-03-01")
    assert logs.table["date"].to_pylist() == [date(2026, 3, 1)]


def test_an_empty_sample_is_refused():
    with pytest.raises(
        ConfigError, match="Expected at least 1 unit and 1 period, got 0 and 3"
    ):
        World("hard", 1).sample(units=0, periods=3)
