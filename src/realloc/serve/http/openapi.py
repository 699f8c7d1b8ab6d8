"""The OpenAPI document of the running service: rows have the columns of the model in service."""

from typing import Any

from realloc.base.version import __version__
from realloc.decide.types import REASONS
from realloc.serve.http.config import ServeConfig
from realloc.serve.http.versions import Current

Table = dict[str, Any]

STATUSES = {
    400: "The body is no JSON of ours.",
    401: "No valid token.",
    403: "Requests may not bring constraints here.",
    405: "Another method is expected.",
    408: "The body took too long.",
    413: "The body or the number of rows is too large.",
    415: "The body is not plain application/json.",
    421: "The Host header names another service.",
    422: "A row or key cannot be read.",
    429: "Too much is waiting; see Retry-After.",
    503: "No answer can be given now; keep the mix.",
}


def describe(current: Current | None, config: ServeConfig) -> Table:
    """The whole document."""
    row = _row(current)
    rows = {"type": "array", "items": row, "minItems": 1, "maxItems": config.rows}
    many = rows | {"maxItems": config.batch_rows}
    constraints = {"constraints": {"type": "object"}} if config.constraints else {}
    share = (
        {name: {"type": "number", "minimum": 0, "maximum": 1} for name in current.schema.channels}
        if current
        else {}
    )
    to = {
        "type": "object",
        "properties": share,
        "required": list(share),
        "additionalProperties": False,
    }
    asked = {
        "/v1/recommend": ("Shares and money for a few rows", {"rows": rows}, constraints),
        "/v1/batch": ("Shares and money for many rows", {"rows": many}, constraints),
        "/v1/explain": ("Why a row is moved or kept", {"row": row}, constraints),
        "/v1/field": ("What a little more of each channel is worth", {"rows": rows}, {}),
        "/v1/whatif": (
            "What going to given shares is worth",
            {"rows": rows, "to": {"oneOf": [to, {"type": "array", "items": to}]}},
            {},
        ),
    }
    told = {
        "/healthz": ("Whether the process runs", "200"),
        "/readyz": ("Whether a checked version answers", "503"),
        "/version": ("Which version answers", "401"),
        "/metrics": ("Prometheus metrics", "401"),
        "/openapi.json": ("This document", "401"),
    }
    paths = {path: {"post": _post(*parts)} for path, parts in asked.items()}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "ReAlloc",
            "version": __version__,
            "description": "Budget moves between channels, one version each.",
        },
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {
                "Problem": _problem(),
                "Reason": {"type": "string", "enum": sorted(REASONS)},
            },
        },
        "security": [{"token": []}],
        "paths": paths | {path: {"get": _get(*parts)} for path, parts in told.items()},
    }


def _row(current: Current | None) -> Table:
    if current is None:
        return {"type": "object"}
    schema = current.schema
    texts = (
        set(schema.categorical or ())
        if current.scorer is None
        else set(current.scorer.state.encoder.categories)
    )
    kinds: Table = {
        schema.unit: {"type": ["string", "integer"]},
        schema.time: {"type": "string", "description": "2026-11-16 or 2026-11-16T09:30:00"},
        **{name: {"type": "number", "minimum": 0} for name in schema.channels},
    }
    kinds |= {schema.budget: {"type": "number", "minimum": 0}} if schema.budget else {}
    kinds |= {schema.currency: {"type": ["string", "null"]}} if schema.currency else {}
    for name in schema.features or ():
        kinds[name] = {
            "type": ["string", "null"] if name in texts else ["number", "boolean", "string", "null"]
        }
    return {
        "type": "object",
        "properties": kinds,
        "required": list(kinds),
        "additionalProperties": False,
    }


def _problem() -> Table:
    text = {"type": "string"}
    properties = {"error": text, "detail": {"type": "array", "items": text}, "request_id": text}
    return {"type": "object", "properties": properties, "required": list(properties)}


def _post(summary: str, required: Table, optional: Table) -> Table:
    body = {
        "type": "object",
        "properties": required | optional,
        "required": list(required),
        "additionalProperties": False,
    }
    answer = {
        "type": "object",
        "properties": {
            "version": {"type": "integer"},
            "model": {"type": "string"},
            "request_id": {"type": "string"},
        },
        "required": ["version", "model", "request_id"],
    }
    problem = {"application/json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    refused = {
        str(status): {"description": text, "content": problem} for status, text in STATUSES.items()
    }
    return {
        "summary": summary,
        "requestBody": {"required": True, "content": {"application/json": {"schema": body}}},
        "responses": {
            "200": {"description": summary, "content": {"application/json": {"schema": answer}}}
        }
        | refused,
    }


def _get(summary: str, further: str) -> Table:
    responses = {"200": {"description": summary}} | {
        further: {"description": "Not now, or not without a token."}
    }
    return {"summary": summary, "responses": responses | {"421": {"description": STATUSES[421]}}}
