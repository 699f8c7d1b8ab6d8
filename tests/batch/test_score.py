"""One chunk: its answers, whoever gave them, and the rows that cannot be read."""

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from realloc.decide.columns import IN_MONEY, ROW_COLUMNS
from realloc.storage.store import Store
from tests.batch.conftest import answers, recommend, rows, served


def test_rows_that_cannot_be_read_are_answered_counted_and_named(place):
    given = rows()
    given.loc[3, "ads"] = -1.0
    given.loc[40, "coupon"] = np.inf
    given = pd.concat([given, given.iloc[[70]]], ignore_index=True)
    given.to_parquet(place / "bad.parquet")
    told = recommend(place, source=place / "bad.parquet").summary.to_json()
    found = answers(place)
    bad = [3, 40, 70, 150]
    assert found.index[found.reason == "bad_input"].tolist() == bad
    assert not found.moved[bad].any()
    assert (told["bad_rows"], told["duplicates"]) == (4, 2)
    assert told["bad_input"]["duplicates"]["rows"] == 2
    assert "row 4" in told["bad_input"]["negative"]["first"]
    kept = answers(place).drop(index=bad)
    same = served(place).recommend(rows().drop(index=[3, 40, 70]))
    pd.testing.assert_frame_equal(
        kept.reset_index(drop=True), same.reset_index(drop=True), check_exact=True
    )


def test_a_frozen_store_answers_every_row_with_no_change(place):
    expected = answers_of_frozen(place)
    assert set(expected.reason) == {"frozen"}
    assert not expected.moved.any()
    given = rows()
    total = given[["ads", "coupon", "rebate"]].sum(axis=1)
    assert expected.share_ads.to_numpy() == pytest.approx((given.ads / total).to_numpy())


def answers_of_frozen(place):
    Store(place / "store").freeze("a test")
    told = recommend(place).summary.to_json()
    assert "a test" in told["frozen"]
    assert told["moved"] == 0
    assert told["support_coverage"] is None  # nobody looked
    return answers(place)


def test_frozen_answers_have_the_same_columns(place):
    recommend(place, "free.parquet")
    answers_of_frozen(place)
    one, other = (
        pq.read_schema(place / "free.parquet"),
        pq.read_schema(place / "recs.parquet"),
    )
    assert one.equals(other, check_metadata=True)
    assert set(ROW_COLUMNS) - set(IN_MONEY) <= set(one.names)
