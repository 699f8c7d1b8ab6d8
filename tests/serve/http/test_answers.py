"""What the service answers: the version's own decisions, or the mix as it is and why."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

import realloc
from realloc import ReAlloc
from realloc.decide.types import REASONS
from realloc.serve.http.answers import Answers
from realloc.serve.http.http_error import HttpError
from realloc.storage.store import Store
from realloc.storage.store.head import read_head
from tests.serve.http.asking import INTERNALS, ask, open_app, some_rows
from tests.small import today

ROWS = {"rows": some_rows(3)}
CHANNELS = ("ads", "coupon", "rebate")


def is_kept(answers, reason):
    """Every row keeps its mix for this reason."""
    given = some_rows(len(answers))
    return all(
        a["reason"] == reason
        and not a["moved"]
        and all(
            a["shares"][name] == pytest.approx(row[name], abs=1e-9) for name in CHANNELS
        )
        for a, row in zip(answers, given, strict=True)
    )


def test_answers_are_the_scorers_to_the_bit_and_name_their_version(app, made):
    scorer = realloc.load(Store(made)._kept(2, read_head(made)).folder / "model")
    wanted = scorer.recommend(today(40))
    found = ask(app, "/v1/batch", {"rows": some_rows(40)})
    assert found.status == 200
    told = found.json
    assert (told["version"], len(told["model"]), len(told["request_id"])) == (2, 16, 16)
    assert [a["reason"] for a in told["answers"]] == wanted.reason.tolist()
    assert [a["gain"] for a in told["answers"]] == wanted.gain.tolist()
    assert [a["shares"]["ads"] for a in told["answers"]] == wanted.share_ads.tolist()
    assert [a["spend"]["rebate"] for a in told["answers"]] == wanted.spend_rebate.tolist()
    assert any(a["moved"] for a in told["answers"])


def test_a_row_alone_is_the_row_in_a_batch(app):
    together = ask(app, "/v1/batch", {"rows": some_rows(40)}).json["answers"]
    for i in (0, 7, 39):
        assert ask(app, "/v1/recommend", {"rows": [some_rows(40)[i]]}).json["answers"] == [
            together[i]
        ]


def test_explanations_fields_and_gains_of_wanted_shares(app, made):
    scorer = realloc.load(Store(made)._kept(2, read_head(made)).folder / "model")
    rows, frame = some_rows(4), today(4)
    moved = next(
        i
        for i, a in enumerate(
            ask(app, "/v1/recommend", {"rows": some_rows(40)}).json["answers"]
        )
        if a["moved"]
    )
    told = ask(app, "/v1/explain", {"row": some_rows(40)[moved]}).json
    assert sum(step["gain"] for step in told["transfers"]) == pytest.approx(
        told["answers"][0]["gain"]
    )
    assert any("Total gain" in line for line in told["lines"])
    fields = ask(app, "/v1/field", {"rows": rows}).json["fields"]
    assert [[row[name] for name in CHANNELS] for row in fields] == scorer.field(
        frame
    ).tolist()
    to = {"ads": 0.2, "coupon": 0.5, "rebate": 0.3}
    gains = ask(app, "/v1/whatif", {"rows": rows, "to": to}).json["gains"]
    assert gains == scorer.gain(frame, np.array([[0.2, 0.5, 0.3]] * 4)).tolist()
    assert gains == ask(app, "/v1/whatif", {"rows": rows, "to": [to] * 4}).json["gains"]


def test_constraints_of_a_request_are_kept_where_they_are_allowed(app, made):
    body = {"rows": some_rows(40), "constraints": {"frozen": ["ads"]}}
    answers = ask(app, "/v1/batch", body).json["answers"]
    assert all(
        a["shares"]["ads"] == pytest.approx(row["ads"])
        for a, row in zip(answers, some_rows(40), strict=True)
    )
    assert ask(open_app(made), "/v1/batch", body).status == 403


def test_a_frozen_store_keeps_every_mix_at_once_and_thaws(own):
    app, store = open_app(own), Store(own)
    assert not is_kept(
        ask(app, "/v1/recommend", {"rows": some_rows(40)}).json["answers"], "frozen"
    )
    store.freeze("prices look odd")
    found = ask(app, "/v1/recommend", ROWS)
    assert found.status == 200
    assert is_kept(found.json["answers"], "frozen")
    assert (
        ask(app, "/v1/whatif", ROWS | {"to": {"ads": 1, "coupon": 0, "rebate": 0}}).json[
            "gains"
        ]
        is None
    )
    assert ask(app, "/v1/explain", {"row": some_rows(1)[0]}).json["transfers"] == []
    assert ask(app, "/readyz").json["frozen"]
    store.unfreeze()
    assert ask(app, "/v1/recommend", ROWS).json["answers"][0]["reason"] != "frozen"


STALE = [
    ({"max_age_days": 3.0}, 4),
    ({"max_age_days": 0.0, "max_window_age_days": 9999.0}, 9999),
]


@pytest.mark.parametrize(("settings", "days"), STALE)
def test_a_stale_model_keeps_every_mix(made, settings, days):
    def later():
        return datetime.now(UTC) + timedelta(days=days)

    app = open_app(made, clock=later, **settings)
    assert is_kept(ask(app, "/v1/recommend", ROWS).json["answers"], "stale_model")
    assert ask(app, "/readyz").json["stale"]
    fresh = open_app(made, **settings)
    assert not ask(fresh, "/readyz").json["stale"]


def test_an_internal_failure_keeps_the_mix_and_says_nothing_of_the_inside(
    made, monkeypatch
):
    app = open_app(made)

    def fail(*_):
        raise RuntimeError("secret of the inside")

    with monkeypatch.context() as patch:
        patch.setattr(ReAlloc, "decide", fail)
        found = ask(app, "/v1/recommend", ROWS)
        assert found.status == 200
        assert is_kept(found.json["answers"], "internal_failure")
        assert not [word for word in (*INTERNALS, b"secret") if word in found.body]
        patch.setattr("realloc.serve.http.answers.keep", fail)
        worst = ask(app, "/v1/recommend", ROWS)
        assert worst.status == 200
        assert {(a["reason"], a["moved"]) for a in worst.json["answers"]} == {
            ("internal_failure", False)
        }
        assert worst.json["answers"][0]["given"]["ads"] == some_rows(1)[0]["ads"]
    assert b"realloc_internal_failures_total 3.0" in ask(app, "/metrics").body
    assert "internal_failure" in REASONS
    assert (
        ask(app, "/v1/recommend", ROWS).json["answers"][0]["reason"] != "internal_failure"
    )


def test_so_do_failures_of_the_other_routes_and_outside_of_the_scorer(made, monkeypatch):
    app = open_app(made)
    asked = {
        "field": (ROWS, "fields"),
        "gain": (ROWS | {"to": {"ads": 0.2, "coupon": 0.5, "rebate": 0.3}}, "gains"),
    }
    for fault in (lambda *_: 1 / 0, lambda *_: np.array([[0.0, np.nan, 0.0]])):
        for name, (body, told) in asked.items():
            with monkeypatch.context() as patch:
                patch.setattr(ReAlloc, name, fault)
                found = ask(app, "/v1/whatif" if name == "gain" else "/v1/field", body)
            assert (found.status, found.json[told], found.json["reason"]) == (
                200,
                None,
                "internal_failure",
            )
    with monkeypatch.context() as patch:
        patch.setattr(ReAlloc, "explain", lambda *_: 1 / 0)
        assert ask(app, "/v1/explain", {"row": some_rows(1)[0]}).json["transfers"] == []
    with monkeypatch.context() as patch:
        patch.setattr(app.queue, "submit", lambda *_: 1 / 0)
        found = ask(app, "/v1/recommend", ROWS)
    assert (found.status, found.json["error"]) == (503, "internal_failure")
    assert not [word for word in INTERNALS if word in found.body]


def test_a_reason_that_nobody_knows_is_no_label(made, monkeypatch):
    app, real = open_app(made), ReAlloc.decide
    odd = np.full(3, "odd words")
    monkeypatch.setattr(ReAlloc, "decide", lambda *asked: replace(real(*asked), reason=odd))
    assert ask(app, "/v1/recommend", ROWS).json["answers"][0]["reason"] == "odd words"
    told = ask(app, "/metrics").body
    assert b'realloc_answers_total{reason="other"} 3.0' in told
    assert b"odd" not in told


def test_a_row_that_cannot_be_read_gets_its_own_reason_and_stops_no_other(app):
    rows = some_rows(3)
    rows[1]["ads"] = 0.9  # shares sum to more than 1
    reasons = [
        a["reason"] for a in ask(app, "/v1/recommend", {"rows": rows}).json["answers"]
    ]
    assert reasons[1] == "bad_input"
    alone = ask(app, "/v1/recommend", {"rows": rows[1:2]}).json["answers"][0]
    assert (alone["reason"], alone["moved"]) == ("bad_input", False)
    assert b"realloc_internal_failures_total 0.0" in ask(app, "/metrics").body
    assert "bad_input" not in (reasons[0], reasons[2])


def test_requests_of_several_routes_are_answered_with_their_own_rows(app):
    one = [json.dumps({"rows": [row]}).encode() for row in some_rows(4)]
    whatif = {"rows": some_rows(2), "to": {"ads": 0.2, "coupon": 0.5, "rebate": 0.3}}
    number = json.dumps({"rows": [some_rows(1)[0] | {"item_id": 7}]}).encode()
    unknown = one[0].replace(b'"ads"', b'"adz"')
    bodies = [
        ("recommend", one[0]),
        ("field", one[1]),
        ("batch", one[2]),
        ("whatif", json.dumps(whatif).encode()),
        ("recommend", b"{"),
        ("recommend", unknown),
        ("recommend", number),  # an id of another type is read into a table of its own
        ("recommend", one[3]),
    ]
    answers = Answers(app.versions, app.versions.current)
    together = answers.respond(bodies)
    alone = [answers.respond([body])[0] for body in bodies]
    assert [getattr(result, "status", 200) for result in together[4:6]] == [400, 422]
    for result, expected in zip(together, alone, strict=True):
        if not isinstance(result, HttpError):
            assert result == expected


def test_a_bad_row_does_not_keep_others_from_being_decided_together(app, monkeypatch):
    sizes = []
    real = ReAlloc.decide
    monkeypatch.setattr(
        ReAlloc,
        "decide",
        lambda self, logs, *a: sizes.append(len(logs)) or real(self, logs, *a),
    )
    bodies = [("recommend", json.dumps({"rows": [row]}).encode()) for row in some_rows(6)]
    bodies.insert(3, ("recommend", bodies[0][1].replace(b'"ads"', b'"adz"')))
    results = Answers(app.versions, app.versions.current).respond(bodies)
    assert [isinstance(result, HttpError) for result in results] == [
        i == 3 for i in range(7)
    ]
    units = [json.loads(r)["answers"][0]["unit"] for r in results if isinstance(r, bytes)]
    assert units == [row["item_id"] for row in some_rows(6)]
    assert sizes == [6]


def test_a_number_that_is_none_moves_nothing(made, monkeypatch):
    app = open_app(made)
    real = ReAlloc.decide

    def broken(self, logs, *asked):
        decision = real(self, logs, *asked)
        n = len(logs)
        return replace(decision, gain=np.full(n, np.nan), reason=np.full(n, "moved"))

    monkeypatch.setattr(ReAlloc, "decide", broken)
    rows = ask(app, "/v1/recommend", {"rows": some_rows(2)}).json["answers"]
    rows += ask(app, "/v1/explain", {"row": some_rows(1)[0]}).json["answers"]
    assert {(a["reason"], a["moved"], a["gain"]) for a in rows} == {
        ("internal_failure", False, 0.0)
    }
