"""Under overload the service refuses requests at once, and answers the others."""

import asyncio
import json
import threading
import time
from dataclasses import replace

import pytest

from realloc import ReAlloc
from realloc.serve.http import queue
from realloc.serve.http.answers import Answers
from realloc.storage.store import Store
from tests.serve.http.asking import ask_async, open_app, some_rows

HEADERS = {"host": "localhost", "content-type": "application/json"}


def body(rows=1):
    return json.dumps({"rows": some_rows(rows)}).encode()


def post(app, content, route="recommend"):
    return ask_async(app, "POST", f"/v1/{route}", content, HEADERS)


def count_decisions(monkeypatch):
    """How many rows were decided on at once, call by call."""
    sizes, real = [], ReAlloc.decide
    monkeypatch.setattr(
        ReAlloc,
        "decide",
        lambda self, logs, *a: sizes.append(len(logs)) or real(self, logs, *a),
    )
    return sizes


@pytest.fixture
def slow(monkeypatch):
    """A scorer that waits in the queue's threads until it is let go; the canary does not wait."""
    let_go = threading.Event()
    real = ReAlloc.decide

    def wait(self, *asked):
        if threading.current_thread().name.startswith("scorer"):
            let_go.wait(20)
        return real(self, *asked)

    monkeypatch.setattr(ReAlloc, "decide", wait)
    return let_go


def together(app, count, let_go, after=0.3):
    """Many requests at once; the scorer is let go a little later."""

    async def run():
        asyncio.get_running_loop().call_later(after, let_go.set)
        begun = time.monotonic()

        async def one():
            found = await ask_async(app, "POST", "/v1/recommend", body(), HEADERS)
            return found, time.monotonic() - begun

        return await asyncio.gather(*(one() for _ in range(count)))

    return asyncio.run(run())


def test_what_does_not_fit_into_the_queue_is_refused_at_once(made, slow):
    app = open_app(made, waiting_requests=5, rows_at_once=1, scorers=1)
    found = together(app, 20, slow)
    answered = [a for a, _ in found if a.status == 200]
    away = [(a, took) for a, took in found if a.status == 429]
    assert len(answered) + len(away) == 20
    assert 5 <= len(answered) <= 6  # five wait, and one may be in work
    assert all(a.headers["retry-after"] == "1" and took < 0.3 for a, took in away)


def test_rows_that_wait_are_bounded_too(made, slow):
    app = open_app(made, waiting_rows=4, batch_rows=4, rows_at_once=1, scorers=1)
    statuses = [a.status for a, _ in together(app, 20, slow)]
    assert 4 <= statuses.count(200) <= 5
    assert statuses.count(429) == 20 - statuses.count(200)


def test_who_waits_too_long_is_told_to_come_again_and_costs_nothing_more(
    made, slow, monkeypatch
):
    app = open_app(made, answer_seconds=0.2, rows_at_once=1, scorers=1)
    sizes = count_decisions(monkeypatch)
    found = together(app, 3, slow, after=0.6)
    slow.set()
    assert {a.status for a, _ in found} == {503}
    assert {a.json["error"] for a, _ in found} == {"too_busy"}
    assert all(a.headers["retry-after"] == "2" for a, _ in found)
    app.queue.config = replace(app.config, answer_seconds=20.0)
    assert (
        together(app, 1, slow)[0][0].status == 200
    )  # though nobody was there to take the others' answers
    assert len(sizes) <= 2  # this one, and the one that was in work


def test_bytes_that_wait_are_bounded_too(made, slow, monkeypatch):
    app = open_app(made, rows_at_once=1, scorers=1)
    monkeypatch.setattr(queue, "MAX_BYTES", 4 * len(body()))
    statuses = [a.status for a, _ in together(app, 20, slow)]
    assert 4 <= statuses.count(200) <= 5
    assert statuses.count(429) == 20 - statuses.count(200)


