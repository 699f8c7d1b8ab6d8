"""Bad requests get an error response whose sentence holds nothing of what was sent."""

import asyncio
import json

import pytest

from realloc.serve.http.auth import read_tokens
from tests.serve.http.asking import INTERNALS, ask, ask_async, open_app, some_rows

ROW = some_rows(1)[0]
GOOD = json.dumps({"rows": [ROW]}).encode()
EVERYWHERE = "0.0.0.0"  # noqa: S104
SECRET = "hunter2" * 3


def changed(key, text):
    """The good body with another spelling of one value."""
    return GOOD.replace(
        json.dumps({key: ROW[key]})[1:-1].encode(), f'"{key}": {text}'.encode()
    )


BAD = {
    "NaN": (changed("c1", "NaN"), 400),
    "Infinity": (changed("ads", "Infinity"), 400),
    "-Infinity": (changed("ads", "-Infinity"), 400),
    "1e999": (changed("ads", "1e999"), 400),
    "1e99": (changed("ads", "1e99"), 422),
    "huge whole number": (changed("ads", "9" * 5000), 400),
    "whole number beyond 64 bits": (changed("item_id", "9" * 19), 400),
    "long float": (changed("ads", "0." + "3" * 5000), 400),
    "number as text": (changed("ads", '"0.5"'), 422),
    "grouped number": (changed("ads", '"1_000"'), 422),
    "true as number": (changed("ads", "true"), 422),
    "null as amount": (changed("ads", "null"), 422),
    "list as number": (changed("ads", "[1]"), 422),
    "object as number": (changed("c1", "{}"), 422),
    "duplicate key": (GOOD.replace(b'"ads"', b'"ads": 0.1, "ads"'), 400),
    "unknown key": (GOOD.replace(b'"ads"', b'"adz": 0.1, "ads"'), 422),
    "missing key": (
        json.dumps({"rows": [{k: v for k, v in ROW.items() if k != "c3"}]}).encode(),
        422,
    ),
    "unknown key on top": (GOOD.replace(b'{"rows"', b'{"row": 1, "rows"'), 422),
    "lone surrogate": (changed("item_id", r'"\ud800"'), 400),
    "NUL in an id": (changed("item_id", r'"a\u0000b"'), 400),
    "newline in an id": (changed("item_id", r'"a\nINFO forged"'), 400),
    "direction override": (changed("item_id", '"a\u202eb"'), 400),
    "empty id": (changed("item_id", '""'), 422),
    "long id": (changed("item_id", json.dumps("x" * 500)), 422),
    "id as float": (changed("item_id", "1.5"), 422),
    "date of another kind": (changed("date", '"01/02/2026"'), 422),
    "a word for a date": (changed("date", '"today"'), 422),
    "date that does not exist": (changed("date", '"2026-02-30"'), 422),
    "date as number": (changed("date", "20260101"), 422),
    "UTF-16": (GOOD.decode().encode("utf-16"), 400),
    "Latin-1": (changed("item_id", '"ä"').decode().encode("latin-1"), 400),
    "byte-order mark": (b"\xef\xbb\xbf" + GOOD, 400),
    "deep": (b'{"rows": ' + b"[" * 40 + b"]" * 40 + b"}", 400),
    "endless depth": (b"[" * 60_000, 400),
    "deep objects": (b'{"a":' * 9000, 400),
    "a list": (b"[]", 400),
    "a text": (b'"rows"', 400),
    "null": (b"null", 400),
    "nothing": (b"", 400),
    "cut off": (GOOD[:-20], 400),
    "twice": (GOOD + GOOD, 400),
    "no rows": (b'{"rows": []}', 422),
    "rows of text": (b'{"rows": ["a"]}', 422),
    "rows as number": (b'{"rows": 3}', 422),
    "rows as object": (b'{"rows": {"0": 1}}', 422),
    "pickle": (b"\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix", 400),
    "comments": (b"/* */" + GOOD, 400),
    "single quotes": (GOOD.replace(b'"', b"'"), 400),
    "too many rows": (json.dumps({"rows": [ROW] * 101}).encode(), 413),
    "too long": (GOOD + b" " * 70_000, 413),
}


@pytest.mark.parametrize(("body", "status"), BAD.values(), ids=BAD.keys())
def test_bodies_that_others_let_pass_are_refused(app, body, status):
    found = ask(app, "/v1/recommend", body)
    assert found.status == status
    told = found.json
    assert set(told) == {"error", "detail", "request_id"}
    assert told["detail"][0].endswith(".")
    assert not [
        word for word in (*INTERNALS, b"forged", b"adz", b"hunter2") if word in found.body
    ]


