"""The page at `/` and `/docs`: what this service is, and where its description lies.

It is the same for everybody and says nothing about the model, so it needs no token. No script; the
one style is named by its hash.
"""

import base64
import hashlib
from collections.abc import Iterable
from html import escape

from realloc.base.version import __version__
from realloc.serve.http.http_error import Headers
from realloc.serve.http.openapi import PAGES, ROUTES

STYLE = (
    ":root{color-scheme:light dark;font:1rem/1.5 system-ui,sans-serif}"
    "body{max-width:46rem;margin:3rem auto;padding:0 1rem}"
    "table{border-collapse:collapse;width:100%}"
    "th,td{text-align:left;padding:.35rem .8rem .35rem 0;border-bottom:1px solid #8886}"
    "pre{overflow-x:auto;padding:.8rem;border:1px solid #8886;border-radius:.4rem}"
)
HASH = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
POLICY = (
    f"default-src 'none'; style-src 'sha256-{HASH}'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
HTML = b"text/html; charset=utf-8"
HEADERS: Headers = ((b"content-security-policy", POLICY.encode()),)


def welcome(with_token: bool) -> bytes:
    """The page; `with_token`: whether requests need one."""
    token = ' -H "Authorization: Bearer $TOKEN"' if with_token else ""
    asks = "Requests carry a token in the header Authorization. " if with_token else ""
    call = (
        f"curl -s{token} \\\n     -H 'Content-Type: application/json' \\\n"
        "     -d '{\"rows\": [{…}]}' http://localhost:8000/v1/recommend"
    )
    posts = ((f"POST /v1/{route}", summary) for route, summary in ROUTES.items())
    pages = ((f"GET {path}", summary) for path, (summary, _) in PAGES.items())
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>ReAlloc</title><style>{STYLE}</style></head><body>"
        f"<h1>ReAlloc {escape(__version__)}</h1>"
        "<p>This service says how to split budgets between channels: one answer for each row it is "
        "sent, with the expected gain, how sure that is, and why. When in doubt it answers with "
        "the split that came in.</p>"
        f"<p>{asks}The columns of a row, every key and every answer are described in "
        '<a href="/openapi.json">/openapi.json</a> (OpenAPI 3.1), which most tools for HTTP can '
        'read. Which model answers: <a href="/version">/version</a>; whether it is ready: '
        '<a href="/readyz">/readyz</a>.</p>'
        f"<pre>{escape(call)}</pre>"
        "<table><thead><tr><th>route</th><th>answers with</th></tr></thead><tbody>"
        f"{_rows(posts)}{_rows(pages)}</tbody></table></body></html>"
    ).encode()


def _rows(cells: Iterable[tuple[str, str]]) -> str:
    return "".join(
        f"<tr><td><code>{escape(route)}</code></td><td>{escape(summary)}</td></tr>"
        for route, summary in cells
    )
