"""What pages read, also while a store changes or is damaged underneath."""

import pytest

from realloc.base.errors import LedgerError
from realloc.console.app import make_console
from realloc.console.source import ConsoleSource, Recent
from realloc.storage.store import Store
from tests.console.asking import get
from tests.console.conftest import HOSTS, RULES


def test_the_last_few_things_are_kept():
    made = []
    kept = Recent(2)
    for name in "abacab":
        kept.get(name, lambda name=name: made.append(name) or name)
    assert made == ["a", "b", "c", "b"]


def test_a_run_is_asked_with_the_rules_that_decided_it(source):
    model = source.model_of(source.run())
    assert model.config.constraints == RULES
    assert source.model(2)[0].config.constraints != RULES


def test_an_unknown_run_and_an_empty_log_are_said(source, tmp_path):
    with pytest.raises(LedgerError, match="Expected a run of the decision log"):
        source.run("nobody")
    empty = ConsoleSource(source.store, tmp_path / "none")
    with pytest.raises(LedgerError, match="Run `realloc recommend"):
        empty.run()
    empty.warm()  # says nothing; the first page does
    app = make_console(empty, None, HOSTS)
    for address in ("/", "/items", "/monitor", "/log", "/versions"):
        assert "realloc recommend" in get(app, address).text or address == "/versions"


def test_a_store_that_is_frozen_says_so_on_every_page(copied):
    app = make_console(copied, None, HOSTS)
    copied.store.freeze("prices <look> odd")
    for address in ("/", "/items", "/monitor", "/log"):
        assert "prices &lt;look&gt; odd" in get(app, address).text


def test_a_store_that_is_updated_shows_its_new_version(copied):
    app = make_console(copied, None, HOSTS)
    assert "Version <strong>2</strong>" in get(app, "/").text
    copied.store.rollback(1)
    shown = get(app, "/").text
    assert "Version <strong>3</strong>" in shown
    assert "this run was decided by version 2" in shown


def test_a_damaged_store_is_said_and_pages_still_answer(copied):
    app = make_console(copied, None, HOSTS)
    (copied.store.path / "HEAD").write_text("nonsense")
    for address in ("/", "/items", "/monitor", "/log"):
        shown = get(app, address)
        assert shown.status == 200
        assert "the file was changed" in shown.text
    assert get(app, "/item?row=20").status == 200


def test_an_empty_store_says_what_to_do(tmp_path):
    (tmp_path / "store").mkdir()
    app = make_console(ConsoleSource(Store(tmp_path / "store")), None, HOSTS)
    assert "`realloc fit` makes one" in get(app, "/log").text


def test_a_damaged_log_is_said_on_every_page_that_needs_it(copied):
    entry = copied.run()
    path = copied.ledger.folder(entry.number) / entry.segments[0].name
    path.write_bytes(b"PAR1" + bytes(100))
    app = make_console(copied, None, HOSTS)
    for address in ("/", "/items", "/item?row=20", "/review"):
        shown = get(app, address)
        assert shown.status == 404
        assert "`realloc audit` names it" in shown.text.replace("<code>", "`").replace(
            "</code>", "`"
        )
    assert get(app, "/log").status == 200
