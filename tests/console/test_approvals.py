"""Approvals: who said what about which row, and when that no longer holds."""

import pytest

from realloc.console.approvals import (
    decide_rows,
    read_approvals,
    undo_last,
    why_out_of_date,
)
from realloc.console.roles import Member
from realloc.console.selection import RowSelection

ANNA = Member("anna", "review")
ROB = Member("rob", "review")


@pytest.fixture
def opened(copied):
    run = copied.run()
    rows = copied.rows(run)
    moved = [row["row"] for row in rows.page(RowSelection(reason="moved")).rows]
    return copied, run, rows, moved


def test_the_last_word_counts_and_belongs_to_what_was_decided(opened):
    source, run, rows, moved = opened
    decide_rows(source, rows, moved[:2], "approve", ANNA, "fine")
    decide_rows(source, rows, moved[:1], "reject", ROB, "odd")
    found = read_approvals(source, run)
    assert [found[n].verdict for n in moved[:2]] == ["reject", "approve"]
    one = found[moved[1]]
    row = rows.some([moved[1]])[0]
    assert (one.unit, one.version, one.input) == (row["unit"], 2, row["input"])
    assert one.shares == tuple(rows.mixes(row)[1].tolist())
    assert one.who == "anna"
    assert source.ledger.verify() == ()


def test_taking_back_is_for_ones_own_last_decision(opened):
    source, run, rows, moved = opened
    decide_rows(source, rows, moved[:1], "approve", ANNA, "")
    decide_rows(source, rows, moved[1:3], "approve", ANNA, "")
    decide_rows(source, rows, moved[3:4], "approve", ROB, "")
    undo_last(source, run, ANNA)
    assert sorted(read_approvals(source, run)) == sorted([moved[0], moved[3]])
    assert undo_last(source, run, Member("nobody", "review")) is None


def test_approvals_go_out_of_date(opened):
    source, run, _, _ = opened
    assert why_out_of_date(source, run) == []
    first = source.batches()[-1]
    assert any("was decided since" in text for text in why_out_of_date(source, first))
    source.store.freeze("odd")
    assert "The store is frozen" in why_out_of_date(source, run)[0]
    source.store.unfreeze()
    source.store.rollback(1)
    assert "Version 3 is current" in why_out_of_date(source, run)[0]