def test_the_good_body_is_answered(app):
    """The negative control of all of them."""
    assert ask(app, "/v1/recommend", GOOD).status == 200
    assert ask(app, "/v1/recommend", changed("c1", "null")).status == 200
    assert ask(app, "/v1/recommend", changed("c1", "3")).status == 200
    assert ask(app, "/v1/recommend", changed("item_id", '"ä 🙂"')).status == 200
    assert ask(app, "/v1/recommend", changed("date", '"2026-02-28T12:30:00"')).status == 200


def test_rows_are_counted_also_where_few_bytes_hold_many(made):
    app = open_app(made, rows=2, batch_rows=3)
    for route, most in (("recommend", 2), ("batch", 3)):
        assert ask(app, f"/v1/{route}", {"rows": [ROW] * most}).status == 200
        found = ask(app, f"/v1/{route}", {"rows": [ROW] * (most + 1)})
        assert (found.status, found.json["error"]) == (413, "too_many_rows")


def test_a_key_that_is_missing_is_named(app):
    assert (
        "'c3' in row 0"
        in ask(app, "/v1/recommend", BAD["missing key"][0]).json["detail"][0]
    )


def test_a_byte_order_mark_is_called_by_its_name(app):
    assert (
        "byte-order mark"
        in ask(app, "/v1/recommend", BAD["byte-order mark"][0]).json["detail"][0]
    )


def test_without_the_strict_parser_dangerous_bodies_would_pass(app, monkeypatch):
    """The negative control of the parser: the usual one lets the last of two keys win."""
    monkeypatch.setattr("realloc.serve.http.answers.parse", json.loads)
    assert ask(app, "/v1/recommend", BAD["duplicate key"][0]).status == 200


def test_the_order_of_keys_changes_nothing(app):
    turned = {"rows": [dict(reversed(ROW.items()))]}
    assert (
        ask(app, "/v1/recommend", turned).json["answers"]
        == ask(app, "/v1/recommend", GOOD).json["answers"]
    )


WHATIF = {
    "shares of 2": {"ads": 1, "coupon": 1, "rebate": 0},
    "negative": {"ads": -0.5, "coupon": 1, "rebate": 0.5},
    "a channel missing": {"ads": 0.5, "coupon": 0.5},
    "another channel": {"ads": 0.5, "coupon": 0.5, "tv": 0},
    "text": "ads",
    "too few": [],
}


@pytest.mark.parametrize("to", WHATIF.values(), ids=WHATIF.keys())
def test_wanted_shares_that_are_none_are_refused(app, to):
    found = ask(app, "/v1/whatif", {"rows": [ROW], "to": to})
    assert found.status == 422
    assert "`to`" in found.json["detail"][0]


CONSTRAINTS = [
    [],
    "x",
    3,
    {"floors": {"tv": 0.1}},
    {"floors": 3},
    {"caps": {"ads": "x"}},
    {"groups": [[]]},
    {"x": 1},
]


@pytest.mark.parametrize("given", CONSTRAINTS)
def test_constraints_that_cannot_be_kept_are_refused(app, given):
    found = ask(app, "/v1/recommend", {"rows": [ROW], "constraints": given})
    assert (found.status, found.json["error"]) == (422, "bad_constraints")


def test_what_is_wrong_with_constraints_is_said(app):
    found = ask(app, "/v1/recommend", {"rows": [ROW], "constraints": {"x": 1}})
    assert "Known: floors" in found.json["detail"][0]


def test_rows_that_cannot_be_read_are_refused_where_there_is_no_row_to_say_so(app):
    assert ask(app, "/v1/field", {"rows": [ROW | {"ads": 0.9}]}).status == 422


def test_routes_methods_types_and_hosts(app):
    assert ask(app, "/nothing").status == 404
    assert ask(app, "/v1/recommend/..%2f..", GOOD).status == 404
    found = ask(app, "/v1/recommend")
    assert (found.status, found.headers["allow"]) == (405, "POST")
    found = ask(app, "/healthz", GOOD)
    assert (found.status, found.headers["allow"]) == (405, "GET, HEAD")
    assert (
        ask(app, "/v1/recommend", GOOD, content_type="application/x-pickle").status == 415
    )
    assert ask(app, "/v1/recommend", GOOD, content_type="multipart/form-data").status == 415
    assert ask(app, "/v1/recommend", GOOD, content_encoding="gzip").status == 415
    assert (
        ask(app, "/v1/recommend", GOOD, content_length="99999999999999999999").status == 413
    )
    assert ask(app, "/v1/recommend", GOOD, content_length="-1").status == 413
    assert ask(app, "/v1/recommend", GOOD, content_length="9" * 5000).status == 413
    found = ask(
        app, "/v1/recommend", GOOD, content_length="70000"
    )  # said before it is sent
    assert (found.status, found.headers["connection"]) == (413, "close")
    assert ask(app, "/healthz", host="evil.example").status == 421
    assert ask(app, "/healthz", host="localhost:8000").status == 200


