"""What the service answers is in the decision log first, and can be decided again to the bit."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from realloc import ReAlloc
from realloc.base.errors import ConfigError, LedgerError
from realloc.monitor.redecide import audit
from realloc.serve.http.config import ServeConfig
from realloc.serve.http.records import Records
from realloc.serve.http.server import Address, make_app
from realloc.storage.ledger import Ledger
from realloc.storage.ledger.journal import Recorder, recover
from realloc.storage.store import Store
from tests.serve.http.asking import ask, call, open_app, real_server, some_rows
from tests.small import CONFIG, window

KILLS = int(os.environ.get("REALLOC_SERVICE_KILLS", "2"))


def logged(store):
    """All rows of the log, and what an audit says of them."""
    ledger = Ledger(store / "decisions")
    recover(ledger)
    ledger.verify()
    rows = [
        row
        for entry in ledger.entries()
        for table in ledger.read(entry)
        for row in table.to_pylist()
    ]
    return rows, list(audit(Store(store), ledger))


def test_every_answer_is_written_down_and_decided_again_alike(own):
    app = open_app(own)
    answers = [
        ask(app, "/v1/recommend", {"rows": some_rows(20)[first : first + 5]}).json[
            "answers"
        ]
        for first in (0, 5, 10)
    ]
    answers.append(ask(app, "/v1/batch", {"rows": some_rows(20)[15:]}).json["answers"])
    app.queue.stop()
    rows, replays = logged(own)
    told = [one for part in answers for one in part]
    assert [
        (row["unit"], row["reason"], row["gain"], row["share_ads"]) for row in rows
    ] == [(one["unit"], one["reason"], one["gain"], one["shares"]["ads"]) for one in told]
    assert any(one["moved"] for one in told)
    assert sum(one.rows for one in replays) == 20
    assert [(one.differ, one.problem) for one in replays] == [(0, None)] * len(replays)
    assert {entry.kind for entry in Ledger(own / "decisions").entries()} == {"service"}


def test_rows_of_two_threads_stand_in_the_entry_that_says_how_they_were_decided(own):
    """Constraints change with every request, so each thread wants a new entry every time."""
    app = open_app(own, constraints=True, rows_at_once=1)
    limits = [None, {"largest_move": 0.01}, {"largest_move": 0.05}]

    def one(number):
        limit = limits[number % 3]
        asked = {"rows": some_rows(8)[number % 8 :][:1]} | (
            {} if limit is None else {"constraints": limit}
        )
        return ask(app, "/v1/recommend", asked).status

    with ThreadPoolExecutor(6) as pool:
        assert set(pool.map(one, range(36))) == {200}
    app.queue.stop()
    rows, replays = logged(own)
    assert len(rows) == 36
    assert sum(one.rows for one in replays) == 36
    assert {(one.differ, one.problem) for one in replays} == {(0, None)}


def test_rows_that_see_each_other_are_audited_as_they_were_asked(tmp_path):
    store, lags = (
        Store(tmp_path / "store"),
        replace(CONFIG, features=replace(CONFIG.features, lags=2)),
    )
    store.commit(ReAlloc(lags, quiet=True).fit(window()), window())
    app = open_app(store.path)
    for first in (0, 4, 8):
        ask(app, "/v1/recommend", {"rows": some_rows(12)[first : first + 4]})
    app.queue.stop()
    rows, replays = logged(store.path)
    assert len({row["run"] for row in rows}) == 3
    assert [(one.rows, one.differ, one.problem) for one in replays] == [(12, 0, None)]


def test_ids_of_both_types_stand_in_one_log(own):
    """Once found by fuzzing: rows of other types made no entry, and then every mix was kept."""
    app = open_app(own)
    for unit in ("a", 7, "b"):
        ask(app, "/v1/recommend", {"rows": [some_rows(1)[0] | {"item_id": unit}]})
    app.queue.stop()
    rows, replays = logged(own)
    assert {row["unit"] for row in rows} == {"a", "7", "b"}
    assert sum(one.rows for one in replays) == 3
    assert {(one.differ, one.problem) for one in replays} == {(0, None)}
    assert Ledger(own / "decisions").dataset().count_rows() == 3


def test_rows_that_cannot_be_read_are_written_down_too(own):
    app, bad = open_app(own), some_rows(1)[0] | {"ads": 0.9}
    ask(app, "/v1/recommend", {"rows": [bad]})
    app.queue.stop()
    rows, replays = logged(own)
    assert [(row["reason"], row["inputs"]) for row in rows] == [("bad_input", None)]
    assert [(one.rows, one.differ, one.problem) for one in replays] == [(0, 0, None)]


def test_kept_mixes_and_constraints_have_entries_of_their_own(own):
    app = open_app(own, constraints=True)
    ask(app, "/v1/recommend", {"rows": some_rows(3)})
    ask(app, "/v1/recommend", {"rows": some_rows(3), "constraints": {"largest_move": 0.01}})
    Store(own).freeze("looks odd")
    assert {
        a["reason"]
        for a in ask(app, "/v1/recommend", {"rows": some_rows(3)}).json["answers"]
    } == {"frozen"}
    app.queue.stop()
    rows, replays = logged(own)
    assert [row["reason"] for row in rows[6:]] == ["frozen"] * 3
    assert all(abs(row["moved_share"]) <= 0.01 + 1e-9 for row in rows[3:6])
    assert [(one.rows, one.differ, one.problem) for one in replays] == [(3, 0, None)] * 3


def test_mixes_kept_for_other_reasons_are_audited_too(own):
    app = open_app(
        own, max_age_days=3.0, clock=lambda: datetime.now(UTC) + timedelta(days=9)
    )
    assert {
        a["reason"]
        for a in ask(app, "/v1/recommend", {"rows": some_rows(3)}).json["answers"]
    } == {"stale_model"}
    app.queue.stop()
    assert [(one.rows, one.differ, one.problem) for one in logged(own)[1]] == [(3, 0, None)]


def test_what_cannot_be_written_down_moves_nothing(own, monkeypatch):
    app = open_app(own)
    before = ask(app, "/v1/recommend", {"rows": some_rows(10)}).json["answers"]
    assert any(one["moved"] for one in before)

    with monkeypatch.context() as patch:
        patch.setattr(Recorder, "write", full)
        found = ask(app, "/v1/recommend", {"rows": some_rows(10)})
    assert found.status == 200
    assert {(one["moved"], one["reason"]) for one in found.json["answers"]} == {
        (False, "internal_failure")
    }
    assert b"realloc_recorded_rows_total 10.0" in ask(app, "/metrics").body
    again = ask(app, "/v1/recommend", {"rows": some_rows(10)}).json["answers"]
    assert again == before


def test_without_the_log_nothing_is_written(own):
    app = open_app(own, record=False)
    assert ask(app, "/v1/recommend", {"rows": some_rows(3)}).status == 200
    app.queue.stop()
    assert not (own / "decisions").exists()


def test_a_log_that_cannot_be_written_is_said_at_the_start(own):
    (own / "decisions").write_text("in the way")
    with pytest.raises(ConfigError, match=r"decision log.*record = false"):
        make_app(own, ServeConfig(), Address())


def test_so_is_one_that_its_user_may_not_write(own, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)  # as for any user but root
    with pytest.raises(ConfigError, match=r"decision log.*no permission"):
        make_app(own, ServeConfig(), Address())


def test_what_a_killed_service_left_is_an_entry_when_the_next_one_starts(own, monkeypatch):
    ask(open_app(own), "/v1/recommend", {"rows": some_rows(3)})
    monkeypatch.setattr(
        "realloc.storage.ledger.journal.lock_descriptor", lambda *_, **__: True
    )  # the other one is gone
    make_app(
        own, ServeConfig(), Address()
    ).versions.stop()  # or its thread would look at the disk during other tests
    assert [entry.rows for entry in Ledger(own / "decisions").entries()] == [3]


def test_rows_that_have_waited_long_enough_become_an_entry(own):
    app = open_app(own)
    ask(app, "/v1/recommend", {"rows": some_rows(3)})
    app.versions.records.look()
    assert Ledger(own / "decisions").numbers() == []
    app.versions.records._recorder.most_seconds = 0.0
    app.versions.records.look()
    assert Ledger(own / "decisions").numbers() == [1]


def test_a_log_that_fails_at_the_end_fails_nobody(own, monkeypatch):
    app = open_app(own)
    ask(app, "/v1/recommend", {"rows": some_rows(3)})
    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "append", full)
        app.queue.stop()
    assert len(logged(own)[0]) == 0  # this process still holds the journal
    app.versions.records.close()
    assert len(logged(own)[0]) == 3


def full(*_):
    raise LedgerError("No space left.")


def ask_until_killed(store, after):
    """Three clients ask a real service until it is killed; what they were answered."""
    answered, rows = [], some_rows(40)
    with real_server(store) as (port, process, _):

        def client(number):
            count = 0
            try:
                while True:
                    row = rows[(7 * number + count) % 40] | {
                        "budget": 1000.0 + 100 * number + count
                    }
                    found = call(port, "/v1/recommend", {"rows": [row]})
                    answered.append(
                        (row["item_id"], row["budget"], found.json["answers"][0]["gain"])
                    )
                    count += 1
            except (OSError, ValueError):  # it is gone
                return

        clients = [threading.Thread(target=client, args=(number,)) for number in range(3)]
        for one in clients:
            one.start()
        while len(answered) < after:
            pass
        process.kill()
        process.wait()
        for one in clients:
            one.join()
    return answered


@pytest.mark.parametrize("after", range(4, 4 + 3 * KILLS, 3))
def test_no_answer_is_lost_when_the_service_is_killed(own, after):
    answered = set(ask_until_killed(own, after))
    assert len(answered) >= after
    rows, _ = logged(own)
    written = {(row["unit"], row["inputs"]["budget"], row["gain"]) for row in rows}
    assert answered <= written


def test_a_log_that_forgets_would_be_noticed(own, monkeypatch):
    """The control: rows that are answered without being written are missed by the comparison."""
    app = open_app(own)
    monkeypatch.setattr(Records, "keep", lambda *_: None)
    told = ask(app, "/v1/recommend", {"rows": some_rows(3)}).json["answers"]
    app.queue.stop()
    assert {one["unit"] for one in told}
    assert logged(own)[0] == []
