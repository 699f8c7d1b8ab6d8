import re

import pytest

from realloc.base.errors import ConfigError
from realloc.report.store import store_report, write_fit_report, write_report
from realloc.storage.store import Store
from tests.small import fitted, window

MOST_BYTES = 2 * 2**20


def test_the_page_holds_every_part_and_loads_nothing(store, ledger):
    page = store_report(store, ledger)
    titles = re.findall(r"<h2>(.*?)</h2>", page)
    assert titles == [
        "Where the money goes",
        "What it is worth",
        "Moved, and kept",
        "Biggest moves",
        "What each constraint costs",
        "What the model knows",
        "Which moves pay",
        "What a hidden cause could do",
        "Versions",
    ]
    assert "floor of ads: 35 % of the budget" in page
    assert "<script" not in page
    assert "http" not in page.replace("http-equiv", "")
    assert len(page.encode()) < MOST_BYTES


def test_before_the_first_run_the_page_says_what_to_do(tmp_path):
    store = Store(tmp_path / "store")
    store.commit(fitted(), window(0))
    write_report(tmp_path / "store", tmp_path / "pages" / "page.html")
    page = (tmp_path / "pages" / "page.html").read_text()
    assert "No batch has been decided with this store yet." in page
    assert "What the model knows" in page


def test_a_fit_writes_what_it_learned(tmp_path):
    store = Store(tmp_path / "store")
    model = fitted()
    version = store.commit(model, window(0))
    write_fit_report(model, version, tmp_path / "fit.html")
    page = (tmp_path / "fit.html").read_text()
    assert "Windows, in the order of learning" in page
    assert "What moving one point of the budget is worth" in page
    with pytest.raises(ConfigError, match="Expected a file for the report, got the folder"):
        write_fit_report(model, version, tmp_path)
