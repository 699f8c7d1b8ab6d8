"""Broken requests in this process (20,000 in `make faults`): no 5xx, no internals."""

import asyncio
import random
from collections import Counter

from realloc.console.app import make_console
from tests.console.asking import get, visit_async
from tests.console.conftest import HOSTS
from tests.console.fuzz import draw_request, faults

COUNT = 500


def fuzz(app, count, seed):
    """Statuses, and whatever was wrong."""
    draw = random.Random(seed)
    statuses = Counter()
    found = []

    async def run():
        for _ in range(count):
            asked = draw_request(draw)
            shown = await visit_async(app, *asked)
            statuses[shown.status] += 1
            found.extend((fault, asked) for fault in faults(shown))

    asyncio.run(run())
    return statuses, found


def test_no_broken_request_breaks_the_console(source):
    before = source.ledger.numbers()
    app = make_console(source, None, HOSTS)
    statuses, found = fuzz(app, COUNT, 0)
    assert found == []
    assert {200, 404, 405, 421, 422} <= set(statuses)  # the requests were of many kinds
    assert get(app, "/").status == 200
    assert source.ledger.numbers() == before  # nobody logged in, so nothing was written


def test_the_fuzz_finds_a_planted_fault(source, monkeypatch):
    """The negative control: with a guard gone the same requests do find something."""
    monkeypatch.setattr(
        "realloc.console.selection._number", lambda given, name: int(given.get(name) or 1)
    )
    assert fuzz(make_console(source, None, HOSTS), 200, 0)[1]
