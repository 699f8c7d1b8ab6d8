"""Error responses hold a code, a sentence and the request's id."""

import json

from realloc.serve.http.http_error import HttpError, internal_failure, too_busy


def test_the_body_is_json_of_three_keys():
    body = json.loads(HttpError(422, "bad_rows", "Expected “a number”.").body("0f"))
    assert body == {
        "error": "bad_rows",
        "detail": ["Expected “a number”."],
        "request_id": "0f",
    }


def test_a_busy_service_says_when_to_come_again():
    assert (too_busy(2, 503).status, too_busy(2, 503).headers) == (
        503,
        ((b"retry-after", b"2"),),
    )
    assert too_busy(1).status == 429


def test_a_failure_says_nothing_of_the_inside():
    error = internal_failure()
    assert (error.status, error.code) == (503, "internal_failure")
    assert error.sentence == "The service failed to answer. Keep the current mix."