def test_no_more_rows_are_scored_at_once_than_allowed(made, slow, monkeypatch):
    app, sizes = open_app(made, rows_at_once=3), count_decisions(monkeypatch)
    assert {a.status for a, _ in together(app, 12, slow)} == {200}
    assert max(sizes) <= 3


REAL_DECIDE = ReAlloc.decide


def inside_at_once(monkeypatch, app, count, seconds=0.3):
    """The most threads that decided at the same time while some requests came one by one."""
    lock = threading.Lock()
    inside = most = 0
    real = REAL_DECIDE

    def stay(self, *asked):
        nonlocal inside, most
        with lock:
            inside += 1
            most = max(most, inside)
        time.sleep(seconds)
        with lock:
            inside -= 1
        return real(self, *asked)

    async def one(number):
        await asyncio.sleep(0.02 * number)
        return await post(app, body())

    async def run():
        return await asyncio.gather(*(one(number) for number in range(count)))

    monkeypatch.setattr(ReAlloc, "decide", stay)
    found = asyncio.run(run())
    assert {a.status for a in found} == {200}
    assert len({str(a.json["answers"]) for a in found}) == 1
    return most


def test_a_second_thread_scores_where_a_full_turn_waits_and_not_before(made, monkeypatch):
    assert inside_at_once(monkeypatch, open_app(made, rows_at_once=2), 8) == 2
    assert inside_at_once(monkeypatch, open_app(made, rows_at_once=2, scorers=1), 8) == 1
    assert inside_at_once(monkeypatch, open_app(made, rows_at_once=256), 8) == 1


def test_a_thread_that_fails_is_free_again(made, monkeypatch):
    app = open_app(made, rows_at_once=256)
    with monkeypatch.context() as patch:
        patch.setattr(Answers, "respond", lambda *_: 1 / 0)
        assert [asyncio.run(post(app, body())).status for _ in range(3)] == [503] * 3
    for _ in range(200):  # the answer is given a moment before the thread is free
        if app.queue._busy == 0:
            break
        time.sleep(0.01)
    assert app.queue._busy == 0
    assert asyncio.run(post(app, body())).status == 200


@pytest.mark.parametrize("why", ["a cap over all rows", "lags"])
def test_requests_whose_rows_see_each_other_are_scored_alone(made, slow, monkeypatch, why):
    app, sizes = open_app(made), count_decisions(monkeypatch)
    scorer = app.versions.current.model
    if (
        why == "lags"
    ):  # what a model with lags remembers is of no use to this one, so it is asked for nothing
        scorer.state = replace(
            scorer.state, encoder=replace(scorer.state.encoder, history=object())
        )
    else:
        capped = replace(scorer.config.constraints, largest_move_per_day=0.5)
        scorer.config = replace(scorer.config, constraints=capped)
    together(app, 6, slow)
    assert sizes == [1] * 6


def test_after_the_end_nobody_waits_and_before_it_all_are_answered(made, slow, monkeypatch):
    app, sizes, found = open_app(made), count_decisions(monkeypatch), []
    client = threading.Thread(
        target=lambda: found.append(asyncio.run(post(app, body())).status)
    )
    client.start()
    for _ in range(200):
        if sizes:
            break
        time.sleep(0.02)
    threading.Timer(0.2, slow.set).start()
    app.queue.stop()
    assert slow.is_set()  # what was under way was waited for
    client.join()
    assert found == [200]
    begun = time.monotonic()
    assert asyncio.run(post(app, body())).status == 429
    assert time.monotonic() - begun < 5


def test_nothing_ends_the_thread_that_scores(made, monkeypatch):
    app = open_app(made, answer_seconds=1.0)
    with monkeypatch.context() as patch:
        patch.setattr(Answers, "_respond", lambda *_: 1 / 0)
        found = asyncio.run(post(app, body()))
    assert (found.status, found.json["error"]) == (503, "internal_failure")
    assert asyncio.run(post(app, body())).status == 200


