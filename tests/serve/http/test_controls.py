"""The checks of the service can fail: each one does once its guard is off."""

import json
import shutil
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import pytest

from realloc.serve.http import answers as http_answers
from realloc.serve.http import app as http_app
from realloc.serve.http.auth import Tokens, read_tokens
from realloc.serve.http.rate import RateLimit
from realloc.serve.http.records import Records
from realloc.serve.http.versions import Versions
from realloc.storage.ledger import Ledger
from realloc.storage.store import Store
from tests.controls import Control, nothing, try_control
from tests.serve.http.asking import ask, make_store, open_app, some_rows
from tests.storage.store.light import NOON


@cache
def _served() -> Path:
    return make_store(Path(mkdtemp(prefix="realloc-controls-")) / "store").path


def served(folder: Path) -> Path:
    shutil.copytree(_served(), folder / "store", ignore=shutil.ignore_patterns("decisions"))
    return folder / "store"


def body_is_refused(body, status=(400, 422), path="/v1/recommend", **settings):
    def check(_):
        content = body() if callable(body) else body
        assert ask(open_app(_served(), **settings), path, content).status in status

    return check


def with_twice_a_key() -> bytes:
    listed = json.dumps(some_rows(1)).encode()
    return b'{"rows": %s, "rows": %s}' % (listed, listed)


def tokens_are_asked_for(folder):
    path = folder / "tokens"
    path.write_text("a" * 32 + "\n")
    path.chmod(0o600)
    app = open_app(_served(), tokens=read_tokens(path))
    body = {"rows": some_rows(1)}
    assert ask(app, "/v1/recommend", body, authorization="Bearer " + "b" * 32).status == 401
    assert ask(app, "/v1/recommend", body, authorization="Bearer " + "a" * 32).status == 200


def rate_is_limited(_):
    app = open_app(_served(), rows_per_second=0.001, batch_rows=4)
    statuses = [ask(app, "/v1/recommend", {"rows": some_rows(3)}).status for _ in range(3)]
    assert statuses == [200, 429, 429]


def other_hosts_are_refused(_):
    assert ask(open_app(_served()), "/healthz", host="evil.example").status == 421


def reasons(app) -> set[str]:
    answer = ask(app, "/v1/recommend", {"rows": some_rows(3)}).json
    return {row["reason"] for row in answer["answers"]}


def frozen_service_keeps_every_mix(folder):
    path = served(folder)
    Store(path).freeze("a test")
    assert reasons(open_app(path)) == {"frozen"}


def stale_models_keep_every_mix(_):
    late = NOON.replace(year=2099)
    assert reasons(open_app(_served(), clock=lambda: late, max_age_days=7.0)) == {
        "stale_model"
    }


def answers_are_written_down(folder):
    path = served(folder)
    app = open_app(path)
    ask(app, "/v1/recommend", {"rows": some_rows(3)})
    app.queue.stop()
    assert sum(entry.rows for entry in Ledger(path / "decisions").entries()) == 3


def parse_what_is_known(body):
    """As readers do that pass over keys they do not know."""
    return {"rows": json.loads(body)["rows"]}


CONTROLS = {
    "a key twice": Control(
        body_is_refused(with_twice_a_key), http_answers, "parse", json.loads
    ),
    "unknown keys": Control(
        body_is_refused(lambda: {"rows": some_rows(1), "more": 1}),
        http_answers,
        "parse",
        parse_what_is_known,
    ),
    "tokens": Control(tokens_are_asked_for, Tokens, "find", lambda *_: 0),
    "rate": Control(rate_is_limited, RateLimit, "take", nothing),
    "hosts": Control(other_hosts_are_refused, http_app, "host_of", lambda _: "localhost"),
    "freeze, service": Control(
        frozen_service_keeps_every_mix, Versions, "is_frozen", lambda _: False
    ),
    "age": Control(stale_models_keep_every_mix, Versions, "is_stale", lambda _: False),
    "decision log": Control(answers_are_written_down, Records, "keep", nothing),
}


@pytest.mark.parametrize("name", CONTROLS)
def test_a_check_fails_once_its_guard_is_off(tmp_path, name):
    try_control(CONTROLS[name], tmp_path)
