"""The table: its types, its arrays, and the way back to frames."""

import numpy as np
import pytest

from realloc import read_logs
from tests.conftest import SHARES, SPENDS


def test_the_table_has_the_promised_types(frame):
    logs = read_logs(frame, SPENDS)
    assert len(logs) == 240
    assert logs.unit_count == 30
    types = {field.name: str(field.type) for field in logs.table.schema}
    assert types["date"] == "date32[day]"
    assert types["ads"] == types["orders"] == "double"
    assert types["price"] == "float"
    assert types["promoted"] == "bool"
    assert types["category"].startswith("dictionary<values=string, indices=int32")
    assert logs.features == ("price", "category", "promoted")
    assert "30 units" in repr(logs)


def test_shares_budget_and_outcome_come_out_as_they_went_in(frame, share_frame):
    by_spend, by_share = read_logs(frame, SPENDS), read_logs(share_frame, SHARES)
    spends = frame[["ads", "coupon", "rebate"]].to_numpy()
    assert np.array_equal(by_spend.amounts, spends)
    assert np.allclose(
        by_spend.shares, spends / spends.sum(axis=1, keepdims=True), atol=1e-15
    )
    assert np.allclose(by_share.shares, by_spend.shares, atol=1e-14)
    assert np.allclose(by_share.budget, by_spend.budget)
    assert np.array_equal(by_spend.outcome, frame["orders"])
    assert np.all(np.abs(by_share.shares.sum(axis=1) - 1) < 1e-15 * 4)


def test_logs_cannot_be_changed(frame):
    logs = read_logs(frame, SPENDS)
    for values in (
        logs.shares,
        logs.amounts,
        logs.budget,
        logs.outcome,
        logs.times,
        logs.unit_codes,
    ):
        with pytest.raises(ValueError, match="read-only"):
            values[0] = values[1]
    with pytest.raises(AttributeError):
        setattr(logs, "schema", None)  # noqa: B010


def test_frames_come_back(frame):
    logs = read_logs(frame, SPENDS)
    assert logs.to_pandas()["item"].tolist() == frame["item"].tolist()
    assert logs.to_polars()["date"].to_list() == frame["date"].tolist()
    assert logs.to_arrow()["orders"].to_pylist() == frame["orders"].tolist()
