"""One token cannot ask for more than its share of rows a second."""

import pytest

from realloc.serve.http.auth import read_tokens
from realloc.serve.http.http_error import HttpError
from realloc.serve.http.rate import RateLimit
from tests.serve.http.asking import ask, open_app, some_rows


def test_a_bucket_empties_and_fills_and_says_when():
    now = [0.0]
    rate = RateLimit(10.0, 30, lambda: now[0])
    rate.take(0, 30)
    with pytest.raises(HttpError) as refused:
        rate.take(0, 15)
    assert (refused.value.status, dict(refused.value.headers)[b"retry-after"]) == (
        429,
        b"2",
    )
    rate.take(1, 30)  # another token has a bucket of its own
    now[0] = 1.5
    rate.take(0, 15)
    with pytest.raises(HttpError):
        rate.take(0, 1)
    now[0] = 1000.0
    rate.take(0, 30)
    with pytest.raises(HttpError):  # never more than a full bucket
        rate.take(0, 1)


def test_without_a_limit_nothing_is_counted():
    rate = RateLimit(0.0, 10)
    for _ in range(100):
        rate.take(0, 1000)


def test_who_asks_too_fast_is_told_and_others_are_answered(made, tmp_path):
    path = tmp_path / "tokens"
    path.write_text(f"{'one' * 8}\n{'two' * 8}\n")
    path.chmod(0o600)
    app = open_app(made, tokens=read_tokens(path), rows_per_second=0.001, batch_rows=4)
    body = {"rows": some_rows(3)}
    statuses = [
        ask(app, "/v1/recommend", body, authorization=f"Bearer {'one' * 8}")
        for _ in range(2)
    ]
    assert [found.status for found in statuses] == [200, 429]
    assert statuses[1].json["error"] == "too_fast"
    assert int(statuses[1].headers["retry-after"]) > 100
    assert (
        ask(app, "/v1/recommend", body, authorization=f"Bearer {'two' * 8}").status == 200
    )
    assert (
        ask(app, "/version", authorization=f"Bearer {'one' * 8}").status == 200
    )  # only rows are counted
