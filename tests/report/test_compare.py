"""Two versions on the same rows."""

import numpy as np
import pytest

from realloc.base.errors import ConfigError
from realloc.decide.constraints.constraints import Constraints
from realloc.report.compare import APART, compare_versions, difference_pieces
from realloc.report.store import compare_report
from realloc.storage.ledger.ledger import Ledger
from realloc.storage.store import Store
from tests.small import CONFIG, fitted, updated, window

RULES = Constraints(caps={"coupon": 0.3})


@pytest.fixture(scope="module")
def record(tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("one") / "store")
    return store.commit(fitted(), window(0))


def said(found):
    return "\n".join(piece.markdown() for piece in difference_pieces(found))


def test_a_version_is_no_other_than_itself(record):
    found = compare_versions((fitted(), record), (fitted(), record), window(1))
    assert (found.apart, found.by_model, found.by_rules, found.biggest) == (0, 0, 0, ())
    assert found.totals[0] == found.totals[1]
    assert "No mix differs by more than half a point." in said(found)


def test_new_data_and_new_rules_are_told_apart(record):
    ruled = fitted()
    ruled.decide_with(CONFIG.decision, RULES)
    by_rules = compare_versions((fitted(), record), (ruled, record), window(1))
    assert by_rules.by_model == 0
    assert by_rules.by_rules == by_rules.apart > 0
    by_data = compare_versions((fitted(), record), (updated(), record), window(1))
    assert by_data.by_rules == 0
    assert by_data.by_model == by_data.apart > 0
    assert ruled.config.constraints == RULES  # comparing changes neither model


def test_the_biggest_differences_come_first(record):
    rows = window(1)
    found = compare_versions((fitted(), record), (updated(), record), rows)
    apart = fitted().decide(rows).shares - updated().decide(rows).shares
    money = np.abs(apart).sum(axis=1) / 2 * rows.budget
    assert [row.money for row in found.biggest] == pytest.approx(np.sort(money)[:-11:-1])
    assert found.apart == int((np.abs(apart).sum(axis=1) / 2 > APART).sum())
    assert found.biggest[0].unit in said(found)


def test_the_page_needs_a_run_and_names_both_versions(store, ledger, tmp_path):
    page = compare_report(store, ledger, 1)
    assert "Version 1 and version 1" in page
    with pytest.raises(ConfigError, match="Run `realloc recommend` first."):
        compare_report(store, Ledger(tmp_path / "none"), 1)
