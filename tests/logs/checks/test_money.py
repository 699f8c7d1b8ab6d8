"""Budgets in one unit of money and one currency."""

from dataclasses import replace

import numpy as np

from realloc import check_source
from tests.conftest import SHARES, SPENDS
from tests.logs.sources import codes


def test_a_forgotten_budget_is_an_error_where_its_column_is_there(share_frame):
    found = next(
        f
        for f in check_source(share_frame, SPENDS).findings
        if f.code == "looks_like_shares"
    )
    assert (found.level, found.column) == ("error", "budget")


def test_shares_without_budget_column_are_noticed(share_frame):
    assert "looks_like_shares" in codes(
        share_frame.drop(columns="budget"), SPENDS, level="warning"
    )
    assert "looks_like_shares" not in codes(share_frame, SHARES)


def test_spends_that_do_not_sum_to_the_budget_are_noticed(frame):
    frame["budget"] = frame[["ads", "coupon", "rebate"]].sum(axis=1)
    assert "budget_mismatch" not in codes(frame)
    frame.loc[9:11, "budget"] += 5.0
    found = next(
        f for f in check_source(frame, SPENDS).findings if f.code == "budget_mismatch"
    )
    assert (found.column, found.unit, found.date, found.rows) == (
        "budget",
        "i001",
        "2025-01-07",
        3,
    )


def test_a_jump_of_the_budget_is_noticed(frame):
    frame.loc[12:15, ["ads", "coupon", "rebate"]] *= 1e6
    found = next(f for f in check_source(frame, SPENDS).findings if f.code == "budget_jump")
    assert (found.unit, found.date, found.rows) == ("i001", "2025-01-10", 1)


def test_a_dominant_unit_is_noticed(frame):
    frame.loc[frame["item"] == "i002", ["ads", "coupon", "rebate"]] *= 50
    found = next(
        f for f in check_source(frame, SPENDS).findings if f.code == "dominant_unit"
    )
    assert found.unit == "i002"


def test_currencies_in_other_spelling_or_missing_are_one(frame):
    spelled = frame.assign(currency=["EUR", "eur ", None] * 80)
    assert "mixed_currencies" not in codes(spelled)


def test_mixed_currencies_are_an_error_unless_the_model_sees_them(frame):
    mixed = frame.assign(currency_code=np.where(frame["item"] < "i010", "EUR", "USD"))
    assert "mixed_currencies" in codes(mixed, level="error")
    assert "mixed_currencies" not in codes(frame.assign(currency_code="EUR"))
    seen = replace(SPENDS, features=("price", "currency_code"), currency="currency_code")
    assert "mixed_currencies" in codes(mixed, seen, level="warning")
