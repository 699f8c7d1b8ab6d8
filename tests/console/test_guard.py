"""What passes, what does not, and what every answer carries."""

import asyncio
import logging

import pytest

from realloc.console.app import make_console
from realloc.console.guard import LOCKED, MOST_ADDRESS, MOST_BODY, Guard
from realloc.console.roles import Sessions
from tests.console.asking import HOST, get, log_in, post, visit_async
from tests.console.conftest import HOSTS, TOKENS

PAGES = ("/", "/items", "/versions", "/monitor", "/log", "/evaluations", "/login")


@pytest.mark.parametrize("address", [*PAGES, "/nowhere", "/static/console.css", "/item"])
def test_every_answer_is_locked_down(app, address):
    shown = get(app, address)
    for name, value in LOCKED:
        assert shown.headers[name.decode()] == value.decode()
    stored = "immutable" if address.startswith("/static") else "no-store"
    assert stored in shown.headers["cache-control"]
    assert "style=" not in shown.text
    assert "<script>" not in shown.text


def test_other_hosts_methods_and_long_addresses_are_refused(app):
    assert get(app, "/", host="evil.example").status == 421
    assert get(app, "/", host="localhost.evil.example").status == 421
    asked = visit_async(app, "DELETE", "/", b"", {"host": HOST})
    assert asyncio.run(asked).status == 405
    assert get(app, "/items?prefix=" + "x" * MOST_ADDRESS).status == 414


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"sec-fetch-site": "same-origin"}, 200),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"sec-fetch-site": "none"}, 403),
        ({}, 403),
        ({"origin": f"http://{HOST}"}, 200),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": f"http://{HOST}", "sec-fetch-site": "cross-site"}, 403),
    ],
)
def test_a_form_comes_from_a_page_of_ours(app, headers, status):
    asked = visit_async(app, "POST", "/log", b"verify=1", {"host": HOST, **headers})
    assert asyncio.run(asked).status == status


def test_a_form_is_limited(app):
    assert post(app, "/log", {"verify": "x" * MOST_BODY}).status == 413


def test_without_a_cookie_there_is_only_the_login(source, tokens):
    app = make_console(source, tokens, HOSTS)
    for address in PAGES:
        shown = get(app, address)
        assert shown.status == 200
        assert 'type="password"' in shown.text
        assert "Overview" not in shown.text
    assert post(app, "/log", {"verify": "1"}).status == 401
    assert get(app, "/static/console.css").status == 200
    assert get(app, "/whatif.json?row=1").headers["content-type"].startswith("text/html")


def test_a_token_becomes_a_cookie_that_no_script_reads(source, tokens):
    app = make_console(source, tokens, HOSTS)
    assert post(app, "/login", {"token": "wrong"}).status == 401
    done = post(app, "/login", {"token": TOKENS["review"]})
    cookie = done.headers["set-cookie"]
    assert cookie.startswith("__Host-realloc=")
    for word in ("HttpOnly", "Secure", "SameSite=strict", "Path=/"):
        assert word in cookie
    assert TOKENS["review"] not in cookie
    own = log_in(app, TOKENS["review"])
    assert "reviewer, role review" in get(app, "/", **own).text
    assert post(app, "/logout", {}, **own).status == 303
    assert 'type="password"' in get(app, "/", **own).text


def test_guessing_tokens_is_slowed_down(source, tokens):
    app = make_console(source, tokens, HOSTS)
    statuses = [post(app, "/login", {"token": f"guess {n}"}).status for n in range(12)]
    assert statuses[:10] == [401] * 10
    assert statuses[10:] == [429] * 2
    assert post(app, "/login", {"token": TOKENS["read"]}).status == 429


def test_a_failure_inside_shows_no_internals(caplog):
    async def broken(scope, receive, send):
        raise RuntimeError("secret path /etc")

    guard = Guard(broken, HOSTS, None, Sessions())
    with caplog.at_level(logging.ERROR):
        shown = get(guard, "/")
    assert shown.status == 500
    assert "secret" not in shown.text
    assert "RuntimeError" in caplog.text
