"""The page at `/`: for everybody, without script, nothing about the model."""

import base64
import hashlib
import re

import pytest

from realloc.serve.http.welcome import welcome
from tests.serve.http.asking import ask, make_store, open_app, some_rows
from tests.small import CHANNELS


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    return open_app(make_store(tmp_path_factory.mktemp("welcome") / "store").path)


@pytest.mark.parametrize("path", ["/", "/docs"])
def test_the_page_says_what_this_is_and_where_it_is_described(app, path):
    found = ask(app, path)
    page = found.body.decode()
    assert found.status == 200
    assert found.headers["content-type"].startswith("text/html")
    links = re.findall('href="([^"]+)"', page)
    assert "/openapi.json" in links
    assert all(ask(app, link).status == 200 for link in links)
    assert not any(name in page for name in (*CHANNELS, "item_id"))


def test_a_browser_may_load_its_one_style_and_nothing_else(app):
    found = ask(app, "/")
    page = found.body.decode()
    (style,) = re.findall("<style>(.*?)</style>", page)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = found.headers["content-security-policy"]
    assert policy.startswith(f"default-src 'none'; style-src 'sha256-{digest}';")
    assert "<script" not in page
    assert "style=" not in page
    assert ask(app, "/version").headers["content-security-policy"] == "default-src 'none'"


def test_a_token_is_mentioned_where_one_is_needed():
    assert b"Bearer" in welcome(with_token=True)
    assert b"Bearer" not in welcome(with_token=False)


def test_row_and_rows_are_one(app):
    (row,) = some_rows(1)
    for route in ("recommend", "explain", "field"):
        one, other = (
            ask(app, f"/v1/{route}", body).json for body in ({"row": row}, {"rows": [row]})
        )
        assert one | {"request_id": ""} == other | {"request_id": ""}
    assert ask(app, "/v1/recommend", {"row": row, "rows": [row]}).status == 422
    both = ask(app, "/v1/explain", {"rows": some_rows(2)})
    assert "Expected one row to explain, got 2." in str(both.json["detail"])
