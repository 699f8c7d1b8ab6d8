"""Gains in money: worth by row, costs of moves, thresholds, caps, totals."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from realloc import ConfigError, LogError, total_gain
from realloc.decide.config import DecisionConfig
from realloc.decide.types import TOO_LITTLE
from realloc.model.money import worth_of
from tests.small import fitted, window

FEATURE = "s1"


def advised(today=None, constraints=None, **decision):
    model = fitted()
    settings = replace(model.config.decision, **decision)
    rules = constraints or model.config.constraints
    return model.decide_with(settings, model.config.constraints).recommend(
        window(99) if today is None else today, constraints=rules
    )


def column(table, name):
    return table[name].to_numpy(zero_copy_only=False)


def test_a_worth_scales_gains_and_bounds_and_changes_no_move():
    plain, worth = advised(), advised(worth=3.0)
    assert worth.select(plain.column_names).equals(plain)
    moved = column(plain, "moved")
    for name in ("gain", "gain_lower"):
        assert column(worth, f"money_{name}") == pytest.approx(3 * column(plain, name))
    assert moved.any()


def test_moves_that_bring_less_than_they_cost_are_not_made():
    plain = advised()
    cost = float(np.median(column(plain, "gain")[column(plain, "moved")]))
    found = advised(move_cost=cost)
    moved = column(found, "moved")
    assert 0 < moved.sum() < column(plain, "moved").sum()
    assert (column(found, "money_gain")[moved] > 0).all()
    kept = column(plain, "moved") & ~moved
    assert set(column(found, "limited_by")[kept]) == {TOO_LITTLE}
    assert set(column(found, "reason")[kept]) == {"no_gain"}


def test_a_threshold_is_in_money():
    low, high = advised(worth=2.0, threshold=1.0), advised(worth=2.0, threshold=2.0)
    as_outcome = advised(threshold=0.5)
    assert column(low, "moved").tolist() == column(as_outcome, "moved").tolist()
    assert column(high, "moved").sum() < column(low, "moved").sum()


def test_each_row_has_its_own_worth_and_none_where_it_is_missing():
    logs = window(99)
    values = logs.table[FEATURE].to_numpy().copy()
    values[:5] = np.nan
    place = logs.table.schema.get_field_index(FEATURE)
    changed = logs.table.set_column(place, FEATURE, pa.array(values, pa.float32()))
    found = advised(replace(logs, table=changed), worth=FEATURE)
    worth = column(found, "worth")
    assert worth == pytest.approx(np.where(values >= 0, values, 0.0))
    assert not column(found, "moved")[worth == 0].any()


def test_a_cap_over_all_rows_goes_to_where_money_is_gained():
    today = window(99)
    cap = {"largest_move_per_day": 0.02}
    blind, seeing = (advised(today, cap, worth=w) for w in (None, FEATURE))
    worth = np.maximum(today.table[FEATURE].to_numpy(), 0.0)
    in_money = worth @ column(blind, "gain")
    assert column(seeing, "money_gain").sum() > 1.1 * in_money


def test_the_total_in_money_has_an_interval():
    found = advised(worth=2.0, move_cost=0.1)
    total, money = total_gain(found), total_gain(found, money=True)
    moves = int(column(found, "moved").sum())
    assert money.value == pytest.approx(2 * total.value - 0.1 * moves)
    assert money.high - money.low == pytest.approx(2 * (total.high - total.low))
    with pytest.raises(LogError, match="Give `worth`"):
        total_gain(advised(), money=True)


def test_what_cannot_be_a_worth_is_refused():
    with pytest.raises(LogError, match="'S1'.*Did you mean 's1'"):
        worth_of(window(99), DecisionConfig(worth="S1"))
    with pytest.raises(ConfigError, match="`worth`.*above 0"):
        DecisionConfig(worth=0.0)
    with pytest.raises(ConfigError, match="`move_cost`"):
        DecisionConfig(move_cost=-1.0)
