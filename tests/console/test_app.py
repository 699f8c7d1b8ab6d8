"""Routes: every page answers, files hold the selection, problems are sentences."""

import io
import json

import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from realloc.console.app import PAGES, make_console
from realloc.console.selection import RowSelection
from tests.console.asking import get
from tests.console.conftest import HOSTILE, HOSTS

MOST_BYTES = 200 * 1024


@pytest.mark.parametrize("path", [path for path in PAGES if path != "/item"])
def test_every_page_answers_small_and_without_inline_script(app, path):
    shown = get(app, path)
    assert shown.status == 200
    assert len(shown.body) < MOST_BYTES
    assert "<script>" not in shown.text  # modules of ours are files
    assert 'aria-current="page"' in shown.text
    assert "Version <strong>2</strong>" in shown.text


def test_hostile_names_are_shown_as_text(hostile):
    app = make_console(hostile, None, HOSTS)
    for address in ("/", "/items", "/item?row=0", "/item?row=1", "/log"):
        shown = get(app, address)
        assert shown.status == 200, shown.text
        assert "<script>alert" not in shown.text
        assert "<b>" not in shown.text
        assert len(shown.body) < MOST_BYTES
    assert "&lt;script&gt;" in get(app, "/items").text
    for row in range(len(HOSTILE)):
        assert get(app, f"/item?row={row}").status == 200


def test_a_selection_is_a_file(app, source):
    rows = source.rows(source.run()).totals(RowSelection(reason="moved"))["rows"]
    csv = get(app, "/items.csv?reason=moved")
    assert pa_csv.read_csv(io.BytesIO(csv.body)).num_rows == rows
    parquet = get(app, "/items.parquet?reason=moved")
    table = pq.read_table(io.BytesIO(parquet.body))
    assert table.num_rows == rows
    assert {"item_id", "now_ads", "share_ads", "reason"} <= set(table.column_names)


def test_what_if_answers_the_sliders(app):
    told = json.loads(get(app, "/whatif.json?row=20&to0=20&to1=40&to2=40").body)
    assert told["shares"] == [20, 40, 40]
    assert told["headline"].startswith("Expected gain ")


@pytest.mark.parametrize(
    ("address", "status", "said"),
    [
        ("/nowhere", 404, "There is no such page."),
        ("/items?run=none", 404, "Expected a run of the decision log"),
        ("/items?reason=movd", 422, "moved"),
        ("/items.csv?channel=nothing", 422, "ads"),
        ("/items.parquet?channel=nothing", 422, "ads"),
        ("/item?row=99999", 404, "Expected a row of run"),
        ("/item?row=x", 422, "Expected a row of the run"),
        ("/item?unit=nobody", 422, "Expected a unit of this run"),
        ("/versions?one=1&amp;other=9", 200, "Versions"),
        ("/versions?one=1&other=9", 404, "Expected a version that is kept"),
        ("/static/../app.py", 404, ""),
    ],
)
def test_what_cannot_be_shown_is_said(app, address, status, said):
    shown = get(app, address)
    assert shown.status == status
    assert said in shown.text
