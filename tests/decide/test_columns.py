"""Columns of answers: their order, their words, and names that nobody else may take."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from realloc import LogError, Schema
from realloc.decide.columns import (
    DO,
    IN_MONEY,
    ROW_COLUMNS,
    SURE,
    WHY,
    check_names,
    names_of,
)
from realloc.decide.types import keep, recommend
from tests.small import CONFIG, fitted, window

WIDE = Schema(
    unit="shop", time="date", outcome="orders", channels=["spend_search", "spend_social"]
)
ROWS = pd.DataFrame(
    {
        "shop": ["a", "b"],
        "date": ["2026-11-16", "2026-11-16"],
        "spend_search": [30.0, 10.0],
        "spend_social": [70.0, 40.0],
    }
)


def groups(table):
    return [field.metadata[b"group"].decode() for field in table.schema if field.metadata]


def test_columns_come_in_three_groups_and_explain_themselves_in_a_parquet_file(tmp_path):
    pq.write_table(fitted().recommend(window()), tmp_path / "recs.parquet")
    table = pq.read_table(tmp_path / "recs.parquet")
    found = groups(table)
    assert len(found) == table.num_columns - 2
    assert list(dict.fromkeys(found)) == [DO, SURE, WHY]
    assert found == sorted(found, key=(DO, SURE, WHY).index)
    described = table.schema.field("gain_lower").metadata[b"description"].decode()
    assert described == "lower bound of this row's gain; do not add these up"
    expected = [name for name in ROW_COLUMNS if name not in IN_MONEY]
    assert table.column_names[-len(expected) :] == expected


def test_prefixes_of_channels_are_not_said_twice():
    def decide(logs):
        return keep(logs, "no_gain")

    answer = recommend(decide, pa.Table.from_pandas(ROWS), WIDE)
    assert answer.column_names[2:6] == [
        "share_search",
        "share_social",
        "spend_search",
        "spend_social",
    ]
    assert answer["spend_search"].to_pylist() == [30.0, 10.0]
    assert np.allclose(answer["share_search"], [0.3, 0.2])


def test_a_long_answer_explains_its_columns_too():
    schema = replace(
        WIDE, channels=("search", "social"), channel_column="channel", spend_column="cost"
    )
    rows = ROWS.rename(columns=lambda name: name.removeprefix("spend_"))
    long = rows.melt(["shop", "date"], var_name="channel", value_name="cost")

    def decide(logs):
        return keep(logs, "no_gain")

    answer = recommend(decide, pa.Table.from_pandas(long), schema)
    assert answer.column_names[:6] == ["shop", "date", "channel", "share", "spend", "moved"]
    assert groups(answer)[:3] == [DO, DO, DO]


def test_share_columns_of_another_policy_may_repeat_the_prefix():
    assert names_of(["share_search", "share_spend_social"], WIDE) == [
        "share_search",
        "share_spend_social",
    ]


@pytest.mark.parametrize(
    ("changes", "taken"),
    [
        ({"unit": "reason"}, "reason"),
        ({"time": "support"}, "support"),
        ({"unit": "share_search"}, "share_search"),
        ({"channel_column": "share", "spend_column": "cost"}, "share"),
    ],
)
def test_keys_that_are_named_like_an_answer_are_refused(changes, taken):
    with pytest.raises(LogError, match=f"got '{taken}'. Rename that column, in the log"):
        check_names(replace(WIDE, **changes))
    check_names(WIDE)


def test_a_fit_refuses_them_before_it_learns():
    from realloc import ReAlloc

    log = window().to_pandas().rename(columns={"item_id": "reason"})
    schema = replace(window().schema, unit="reason")
    with pytest.raises(LogError, match="got 'reason'"):
        ReAlloc(CONFIG, schema).fit(log)
