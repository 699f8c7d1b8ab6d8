"""The OpenAPI document of the running service: rows have the columns of the model in service."""

from typing import Any

from realloc.base.version import __version__
from realloc.decide.types import REASONS
from realloc.model.explain import SAME_BUDGET
from realloc.serve.http.config import ServeConfig
from realloc.serve.http.versions import LoadedVersion

Table = dict[str, Any]

STATUSES = {
    400: "The body is not valid JSON, or a header comes twice.",
    401: "No valid token.",
    403: "Requests may not set constraints here.",
    405: "Another method is expected.",
    408: "The body took too long to arrive.",
    413: "The body or the number of rows is too large.",
    415: "The body is not plain application/json.",
    421: "The Host header names another service.",
    422: "A row or key cannot be read.",
    429: "The request queue is full or the rate limit is reached; see Retry-After.",
    503: "No answer can be given now; keep the current mix.",
}
ROUTES = {
    "recommend": "Shares and money for a few rows",
    "batch": "Shares and money for many rows",
    "explain": "Why a row is moved or kept",
    "field": "What a little more of each channel is worth",
    "whatif": "The gain of going to given shares",
}
PAGES = {
    "/healthz": ("Whether the process runs", 421),
    "/readyz": ("Whether a checked version answers", 503),
    "/version": ("Which version answers", 401),
    "/metrics": ("Prometheus metrics", 401),
    "/openapi.json": ("The OpenAPI document", 401),
}
TEXT = {"type": "string"}
ID = {"request_id": TEXT}
AMOUNT = {"type": "number", "minimum": 0}
FEATURES = {
    "number": {"type": ["number", "null"]},
    "flag": {"type": ["boolean", "null"]},
    "date": {"type": ["string", "null"]},
    "text": {"type": ["string", "null"]},
}


def describe(current: LoadedVersion | None, config: ServeConfig) -> Table:
    """Return the whole document."""
    row: Table = {"type": "object"} if current is None else _object(_columns(current))
    channels = current.schema.channels if current else ()
    to = _object(
        {name: {"type": "number", "minimum": 0, "maximum": 1} for name in channels}
    )
    rows = {"type": "array", "items": row, "minItems": 1, "maxItems": config.rows}
    many = rows | {"maxItems": config.batch_rows}
    one = rows | {"maxItems": 1}
    constraints = {"constraints": {"type": "object"}} if config.constraints else {}
    targets = {"oneOf": [to, {"type": "array", "items": to}]}
    bodies: dict[str, tuple[Table, Table]] = {
        "recommend": ({"rows": rows}, constraints),
        "batch": ({"rows": many}, constraints),
        "explain": ({"rows": one}, constraints),
        "field": ({"rows": rows}, {}),
        "whatif": ({"rows": rows, "to": targets}, {}),
    }
    paths: Table = {
        f"/v1/{route}": _post(ROUTES[route], required, optional)
        for route, (required, optional) in bodies.items()
    }
    for path, (summary, status) in PAGES.items():
        responses = {"200": {"description": summary}}
        responses |= {str(code): {"description": STATUSES[code]} for code in (status, 421)}
        paths[path] = {"get": {"summary": summary, "responses": responses}}
    problem = _object({"error": TEXT, "detail": {"type": "array", "items": TEXT}} | ID)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "ReAlloc",
            "version": __version__,
            "description": "How to move budget between channels, row by row. "
            + SAME_BUDGET,
        },
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {
                "Problem": problem,
                "Reason": {"type": "string", "enum": sorted(REASONS)},
            },
        },
        "security": [{"token": []}],
        "paths": paths,
    }


def _columns(current: LoadedVersion) -> Table:
    schema = current.schema
    columns: Table = {
        schema.unit: {"type": ["string", "integer"]},
        schema.time: {"type": "string", "description": "2026-11-16 or 2026-11-16T09:30:00"},
        **dict.fromkeys(schema.channels, AMOUNT),
    }
    if schema.budget:
        columns[schema.budget] = AMOUNT
    if schema.currency:
        columns[schema.currency] = FEATURES["text"]
    return columns | {name: FEATURES[kind] for name, kind in current.types.items()}


def _object(properties: Table, optional: Table | None = None) -> Table:
    return {
        "type": "object",
        "properties": properties | (optional or {}),
        "required": list(properties),
        "additionalProperties": False,
    }


def _post(summary: str, required: Table, optional: Table) -> Table:
    answer = _object({"version": {"type": "integer"}, "model": TEXT} | ID)
    answer["additionalProperties"] = True
    problem = {"$ref": "#/components/schemas/Problem"}
    responses = {"200": {"description": summary} | _content(answer)}
    for status, description in STATUSES.items():
        responses[str(status)] = {"description": description} | _content(problem)
    return {
        "post": {
            "summary": summary,
            "requestBody": {"required": True} | _content(_object(required, optional)),
            "responses": responses,
        }
    }


def _content(schema: Table) -> Table:
    return {"content": {"application/json": {"schema": schema}}}
