"""Which columns are read, as what, and what is said about the rest."""

from dataclasses import replace

import pyarrow as pa
import pytest

from realloc import LogError, Schema, check_source, read_logs
from tests.conftest import SPENDS
from tests.logs.sources import to_csv


def test_csv_columns_with_leading_zeros_or_words_are_categories(frame, tmp_path):
    frame = frame.assign(shop=["007", "12"] * 120, flag=["true", "false"] * 120)
    logs = read_logs(to_csv(frame, tmp_path / "logs.csv"), SPENDS)
    assert pa.types.is_dictionary(logs.table["shop"].type)
    assert pa.types.is_boolean(logs.table["flag"].type)
    assert "undeclared_types" in [note.code for note in logs.notes]


def test_declared_csv_types_are_not_guessed(frame, tmp_path):
    path = to_csv(frame.assign(shop=["7", "12"] * 120), tmp_path / "logs.csv")
    declared = Schema(
        **{**SPENDS.__dict__, "features": ("price", "shop"), "categorical": ("shop",)}
    )
    logs = read_logs(path, declared)
    assert pa.types.is_dictionary(logs.table["shop"].type)
    assert "undeclared_types" not in [note.code for note in logs.notes]
    with pytest.raises(
        LogError, match="Expected numbers in column 'category', got 'books'|'toys'|'food'"
    ):
        read_logs(
            path,
            Schema(**{**SPENDS.__dict__, "features": ("category",), "categorical": ()}),
        )


def test_listed_flags_and_dates_of_a_csv_keep_their_kind(frame, tmp_path):
    path = to_csv(frame.assign(launched="2024-05-01"), tmp_path / "logs.csv")
    listed = replace(SPENDS, features=("price", "promoted", "launched"), categorical=())
    logs = read_logs(path, listed)
    assert pa.types.is_boolean(logs.table["promoted"].type)
    assert pa.types.is_date32(logs.table["launched"].type)


def test_a_missing_column_suggests_the_nearest(frame):
    with pytest.raises(
        LogError,
        match=r"Expected a column 'order' \(`outcome` of the schema\).* Did you mean 'orders'\?",
    ):
        read_logs(frame, Schema(**{**SPENDS.__dict__, "outcome": "order"}))


def test_a_missing_column_suggests_the_new_one_and_not_one_in_use(frame):
    names = {"ads": "spend_email", "coupon": "spend_search", "rebate": "spend_youtube"}
    schema = replace(SPENDS, channels=("spend_email", "spend_search", "spend_video"))
    with pytest.raises(LogError, match=r"'spend_video' .* Did you mean 'spend_youtube'\?"):
        read_logs(frame.rename(columns=names), schema)
    unlike = names | {"rebate": "youtube"}
    with pytest.raises(LogError, match=r"schema does not name: youtube, price"):
        read_logs(frame.rename(columns=unlike), schema)
    followed = replace(schema, channels=tuple(names.values()))
    assert len(read_logs(frame.rename(columns=names), followed)) == len(frame)


def test_all_missing_columns_are_named_at_once(frame):
    with pytest.raises(
        LogError, match=r"2 problems in the log:\n  1\. .*'date'.*\n  2\. .*'ads'"
    ):
        read_logs(frame.rename(columns={"date": "day", "ads": "adverts"}), SPENDS)


def with_index(frame):
    index = {item: float(k) for k, item in enumerate(sorted(set(frame["item"])))}
    return frame.assign(income_idx=frame["item"].map(index), clicks=frame["orders"] * 3 + 1)


def test_what_never_changes_within_a_unit_is_no_result_whatever_its_name(frame, tmp_path):
    frame = with_index(frame)
    for source in (frame, to_csv(frame, tmp_path / "logs.csv")):
        logs = read_logs(source, SPENDS)
        assert "income_idx" in logs.features
        assert "clicks" not in logs.features
        (asked,) = [note for note in logs.notes if note.code == "post_decision_name"]
        assert "(1): clicks" in asked.what
        assert "Was one of them known before the budget was set?" in asked.meaning
        # Once pinned, as `init` writes it, neither column is judged by its name again.
        check = check_source(source, logs.pinned_schema)
        assert [f.level for f in check.findings if f.code == "post_decision_name"] == [
            "info"
        ]
        assert not any("That is right" in finding.meaning for finding in check.findings)


def test_a_suspicion_is_answered_by_known_before(frame):
    frame = with_index(frame).assign(clicks=lambda f: f["price"] * 2 + 1)
    answered = replace(SPENDS, known_before=("clicks",))
    logs = read_logs(frame, answered)
    assert "clicks" in logs.features
    assert "post_decision_name" not in [note.code for note in logs.notes]


def test_one_row_per_unit_says_nothing_about_what_is_constant(frame):
    assert (
        "income_idx"
        not in read_logs(with_index(frame).groupby("item").head(1), SPENDS).features
    )
