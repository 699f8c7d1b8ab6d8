"""One item: evidence, what-if, history; and what is said where the model cannot be asked."""

import re

import numpy as np
import pytest

from realloc.base.errors import ConfigError
from realloc.console.app import make_console
from realloc.console.pages.item import read_shares
from realloc.console.roles import NOBODY
from realloc.console.screen import Visit
from tests.console.asking import get
from tests.console.conftest import HOSTS

NOW = np.array([0.2, 0.3, 0.5])


def shares(**query):
    return read_shares(Visit(None, NOBODY, "/item", query), NOW).tolist()


def test_the_page_shows_move_evidence_sliders_and_history(app, source):
    row = source.rows(source.run()).row(20)
    shown = get(app, "/item?row=20").text
    for word in ("Move: ", "Evidence", "Logged rows like this move", "What if", "History"):
        assert word in shown
    assert row["unit"] in shown
    assert shown.count('type="number"') == 3
    assert "supported from" in shown
    assert "[constraints]" in shown


def test_the_form_works_without_script(app):
    shown = get(app, "/item?row=20&to0=20&to1=40&to2=40").text
    assert 'value="20.0"' in shown
    assert "Expected gain" in re.search(r"<output.*?</output>", shown, re.S)[0]


def test_rows_before_and_after_follow_the_selection(app, source):
    shown = get(app, "/item?row=20&reason=moved").text
    after = re.search(r'rel="next" href="/item\?([^"]+)"', shown)[1].replace("&amp;", "&")
    assert "reason=moved" in after
    assert (
        "reason=moved"
        in re.search(r'rel="prev" href="([^"]+)"', get(app, f"/item?{after}").text)[1]
    )


def test_shares_are_percentages_and_kept_ones_stay():
    assert shares() == pytest.approx(NOW.tolist())
    assert shares(to0="20", to1="40", to2="40") == pytest.approx([0.2, 0.4, 0.4])
    assert shares(to0="50", lock0="1") == pytest.approx([0.5, 0.1875, 0.3125])
    for wrong in ("x", "-1", "101", "nan", "inf"):
        with pytest.raises(ConfigError, match="Expected a share from 0 to 100 %"):
            shares(to0=wrong)
    with pytest.raises(ConfigError, match="Keep fewer channels"):
        shares(to0="80", to1="80", lock0="1", lock1="1")


def test_a_row_that_could_not_be_read_says_so(app):
    shown = get(app, "/item?row=3")
    assert shown.status == 200
    assert "could not be read" in shown.text
    assert "What if" not in shown.text


def test_without_its_version_the_row_is_still_shown(hostile, copied):
    folder = next((copied.store.path / "versions").glob("00000002*"))
    (folder / "model" / "weights.safetensors").write_bytes(b"broken")
    shown = get(make_console(copied, None, HOSTS), "/item?row=20")
    assert shown.status == 200
    assert "What the model knows cannot be shown." in shown.text
    assert "History" in shown.text
