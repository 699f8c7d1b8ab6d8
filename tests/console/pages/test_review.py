"""The review queue: by forms alone, two people at once, stale runs, hostile fields."""

import re

import pytest

from realloc.console.app import make_console
from realloc.console.approvals import read_approvals
from realloc.console.selection import RowSelection
from tests.console.asking import get, log_in, post
from tests.console.conftest import HOSTS, TOKENS


@pytest.fixture
def desk(copied, tokens):
    app = make_console(copied, tokens, HOSTS)
    return copied, app, log_in(app, TOKENS["review"])


def shown_row(text):
    return int(re.search(r'name="row" value="(\d+)"', text)[1])


def test_cards_come_one_by_one_the_largest_first(desk):
    source, app, reviewer = desk
    rows = source.rows(source.run()).page(RowSelection(reason="moved")).rows
    for row in rows[:3]:
        shown = get(app, "/review", **reviewer).text
        assert shown_row(shown) == row["row"]
        fields = {"row": str(row["row"]), "verdict": "approve"}
        assert post(app, "/review/decide", fields, **reviewer).status == 303
    assert len(read_approvals(source, source.run())) == 3
    assert "reviewer" in get(app, "/review", **reviewer).text


def test_two_reviewers_see_each_others_decisions(desk):
    _, app, reviewer = desk
    admin = log_in(app, TOKENS["admin"])
    first = shown_row(get(app, "/review", **reviewer).text)
    assert shown_row(get(app, "/review", **admin).text) == first
    post(app, "/review/decide", {"row": str(first), "verdict": "reject"}, **admin)
    assert shown_row(get(app, "/review", **reviewer).text) != first


def test_many_at_once_needs_the_effect_that_was_shown(desk):
    source, app, reviewer = desk
    shown = get(app, "/review?channel=ads&sign=up", **reviewer).text
    expected = re.search(r'name="expected" value="(\d+)"', shown)[1]
    fields = {"channel": "ads", "sign": "up", "verdict": "approve"}
    wrong = fields | {"expected": str(int(expected) + 1)}
    assert post(app, "/review/bulk", wrong, **reviewer).status == 422
    assert read_approvals(source, source.run()) == {}
    assert (
        post(app, "/review/bulk", fields | {"expected": expected}, **reviewer).status == 303
    )
    assert len(read_approvals(source, source.run())) == int(expected) > 1
    assert post(app, "/review/undo", {}, **reviewer).status == 303
    assert read_approvals(source, source.run()) == {}


def test_an_edit_sets_other_shares_and_needs_a_reason(desk):
    source, app, reviewer = desk
    fields = {"row": "20", "verdict": "edit", "shares": "20,40,40"}
    assert post(app, "/review/decide", fields, **reviewer).status == 422
    assert (
        post(app, "/review/decide", fields | {"comment": "sale"}, **reviewer).status == 303
    )
    assert read_approvals(source, source.run())[20].shares == (0.2, 0.4, 0.4)
    for shares in ("", "nan,1,2", "50,50", "90,90,90", "-5,50,55"):
        wrong = fields | {"comment": "x", "shares": shares}
        assert post(app, "/review/decide", wrong, **reviewer).status == 422


def test_a_reader_sees_cards_without_buttons_and_may_not_decide(desk):
    source, app, _ = desk
    reader = log_in(app, TOKENS["read"])
    shown = get(app, "/review", **reader).text
    assert 'value="approve"' not in shown
    assert "you may look" in shown
    fields = {"row": "20", "verdict": "approve"}
    assert post(app, "/review/decide", fields, **reader).status == 403
    assert read_approvals(source, source.run()) == {}


def test_a_run_that_is_out_of_date_takes_no_more_decisions(desk):
    source, app, reviewer = desk
    source.store.rollback(1)
    assert "publish nothing" in get(app, "/review", **reviewer).text
    refused = post(app, "/review/decide", {"row": "20", "verdict": "approve"}, **reviewer)
    assert refused.status == 422
    assert "Version 3 is current" in refused.text
