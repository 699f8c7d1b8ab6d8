import re

from realloc.console.app import make_console
from realloc.decide.types import REASONS
from tests.console.asking import get
from tests.console.conftest import HOSTS


def test_every_reason_leads_to_as_many_rows(app, source):
    shown = get(app, "/").text
    figures = source.figures(source.run())
    for reason, rows in figures.reasons.items():
        assert REASONS[reason] in shown
        address = re.search(rf'href="(/items\?[^"]*reason={reason})"', shown)[1]
        listed = get(app, address.replace("&amp;", "&")).text
        assert f"<strong>{rows:,}</strong> row" in listed


def test_an_earlier_run_says_that_another_version_is_current(app, source):
    first = source.batches()[-1]
    shown = get(app, f"/?run={first.run}").text
    assert "this run was decided by version 1" in shown


def test_rows_that_could_not_be_read_are_an_alarm(source):
    shown = get(make_console(source, None, HOSTS), "/").text
    assert "2 rows could not be read" in shown
