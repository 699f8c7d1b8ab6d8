"""Broken requests in this process (100,000 in `make faults`): no 5xx, no internals, no hang."""

import asyncio
import json
import random
from collections import Counter

import pytest

from tests.serve.http.asking import ask, ask_async, open_app, some_rows
from tests.serve.http.fuzz import draw_request, faults

COUNT = 800


def fuzz(app, count, seed):
    """Statuses, and whatever was wrong."""
    draw, statuses, found = random.Random(seed), Counter(), []

    async def run():
        for _ in range(count):
            asked = draw_request(draw)
            answer = await ask_async(app, *asked)
            statuses[answer.status] += 1
            found.extend((fault, asked) for fault in faults(answer))

    asyncio.run(run())
    return statuses, found


def test_no_broken_request_breaks_the_service(made):
    app = open_app(made, constraints=True, max_age_days=0.0)
    statuses, found = fuzz(app, COUNT, 0)
    assert found == []
    assert {200, 400, 404, 405, 422} <= set(statuses)  # the requests were of many kinds
    assert statuses[200] > COUNT / 100
    assert b"realloc_internal_failures_total 0.0" in ask(app, "/metrics").body
    assert ask(app, "/healthz").status == 200
    assert ask(app, "/v1/recommend", {"rows": some_rows(2)}).status == 200


@pytest.mark.parametrize(
    ("name", "plant"),
    [
        ("realloc.serve.http.answers.parse", json.loads),
        ("realloc.model.realloc.ReAlloc.decide", lambda *_: 1 / 0),
    ],
    ids=["another parser", "a scorer that fails"],
)
def test_the_fuzz_finds_a_planted_fault(made, monkeypatch, name, plant):
    """The negative control: with a guard gone the same requests do find something."""
    app = open_app(made, constraints=True)
    monkeypatch.setattr(name, plant)
    assert fuzz(app, 120, 0)[1]
