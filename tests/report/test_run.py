import json

import numpy as np
import pyarrow.parquet as pq
import pytest

from realloc.report.run import figures_of_run, newest_run
from realloc.storage.ledger.ledger import Ledger


@pytest.fixture
def figures(ledger):
    return figures_of_run(ledger, newest_run(ledger))


def test_the_figures_are_those_of_the_summary(figures, decided):
    summary = json.loads((decided / "recs.summary.json").read_text())
    assert figures.rows == summary["rows"] == 150
    assert figures.usable == summary["usable"]
    assert figures.usable < figures.rows
    assert figures.moved == summary["moved"]
    assert figures.reasons == summary["reasons"]
    assert figures.gain == pytest.approx(summary["gain"])
    assert figures.total.gain - figures.total.half == pytest.approx(summary["gain_low"])
    assert figures.money == pytest.approx(summary["money"], abs=1)
    assert figures.moved_money == pytest.approx(summary["moved_money"], abs=0.02)
    named = summary["moved_by_pair"]
    assert figures.flows.sum() == pytest.approx(sum(named.values()), abs=0.1)
    assert figures.logged["broken_limits"] == summary["broken_limits"]


def test_money_is_only_split_anew(figures):
    assert figures.recommended.sum() == pytest.approx(figures.money)
    assert (figures.recommended >= 0).all()


def test_the_biggest_moves_are_the_biggest_of_all_files(figures, decided):
    answers = pq.read_table(decided / "recs.parquet").to_pandas()
    budget = answers[["spend_ads", "spend_coupon", "spend_rebate"]].sum(axis=1)
    money = np.sort((answers["moved_share"] * budget)[answers["moved"]])[::-1]
    found = [move.money for move in figures.biggest]
    assert len(found) == min(10, int(answers["moved"].sum()))
    assert found == sorted(found, reverse=True)
    assert found == pytest.approx(money[: len(found)], abs=0.01)


def test_without_a_run_there_is_none(tmp_path):
    assert newest_run(Ledger(tmp_path / "decisions")) is None
