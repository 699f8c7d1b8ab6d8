"""Versions, monitor, decision log, evaluations."""

import json

import pytest

from realloc.console.app import make_console
from realloc.console.pages.trust import read_evaluation
from realloc.console.source import ConsoleSource
from realloc.draw import Paragraph
from tests.console.asking import get, post
from tests.console.conftest import HOSTS

EVALUATION = {
    "verdict": "test small",
    "reasons": ["The <b>interval</b> includes 0."],
    "rules": [],
    "missing": [],
    "sections": [{"title": "Value", "lines": ["Fine."], "heads": ["a"], "rows": [["1"]]}],
}
READOUT = {
    "decision": "launch",
    "verdict": "Launch the treatment.",
    "split": {},
    "metrics": [{"name": "orders", "value": 1.5, "p": None}],
    "calibration": None,
    "notes": ["10 units."],
}


def test_versions_are_listed_looked_at_and_compared(app):
    assert "Version 2 (current)" in get(app, "/versions").text
    assert "Windows, in the order of learning" in get(app, "/versions?look=1").text
    compared = get(app, "/versions?one=1&other=2").text
    assert "Rows with another mix" in compared
    assert "Biggest differences" in compared


def test_the_monitor_shows_the_course_of_runs_and_the_drift_of_the_last(app):
    shown = get(app, "/monitor").text
    for word in (
        "Columns that drifted",
        "Rows moved",
        "Drift of the last run",
        "2 batch runs",
    ):
        assert word in shown


def test_the_log_lists_runs_and_verifies_its_chain(app, copied):
    assert "batch" in get(app, "/log").text
    assert "The decision log is whole" in post(app, "/log", {"verify": "1"}).text
    other = make_console(copied, None, HOSTS)
    entry = copied.run()
    path = copied.ledger.folder(entry.number) / entry.segments[0].name
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    shown = post(other, "/log", {"verify": "1"}).text
    assert "The decision log was changed." in shown


def test_evaluations_are_read_from_a_folder(source, tmp_path):
    (tmp_path / "a.json").write_text(json.dumps(EVALUATION))
    (tmp_path / "b.json").write_text(json.dumps(READOUT))
    (tmp_path / "c.json").write_text("{}")
    own = ConsoleSource(source.store, source.ledger.path, tmp_path)
    shown = get(make_console(own, None, HOSTS), "/evaluations").text
    assert "Test small." in shown
    assert "The &lt;b&gt;interval&lt;/b&gt; includes 0." in shown
    assert "Launch the treatment." in shown
    assert "not known" in shown
    assert "&#39;c.json&#39; is not what" in shown


def test_without_a_folder_the_page_says_how_to_get_one(app):
    assert "--runs folder" in get(app, "/evaluations").text


@pytest.mark.parametrize("text", ["", "[]", "[" * 100_000, '{"decision": 1}', "null"])
def test_files_that_are_no_evaluation_are_said(tmp_path, text):
    (tmp_path / "x.json").write_text(text)
    (piece,) = read_evaluation(tmp_path / "x.json")
    assert isinstance(piece, Paragraph)
    assert piece.look == "missing"
