"""Routine traffic is replayed, and what cannot be ranked says why."""

import numpy as np

from realloc import read_logs
from realloc.evaluate.report.config import ReportConfig
from realloc.evaluate.report.ranking import LABELS, rank
from realloc.evaluate.report.traffic import New
from tests.evaluate.report.simulated import SCHEMA, fitted, later

LOGS = read_logs(later(), SCHEMA)
ALL_NEW = New(np.ones(len(LOGS), dtype=bool), "all new")


def test_units_that_drew_at_random_are_left_out():
    randomized = np.isfinite(np.asarray(LOGS.propensity))
    ranked = rank(fitted(), LOGS, randomized, ALL_NEW, ReportConfig())
    lines = " ".join(ranked.section.lines)
    assert f"{int((~randomized).sum()):,} rows of units that never drew at random" in lines
    assert ranked.rho.name == "rho_gain"
    assert ranked.section.rows[0][0] == LABELS["rho_gain"]


def test_every_unit_is_replayed_where_all_drew_at_random():
    ranked = rank(fitted(), LOGS, np.ones(len(LOGS), dtype=bool), ALL_NEW, ReportConfig())
    assert "routine and randomized moves are replayed together" in ranked.section.lines[1]


def test_rows_that_were_learned_from_flatter_the_ranking():
    none_new = New(np.zeros(len(LOGS), dtype=bool), "none new")
    ranked = rank(fitted(), LOGS, None, none_new, ReportConfig())
    assert any("flatters" in line for line in ranked.section.lines)


def test_a_log_of_one_date_cannot_be_ranked():
    last = LOGS.take(LOGS.times == LOGS.times.max())
    ranked = rank(
        fitted(), last, None, New(np.ones(len(last), dtype=bool), ""), ReportConfig()
    )
    assert ranked.rho is None
    assert "Expected several dates" in ranked.section.missing[0]