def test_an_answer_that_nobody_waits_for_is_dropped():
    async def run():
        loop = asyncio.get_running_loop()
        gone = loop.create_future()
        gone.cancel()
        queue.QueuedRequest("recommend", b"", 1, 0.0, gone)._set(b"late")

    asyncio.run(run())


def test_an_answer_comes_from_the_version_that_its_rows_were_read_for(own, monkeypatch):
    app = open_app(own)
    real = Answers._parse

    def swap(*asked):
        request = real(*asked)
        Store(own).rollback(to=1)
        assert app.versions.look()
        return request

    monkeypatch.setattr(Answers, "_parse", swap)
    assert asyncio.run(post(app, body())).json["version"] == 2


def test_requests_that_wait_together_are_scored_together_and_answered_alike(
    made, slow, monkeypatch
):
    app, sizes = open_app(made), count_decisions(monkeypatch)
    found = together(app, 12, slow)
    assert {a.status for a, _ in found} == {200}
    assert max(sizes) > 1
    assert sum(sizes) == 12
    assert len({str(a.json["answers"]) for a, _ in found}) == 1


def test_a_bad_request_among_others_spoils_none(made, slow):
    app = open_app(made)

    async def run():
        asyncio.get_running_loop().call_later(0.3, slow.set)
        bodies = [body(), b"{", body(2), b'{"rows": []}', body()]
        return await asyncio.gather(
            *(ask_async(app, "POST", "/v1/recommend", b, HEADERS) for b in bodies)
        )

    assert [a.status for a in asyncio.run(run())] == [200, 400, 200, 422, 200]


def test_so_does_one_that_is_refused_when_it_is_answered(made, slow):
    app = open_app(made)
    bad = body().replace(b'"ads": ', b'"ads": 7')

    async def run():
        asyncio.get_running_loop().call_later(0.3, slow.set)
        first = asyncio.create_task(post(app, body()))
        await asyncio.sleep(0.1)
        others = (post(app, body()), post(app, bad, "field"), post(app, body()))
        return await asyncio.gather(first, *others)

    assert [a.status for a in asyncio.run(run())] == [200, 200, 422, 200]


def test_a_body_that_does_not_arrive_is_given_up(made):
    app = open_app(made, body_seconds=0.2)

    async def run():
        sent = []

        async def receive():
            await asyncio.sleep(5)

        async def send(message):
            sent.append(message)

        scope = {"type": "http", "method": "POST", "path": "/v1/recommend"}
        scope["headers"] = [(k.encode(), v.encode()) for k, v in HEADERS.items()]
        await app(scope, receive, send)
        return sent[0]["status"]

    assert asyncio.run(run()) == 408


def test_poison_among_requests_that_are_scored_together_spoils_only_itself(
    made, slow, monkeypatch
):
    app, wait = open_app(made), ReAlloc.decide
    sizes = []

    def choke(self, logs, *asked):
        sizes.append(len(logs))
        if "poison" in logs.units.to_pylist():
            raise RuntimeError
        return wait(self, logs, *asked)

    monkeypatch.setattr(ReAlloc, "decide", choke)
    bad = body().replace(some_rows(1)[0]["item_id"].encode(), b"poison")

    async def run():
        asyncio.get_running_loop().call_later(0.3, slow.set)
        first = asyncio.create_task(
            ask_async(app, "POST", "/v1/recommend", body(), HEADERS)
        )
        await asyncio.sleep(0.1)
        asked = (
            ask_async(app, "POST", "/v1/recommend", b, HEADERS)
            for b in (body(), bad, body())
        )
        return await asyncio.gather(first, *asked)

    found = [a.json["answers"][0]["reason"] for a in asyncio.run(run())]
    assert found[2] == "internal_failure"
    assert "internal_failure" not in (found[0], found[1], found[3])
    assert 3 in sizes  # they were scored together first
