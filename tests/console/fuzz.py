"""Broken requests to the console: strange addresses, forms and headers; what must hold for all."""

import random

from tests.console.asking import HOST, Shown

PATHS = (
    *("/", "/items", "/item", "/versions", "/monitor", "/log", "/evaluations", "/login"),
    *("/items.csv", "/items.parquet", "/whatif.json", "/static/console.css", "/logout"),
    *("/versions/rollback", "/review", "/review/decide", "/constraints", "/scenarios"),
    *("/static/..%2fapp.py", "//", "/\x00", "/item/", "/" + "a" * 3000),
)
NAMES = (
    *("run", "row", "unit", "prefix", "reason", "channel", "sign", "limit", "order", "up"),
    *("after", "before", "size", "category", "to0", "to1", "to2", "lock0", "one", "other"),
    *("look", "verify", "to", "comment", "token", "verdict", "shares", "floor0", "cap0"),
)
VALUES = (
    *("", "0", "1", "20", "-1", "1e3", "nan", "inf", "9" * 11, "9" * 40, "0.5", "100"),
    *("moved", "ads", "up", "gain", "unit", "approve", "x=y", "=", "hostile", "none"),
    *("<script>", "' OR 1=1 --", "%", "_", "\\", "\x00", "\ud800", "אבג\u202e", "x" * 5000),
    *("../../etc/passwd", "${jndi:ldap://x}", "{{7*7}}", "33.3"),
)
HEADERS = ("host", "cookie", "origin", "sec-fetch-site", "content-type", "x-forwarded-host")
INTERNALS = ("Traceback", 'File "', "site-packages", "Internal Server Error", "duckdb")


def draw_request(draw: random.Random) -> tuple[str, str, bytes, dict[str, str]]:
    """Method, address, body and headers."""
    address = draw.choice(PATHS)
    fields = "&".join(
        f"{_text(draw, draw.choice(NAMES))}={_text(draw, draw.choice(VALUES))}"
        for _ in range(draw.randrange(5))
    )
    method = draw.choice(("GET", "GET", "GET", "POST", "HEAD", "PUT", "X" * 20))
    headers = {"host": HOST, "sec-fetch-site": "same-origin"}
    if draw.random() < 0.15:
        headers[draw.choice(HEADERS)] = draw.choice(VALUES)
    body = fields.encode("utf-8", "surrogatepass") if method == "POST" else b""
    if method == "POST" and draw.random() < 0.2:
        body = bytes(draw.randrange(256) for _ in range(draw.randrange(200)))
    return method, f"{address}?{fields}" if draw.random() < 0.8 else address, body, headers


def _text(draw: random.Random, text: str) -> str:
    """As it is, or percent-encoded, or cut and doubled."""
    kind = draw.random()
    if kind < 0.4:
        return "".join(f"%{byte:02x}" for byte in text.encode("utf-8", "surrogatepass"))
    return text[: draw.randrange(len(text) + 1)] * 2 if kind < 0.5 else text


def faults(shown: Shown) -> list[str]:
    """What is wrong with an answer, whatever was asked."""
    found = [f"status {shown.status}"] if shown.status >= 500 else []
    if "content-security-policy" not in shown.headers:
        found.append("no policy")
    if shown.headers.get("content-type", "").startswith("text/html"):
        text = shown.body.decode("utf-8", "replace")
        found += [f"an internal: {word!r}" for word in INTERNALS if word in text]
        if "<script>" in text:
            found.append("a script from the address")
    return found
