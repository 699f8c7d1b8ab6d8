from dataclasses import replace

import pytest

from realloc.decide.totals import GainSum
from realloc.report.run import figures_of_run, newest_run
from realloc.report.verdict import judge


@pytest.fixture
def figures(ledger):
    found = figures_of_run(ledger, newest_run(ledger))
    source = {
        name: value for name, value in found.entry.source.items() if name != "figures"
    }
    return replace(found, entry=replace(found.entry, source=source), usable=found.rows)


def with_logged(figures, **logged):
    source = figures.entry.source | {"figures": logged}
    return replace(figures, entry=replace(figures.entry, source=source))


def test_a_sure_gain_within_all_limits_may_be_published(figures):
    verdict = judge(replace(figures, total=GainSum(10.0, 1.0, 1.0)))
    assert verdict.tone == "good"
    assert (
        verdict.text
        == f"Ready to publish: {figures.moved} moves, no rule speaks against it."
    )
    assert not verdict.fired


def test_an_interval_with_0_in_it_asks_for_a_look(figures):
    verdict = judge(replace(figures, total=GainSum(1.0, 1.0, 1.0)))
    assert verdict.tone == "wait"
    assert verdict.fired == (
        "The 95 % interval of the total gain includes 0 (−1.77 to 3.77).",
    )


def test_an_unknown_interval_is_said_to_be_unknown(figures):
    assert "not known" in judge(replace(figures, total=None)).fired[0]


def test_a_frozen_run_keeps_everything(figures):
    verdict = judge(with_logged(figures, frozen="2026-11-16 prices look odd"))
    assert verdict.tone == "bad"
    assert verdict.fired == ("The store was frozen: 2026-11-16 prices look odd.",)


def test_broken_limits_drift_and_bad_rows_are_named(figures):
    drift = {
        "drifted": ["feature e1", "feature e2"],
        "state": {"name": "feature e1", "excess": 0.5, "change": "more rows lie above 1"},
        "shares": None,
    }
    found = with_logged(figures, broken_limits=["too much would move"], drift=drift)
    found = replace(found, total=GainSum(10.0, 1.0, 1.0), usable=found.rows - 2)
    assert judge(found).fired == (
        "Published by force although too much would move.",
        "'feature e1' and 1 more drifted from the training window: more rows lie above 1.",
        "2 rows (1.3 %) could not be read and keep their mix.",
    )


def test_without_a_move_there_is_nothing_to_publish(figures):
    assert judge(replace(figures, moved=0)).text == "Nothing to publish: every mix is kept."