@pytest.mark.parametrize(
    "name", ["host", "authorization", "content-length", "content-type", "content-encoding"]
)
def test_headers_that_decide_come_once(app, name):
    given = {
        "host": "localhost",
        "content-type": "application/json",
        "content-encoding": "identity",
    }
    given |= {"content-length": str(len(GOOD)), "authorization": "Bearer x"}
    assert asyncio.run(ask_async(app, "POST", "/v1/recommend", GOOD, given)).status == 200
    twice = ((name, given[name]),)
    assert (
        asyncio.run(
            ask_async(app, "POST", "/v1/recommend", GOOD, given, again=twice)
        ).status
        == 400
    )


def test_a_request_whose_end_never_came_is_none(app):
    given = {"host": "localhost", "content-type": "application/json"}
    found = asyncio.run(ask_async(app, "POST", "/v1/recommend", GOOD, given, gone=True))
    assert (found.status, found.json["error"]) == (400, "gone")


def test_labels_and_logs_hold_no_words_of_a_stranger(made, caplog):
    app = open_app(made)
    caplog.set_level("DEBUG", logger="realloc.serve.http")
    ask(app, "/forged\nINFO", method="FORGED")
    told = ask(app, "/metrics").body
    assert b'realloc_requests_total{route="other",status="404"} 1.0' in told
    assert b"forged" not in told
    assert "other other 404" in caplog.text
    assert "forged" not in caplog.text.lower()


def test_answers_carry_safe_headers_and_no_banner(app):
    found = ask(app, "/v1/recommend", GOOD)
    assert found.headers["x-content-type-options"] == "nosniff"
    assert found.headers["cache-control"] == "no-store"
    assert found.headers["content-security-policy"] == "default-src 'none'"
    assert found.headers["x-request-id"] == found.json["request_id"]
    assert "server" not in found.headers


def test_a_token_is_asked_for_everywhere_but_at_the_probes(made, tmp_path, caplog):
    path = tmp_path / "tokens"
    path.write_text(
        f"# two, to rotate\n{SECRET}\n{'old' * 8} 2020-01-01\n{'new' * 8} 2999-01-01\n"
    )
    path.chmod(0o600)
    app = open_app(made, tokens=read_tokens(path))
    caplog.set_level("DEBUG", logger="realloc.serve.http")
    for route, body in (
        ("/v1/recommend", GOOD),
        ("/version", None),
        ("/metrics", None),
        ("/openapi.json", None),
    ):
        assert ask(app, route, body).status == 401
        assert (
            ask(app, route, body, authorization=f"Bearer {'old' * 8}").status == 401
        )  # its last day is over
        assert ask(app, route, body, authorization="Bearer ").status == 401
        assert ask(app, route, body, authorization=f"Basic {SECRET}").status == 401
        assert ask(app, route, body, authorization=f"Bearer {SECRET}").status == 200
        assert ask(app, route, body, authorization=f"bearer {'new' * 8}").status == 200
    assert ask(app, "/healthz").status == ask(app, "/readyz").status == 200
    assert caplog.records
    assert SECRET not in caplog.text
    assert SECRET not in repr(vars(app)) + repr(app.tokens)


def test_the_pages_about_the_service(app):
    assert ask(app, "/healthz").json == {"status": "alive"}
    assert ask(app, "/readyz").json == {
        "ready": True,
        "version": 2,
        "frozen": False,
        "stale": False,
        "problem": None,
    }
    assert ask(app, "/version").json["version"] == 2
    assert b"realloc_version 2.0" in ask(app, "/metrics").body
    document = ask(app, "/openapi.json").json
    assert set(document["paths"]) == {
        *(f"/v1/{n}" for n in ("recommend", "batch", "explain", "field", "whatif"))
    } | {
        "/healthz",
        "/readyz",
        "/version",
        "/metrics",
        "/openapi.json",
    }
    row = document["paths"]["/v1/recommend"]["post"]["requestBody"]["content"][
        "application/json"
    ]["schema"]
    assert set(row["properties"]["rows"]["items"]["required"]) == set(some_rows(1)[0])
    assert ask(app, "/healthz", method="HEAD").body == b""
