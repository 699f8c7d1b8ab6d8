"""Broken requests: mutated bytes, swapped values, strange headers; and what must hold for all."""

import json
import random
import re

from tests.serve.http.asking import INTERNALS, Answer, some_rows

ROUTES = ("recommend", "batch", "explain", "field", "whatif")
WORDS = (
    *(b"NaN Infinity -Infinity 1e999 -0.0 1e308 9".split()),
    *(b'true false null [] {} [[]] {"":0} ""'.split()),
    b'"\\ud800"',
    b'"\\u0000"',
    b"\x00",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b'"' + b"A" * 300 + b'"',
    b"9" * 400,
    b"[" * 50,
    b'"ads": 1, "ads": 2,',
    b'"__class__": {"__init__": 1},',
    b"'; DROP TABLE versions; --",
    b"../../etc/passwd",
    b"${jndi:ldap://x}",
    "ａｄｓ".encode(),
)
PATHS = (
    "/",
    "/v1",
    "/v1/../metrics",
    "/v1/recommend/",
    "//v1/recommend",
    "/\x00",
    "/" + "a" * 3000,
    "/metrics",
)
VALUES = (
    "",
    "x" * 5000,
    "localhost",
    "0",
    "-1",
    "1e3",
    "gzip",
    "Bearer \xff",
    "application/json; a=b",
)
KEYS = ("rows", "row", "to", "constraints", "ads", "date", "item_id", "")


def sound(route: str) -> dict:
    """A request that is answered."""
    if route == "explain":
        return {"rows": some_rows(1)}
    further = (
        {"to": {"ads": 0.2, "coupon": 0.5, "rebate": 0.3}} if route == "whatif" else {}
    )
    return {"rows": some_rows(2), **further}


def strange_value(draw: random.Random, depth: int = 0):
    """Any JSON."""
    kind = draw.randrange(9 if depth < 4 else 7)
    if kind == 7:
        return [strange_value(draw, depth + 1) for _ in range(draw.randrange(4))]
    if kind == 8:
        return {
            draw.choice(KEYS): strange_value(draw, depth + 1)
            for _ in range(draw.randrange(4))
        }
    return (
        None,
        draw.random() < 0.5,
        draw.randrange(-(10**17), 10**17),
        draw.uniform(-1, 1) * 10 ** draw.randrange(-300, 300),
        "".join(
            chr(draw.choice((draw.randrange(32, 127), draw.randrange(0xD7FF))))
            for _ in range(draw.randrange(8))
        ),
        draw.choice((0, 1, -1, 0.5, 1e-300)),
        draw.choice(
            (
                "2026-01-01",
                "0000-00-00",
                "9999-12-31",
                "1677-01-01",
                "2262-12-31T00:00:00",
                "2026-13-01",
            )
        ),
    )[kind]


def swap_values(draw: random.Random, told: dict) -> dict:
    """A sound request with some of its values or keys exchanged."""
    for _ in range(draw.randrange(1, 4)):
        rows = told.get("rows")
        place = draw.choice(rows) if rows and isinstance(rows, list) else told.get("row")
        place = told if draw.random() < 0.2 else place
        if not isinstance(place, dict) or not place:
            continue
        key = draw.choice(list(place))
        if draw.random() < 0.1:
            del place[key]
        elif draw.random() < 0.1:
            place[key + draw.choice("abc ")] = place.pop(key)
        else:
            place[key] = strange_value(draw)
    return told


def mutate(draw: random.Random, body: bytes) -> bytes:
    """Bytes flipped, cut, repeated, and words put in."""
    content = bytearray(body)
    for _ in range(draw.randrange(1, 5)):
        at = draw.randrange(len(content) + 1) if content else 0
        kind = draw.randrange(5)
        if kind == 0 and content:
            content[at % len(content)] ^= 1 << draw.randrange(8)
        elif kind == 1:
            content[at:at] = draw.choice(WORDS)
        elif kind == 2:
            del content[at : at + draw.randrange(1, 40)]
        elif kind == 3:
            content[at:at] = content[at : at + draw.randrange(1, 200)]
        else:
            numbers = list(re.finditer(rb"-?\d+\.?\d*(e-?\d+)?|\"[^\"]*\"", bytes(content)))
            if numbers:
                found = draw.choice(numbers)
                content[found.start() : found.end()] = draw.choice(WORDS)
    return bytes(content)


def draw_request(draw: random.Random) -> tuple[str, str, bytes, dict[str, str]]:
    """Method, path, body and headers."""
    route = draw.choice(ROUTES)
    told = sound(route)
    if draw.random() < 0.5:
        told = swap_values(draw, told)
    body = json.dumps(told, ensure_ascii=draw.random() < 0.8).encode(
        "utf-8", "surrogatepass"
    )
    if draw.random() < 0.7:
        body = mutate(draw, body)
    method = "POST"
    path = f"/v1/{route}"
    headers = {"host": "localhost", "content-type": "application/json"}
    if draw.random() < 0.1:
        method = draw.choice(("GET", "PUT", "DELETE", "TRACE", "X" * 30))
    if draw.random() < 0.1:
        path = draw.choice(PATHS)
    if draw.random() < 0.1:
        name = draw.choice(
            (
                "host",
                "content-type",
                "content-length",
                "content-encoding",
                "authorization",
                "x-forwarded-for",
            )
        )
        headers[name] = draw.choice(VALUES)
    return method, path, body, headers


def faults(answer: Answer) -> list[str]:
    """What is wrong with an answer, whatever was asked."""
    found = []
    if answer.status >= 500:
        found.append(f"status {answer.status}")
    if not 200 <= answer.status < 600:
        found.append(f"no status: {answer.status}")
    if answer.status >= 400:
        found += [f"an internal: {word!r}" for word in INTERNALS if word in answer.body]
    if answer.headers["content-type"] == "application/json" and answer.body:
        told = json.loads(answer.body)
        if answer.status >= 400 and set(told) != {"error", "detail", "request_id"}:
            found.append("another kind of error")
        reasons = {row["reason"] for row in told.get("answers", ())} | {told.get("reason")}
        if "internal_failure" in reasons:
            found.append("an internal failure")
    return found
