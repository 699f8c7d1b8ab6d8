"""Changes need a role and a reason, and each is an entry of the decision log."""

import pytest

from realloc.console.app import make_console
from realloc.monitor.redecide import audit
from tests.console.asking import get, log_in, post
from tests.console.conftest import HOSTS, TOKENS

CHANGE = {"to": "1", "comment": "odd   prices"}


def test_going_back_needs_an_admin_and_a_reason(copied, tokens):
    app = make_console(copied, tokens, HOSTS)
    reviewer, admin = (log_in(app, TOKENS[role]) for role in ("review", "admin"))
    refused = post(app, "/versions/rollback", CHANGE, **reviewer)
    assert refused.status == 403
    assert "Expected the role admin" in refused.text
    assert post(app, "/versions/rollback", CHANGE | {"comment": " "}, **admin).status == 422
    assert copied.freshness().version == 2
    assert post(app, "/versions/rollback", CHANGE, **admin).status == 303
    assert copied.freshness().version == 3
    assert copied.store.current().restores == 1


def test_a_change_is_in_the_log_with_who_why_before_and_after(copied, tokens):
    app = make_console(copied, tokens, HOSTS)
    admin = log_in(app, TOKENS["admin"])
    post(app, "/versions/rollback", CHANGE, **admin)
    entry = copied.entries()[-1]
    assert entry.kind == "rollback"
    assert entry.source["who"] == "adminer"
    assert entry.source["why"] == "odd prices"
    assert entry.source["before"] == {"version": 2}
    assert entry.source["after"] == {"version": 3, "restores": 1}
    assert "odd prices" in get(app, "/log", **admin).text
    assert copied.ledger.verify() == ()
    assert not [one for one in audit(copied.store, copied.ledger) if one.problem]


@pytest.mark.parametrize("address", ["/versions/rollback?to=1&comment=x", "/logout"])
def test_no_get_changes_anything(copied, address):
    app = make_console(copied, None, HOSTS)
    assert get(app, address).status == 405
    assert copied.freshness().version == 2
