"""The whole report on logs whose truth is known: moves of ads pay, lose, or cost a guardrail."""

import json
import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from realloc.base.errors import LogError
from realloc.evaluate.report import ReportConfig, evaluation_report, to_html
from realloc.evaluate.report.ranking import TITLE as RANKING
from realloc.evaluate.report.worth import TITLE as VALUE
from tests.evaluate.report.simulated import SCHEMA, fitted, later, make_logs

TITLES = [
    *(
        "At a glance",
        "Expected uplift",
        VALUE,
        "Guardrails",
        RANKING,
        "Action rate",
        "Biggest moves",
    ),
    *("Support coverage", "Nuisance quality", "Log check"),
]


TOLD = []


@pytest.fixture(scope="module")
def good():
    """On new units, with the truth that the model learned."""
    return evaluation_report(fitted(), later(), progress=lambda *step: TOLD.append(step))


def few(**changes):
    """So few rows that no value can be told."""
    frame = later(**changes)
    return frame[frame["item"] < "s1-060"]


def test_a_model_that_pays_on_new_units_is_launched(good):
    assert good.verdict == "launch"
    assert [section.title for section in good.sections] == TITLES
    assert not good.missing


def test_the_same_model_is_not_launched_where_its_moves_lose_and_cost_a_guardrail():
    found = evaluation_report(
        fitted(), later(slope=-4.0, gmv=-8.0), ReportConfig(margins={"gmv": 0.1})
    )
    assert found.verdict == "do not launch"
    assert "the moves lose" in found.reasons[0]
    assert "The guardrail gmv is broken" in found.reasons[1]


def test_without_randomized_rows_it_is_a_small_test_at_most_and_the_rest_is_there():
    found = evaluation_report(fitted(), later(), schema=replace(SCHEMA, propensity=None))
    assert found.verdict == "test small"
    assert "No randomized rows" in found.reasons[0]
    assert "log the chance of each drawn move" in found[VALUE].missing[0]
    assert found[RANKING].rows
    assert found["Biggest moves"].rows
    assert "the model's own prediction" in found["Expected uplift"].missing[0]


@pytest.mark.parametrize(
    ("spoil", "text"),
    [
        (
            lambda chance: np.where(np.isfinite(chance), 0.0, chance),
            "Expected a propensity above 0",
        ),
        (lambda chance: chance / 4, "do not fit the draws"),
    ],
)
def test_propensities_of_zero_or_not_summing_to_one_cost_only_their_section(spoil, text):
    frame = later()
    found = evaluation_report(
        fitted(), frame.assign(chance=spoil(frame["chance"].to_numpy()))
    )
    assert found.verdict == "test small"
    assert text in found[VALUE].missing[0]
    assert found[RANKING].rows
    assert [section.title for section in found.sections] == TITLES


def test_too_few_rows_are_said_to_be_too_few():
    found = evaluation_report(fitted(), few())
    assert found.verdict == "test small"
    assert "Expected at least 100 effective" in found.reasons[0]
    assert "for the reason given under" in found["Guardrails"].missing[0]


def test_one_date_leaves_what_needs_no_second_one():
    frame = few()
    found = evaluation_report(
        fitted(),
        frame[frame["date"] == frame["date"].max()],
        schema=replace(SCHEMA, guardrails=()),
    )
    assert found.verdict == "test small"
    assert "Expected several dates" in found[RANKING].missing[0]
    assert "Hand in the log with earlier dates" in found[VALUE].missing[0]
    assert found["Biggest moves"].rows


def test_without_exact_controls_small_moves_stand_for_them():
    frame = later().copy()
    routine = ~frame["explored"]
    jitter = np.random.default_rng(0).uniform(0.001, 0.002, routine.sum())
    frame.loc[routine, "ads"] = (frame.loc[routine, "ads"] + jitter).clip(upper=1)
    frame["coupon"] = 1 - frame["ads"]
    found = evaluation_report(fitted(), frame)
    assert any("Hardly any row kept its mix" in line for line in found[RANKING].lines)
    assert found[VALUE].rows


def test_rows_that_the_model_learned_from_cannot_launch_it():
    seen = make_logs()
    found = evaluation_report(fitted(), seen[seen["item"] < "s0-060"])
    assert found.verdict != "launch"
    assert not found.evidence.is_new
    assert "flatters" in found[VALUE].lines[-1]
    assert "0 of 600 rows are later than 2026-01-14" in found["Log check"].lines[0]


def test_a_log_that_cannot_be_read_is_refused():
    with pytest.raises(LogError, match="'orders'"):
        evaluation_report(fitted(), later().drop(columns="orders"))


def test_the_page_stands_alone_and_says_what_the_report_says(good):
    page = to_html(good, "Report of <May>")
    assert "http:" not in page
    assert "<script" not in page
    assert "Report of &lt;May&gt;" in page
    assert "nan" not in page.lower().replace("finance", "")
    for section in good.sections:
        assert f"<h2>{section.title}</h2>" in page
    shown = page.replace("<code>", "`").replace("</code>", "`")
    for rule in good.rules:
        assert rule in shown
    drawn = [ElementTree.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", page)]  # noqa: S314
    assert len(drawn) == 4  # uplift, value, guardrails, ranking
    assert len(drawn[2].findall("line[@class='limit']")) == 1  # what gmv may lose


def test_the_report_is_a_json_and_a_text(good):
    found = json.loads(json.dumps(good.to_json(), allow_nan=False))
    assert found["verdict"] == "launch"
    assert [section["title"] for section in found["sections"]] == TITLES
    assert str(good).startswith("Launch\n  On ")
    with pytest.raises(KeyError, match="got 'Guardrail'"):
        good["Guardrail"]


def test_every_long_step_shows_progress(good):
    ended = {step for step, done, total in TOLD if done == total}
    assert {"decisions", "value", "match events", "rank events"} <= ended
    assert all(0 <= done <= total for _, done, total in TOLD)
