import re

from tests.console.asking import get


def test_rows_lead_to_their_item_and_pages_to_the_next(app):
    shown = get(app, "/items?size=50&reason=moved").text
    assert len(re.findall(r'<td class="name"><a href="/item\?', shown)) == 50
    assert "reason=moved" in re.search(r'rel="next" href="/items\?([^"]+)"', shown)[1]


def test_kept_rows_name_the_rule_that_bound_them(app):
    shown = get(app, "/items?reason=unsupported").text
    assert "kept: the best move leads where the logs hold no evidence (" in shown


def test_nothing_found_says_what_to_do(app):
    shown = get(app, "/items?prefix=nobody").text
    assert "No row fits." in shown
    assert "clear all of them" in shown
