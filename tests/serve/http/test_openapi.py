"""The OpenAPI document in the repository is the one that the service sends."""

import json
import os
from pathlib import Path

from tests.serve.http.asking import ask, open_app


def test_the_document_is_the_one_in_the_repository(made):
    """To write a new one, run this test with REALLOC_WRITE_OPENAPI=1."""
    kept = Path(__file__).parents[3] / "docs" / "openapi.json"
    found = (
        json.dumps(ask(open_app(made), "/openapi.json").json, indent=1, ensure_ascii=False)
        + "\n"
    )
    if os.environ.get("REALLOC_WRITE_OPENAPI"):
        kept.write_text(found)
    assert kept.read_text() == found
