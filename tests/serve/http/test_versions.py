"""New versions are swapped in while requests run; a bad one leaves the old one in service."""

import os
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime, timedelta

import pytest

from realloc.serve.http import versions as module
from realloc.serve.http.records import Records
from realloc.storage.store import Store
from realloc.storage.store import store as opening
from realloc.storage.store.head import Head, read_head
from tests.serve.http.asking import ask, call, open_app, real_server, some_rows
from tests.small import student_of

ROWS = {"rows": some_rows(2)}


def damage(store, number):
    path = next(store.path.glob(f"versions/{number:08d}-*/model/weights.safetensors"))
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def test_a_new_version_is_taken_over(own):
    app, store = open_app(own), Store(own)
    assert ask(app, "/v1/recommend", ROWS).json["version"] == 2
    store.rollback(to=1)
    assert app.versions.look()
    assert ask(app, "/v1/recommend", ROWS).json["version"] == 3
    assert not app.versions.look()
    assert b"realloc_swaps_total 2.0" in ask(app, "/metrics").body


def test_a_bad_version_leaves_the_old_one_in_service_and_is_told(own):
    app, store = open_app(own), Store(own)
    store.rollback(to=1)
    damage(store, 3)
    assert not app.versions.look()
    assert ask(app, "/v1/recommend", ROWS).json["version"] == 2
    told = ask(app, "/readyz")
    assert (told.status, told.json["version"], told.json["problem"]) == (
        200,
        2,
        "version 3 cannot be used",
    )
    metrics = ask(app, "/metrics").body
    assert b"realloc_bad_versions_total 1.0" in metrics
    assert b"realloc_newest_version 3.0" in metrics
    app.versions.look()
    assert b"realloc_bad_versions_total 1.0" in ask(app, "/metrics").body  # counted once
    store.rollback(to=2)
    assert app.versions.look()
    assert ask(app, "/readyz").json["problem"] is None


def test_neither_is_one_with_strangers_another_digest_or_format_taken(own):
    app, store = open_app(own), Store(own)
    store.rollback(to=1)
    head = read_head(own)
    stranger = next(own.glob("versions/00000003-*")) / "x.pkl"
    stranger.touch()
    assert not app.versions.look()
    stranger.unlink()
    (own / "HEAD").write_bytes(Head(3, head.digest[:8] + "0" * 56).line())
    assert not app.versions.look()
    (own / "HEAD").write_bytes(head.line())
    (own / "FORMAT").write_bytes(b"3\n")
    app.versions._failed = None
    assert not app.versions.look()
    (own / "FORMAT").write_bytes(b"2\n")
    app.versions._failed = None
    assert app.versions.look()  # the negative control: nothing else was wrong


def test_a_bad_version_is_not_read_again_at_every_look(own, monkeypatch):
    app, real, read = open_app(own), module.load_version, []
    damage(Store(own), 2)
    Store(own).rollback(to=1)
    damage(Store(own), 3)
    monkeypatch.setattr(
        module, "load_version", lambda *asked: read.append(asked) or real(*asked)
    )
    for _ in range(3):
        assert not app.versions.look()
    assert len(read) == 1
    monkeypatch.setattr(module, "RETRY_SECONDS", 0.0)
    app.versions.look()
    assert len(read) == 2
    assert (
        b"realloc_bad_versions_total 1.0" in ask(app, "/metrics").body
    )  # but it is still the same


def test_a_log_that_fails_does_not_end_the_following(own, monkeypatch):
    monkeypatch.setattr(Records, "look", lambda _: 1 / 0)
    app = open_app(own, poll_seconds=0.02)
    time.sleep(0.2)
    Store(own).rollback(to=1)
    for _ in range(100):
        if app.versions.current.record.number == 3:
            break
        time.sleep(0.05)
    assert app.versions.current.record.number == 3
    app.versions.stop()


def test_a_version_whose_canary_dies_is_not_taken(own, monkeypatch):
    app, store = open_app(own), Store(own)
    store.rollback(to=1)
    with monkeypatch.context() as patch:
        real = opening.open_saved

        def other(saved):
            model = real(saved)
            student_of(model).directions[:] *= 1.01  # it computes something else
            return model

        patch.setattr(opening, "open_saved", other)
        assert not app.versions.look()
    assert ask(app, "/v1/recommend", ROWS).json["version"] == 2
    app.versions._failed = None
    assert app.versions.look()  # the negative control: the same version without the fault


def test_a_store_whose_model_is_broken_still_keeps_every_mix(own):
    store = Store(own)
    damage(store, 2)
    app = open_app(own)
    assert ask(app, "/readyz").status == 503
    found = ask(app, "/v1/recommend", ROWS)
    assert (found.status, {a["reason"] for a in found.json["answers"]}) == (
        200,
        {"no_model"},
    )
    old = open_app(
        own, max_age_days=1.0, clock=lambda: datetime.now(UTC) + timedelta(days=9)
    )
    assert (
        ask(old, "/v1/recommend", ROWS).json["answers"][0]["reason"] == "no_model"
    )  # which says more than its age
    store.rollback(to=1)
    assert app.versions.look()
    assert ask(app, "/readyz").status == 200


def test_without_any_version_the_answer_is_to_keep_the_mix_and_try_later(tmp_path):
    app = open_app(tmp_path)
    found = ask(app, "/v1/recommend", ROWS)
    assert (found.status, found.json["error"], found.headers["retry-after"]) == (
        503,
        "no_model",
        "5",
    )
    assert ask(app, "/readyz").status == 503
    assert ask(app, "/openapi.json").status == 200


def test_serving_a_store_loads_no_training_code(made):
    code = (
        "import sys; from pathlib import Path; import realloc.cli.main;"
        "from realloc.serve.http.server import make_app, Address;"
        "from realloc.serve.http.config import ServeConfig;"
        "app = make_app(Path(sys.argv[1]), ServeConfig(), Address());"
        "assert app.versions.current.model;"
        "heavy = {'torch', 'lightgbm', 'sklearn', 'scipy.stats', 'scipy.optimize'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, made], capture_output=True, check=True, text=True
    )
    assert ran.stdout.strip() == "[]"


@pytest.mark.slow
def test_swaps_under_load_fail_no_request(own):
    store = Store(own)
    (own.parent / "serve.toml").write_text("[serve]\npoll_seconds = 0.05\n")
    with real_server(own, "--config", str(own.parent / "serve.toml"), "--quiet") as (
        port,
        process,
        log,
    ):
        found: list[tuple[int, int]] = []
        stop = threading.Event()

        def load():
            while not stop.is_set():
                reply = call(port, "/v1/recommend", ROWS)
                found.append((reply.status, reply.json.get("version", 0)))

        threads = [threading.Thread(target=load) for _ in range(2)]
        for thread in threads:
            thread.start()
        for number in range(3, 7):
            store.rollback(to=1 + number % 2)
            while max(version for _, version in [(0, 0), *found[-8:]]) < number:
                assert process.poll() is None
        stop.set()
        for thread in threads:
            thread.join()
        assert {status for status, _ in found} == {200}
        assert {version for _, version in found} <= {2, 3, 4, 5, 6}
        assert found[-1][1] == 6
    assert process.returncode == 0
    assert "Traceback" not in log.read_text()
    assert os.environ.get("REALLOC_TOKEN") is None
