"""Pieces of pages: what comes from data is text, never markup, wherever it is shown."""

import io

import pytest
from rich.console import Console

from realloc.draw import Bullets, DataTable, Paragraph, Part, Tile, Tiles, VerdictBox
from realloc.draw.pieces import MOST_ROWS, as_markdown

HOSTILE = "<b>x</b> [red]y[/] *z* | a_b"
PIECES = [
    Paragraph(HOSTILE),
    Paragraph(HOSTILE, "missing"),
    VerdictBox(HOSTILE, "bad"),
    Bullets([HOSTILE]),
    DataTable((HOSTILE, "b"), [(HOSTILE, "+1")], HOSTILE, HOSTILE),
    Tiles([Tile(HOSTILE, HOSTILE, HOSTILE, "good")]),
    Part(HOSTILE, [Paragraph(HOSTILE)]),
]
KINDS = [type(piece).__name__ for piece in PIECES]


def in_terminal(piece) -> str:
    written = io.StringIO()
    Console(file=written, width=120).print(piece)
    return written.getvalue()


@pytest.mark.parametrize("piece", PIECES, ids=KINDS)
def test_nothing_from_the_data_becomes_markup(piece):
    assert "<b>" not in piece.__html__()
    assert "&lt;b&gt;" in piece.__html__()
    assert "<b>" not in piece.markdown().replace("\\<b\\>", "")
    assert "[red]y[/]" in in_terminal(piece)


def test_names_are_set_as_code():
    shown = Paragraph("Name `<x>`.", "note").__html__()
    assert shown == '<p class="note">Name <code>&lt;x&gt;</code>.</p>'
    assert Bullets(["Run `it`."]).__html__() == "<ul><li>Run <code>it</code>.</li></ul>"
    assert VerdictBox("Wait.", "wait").__html__() == '<p class="verdict wait">Wait.</p>'


def test_tiles_are_a_list_in_markdown():
    tiles = Tiles([Tile("Moved", "5 %", "of all *rows*"), Tile("Gain", "+3")])
    assert tiles.markdown() == "- Moved: **5 %** (of all \\*rows\\*)\n- Gain: **+3**"


def test_columns_of_numbers_after_the_first_go_right():
    table = DataTable(
        ("name", "value", "text"), [("1", "+2", "3 of <4"), ("b", "", "none")]
    )
    assert table.looks == ["name", "number", ""]
    shown = table.__html__()
    assert '<th scope="col" class="number">value</th><th scope="col">text</th>' in shown
    assert '<td class="name">1</td><td class="number">+2</td><td>3 of &lt;4</td>' in shown


def test_a_long_cell_shows_whole_when_pointed_at():
    shown = DataTable(("a",), [("x" * 80,)]).__html__()
    assert f'<span title="{"x" * 80}">{"x" * 59}…</span>' in shown


def test_long_tables_are_cut_off_outside_of_pages_and_say_so():
    table = DataTable(("a",), [(f"row-{k}",) for k in range(MOST_ROWS + 5)])
    assert "… and 5 more rows" in table.markdown()
    assert "… and 5 more rows" in in_terminal(table)
    assert f"row-{MOST_ROWS + 4}" in table.__html__()


def test_markdown_keeps_code_and_escapes_the_rest():
    assert as_markdown("`a_b` *x*\ny") == "`a_b` \\*x\\* y"


def test_a_table_without_rows_is_its_head():
    assert DataTable(("a", "b"), []).__html__().count("<tr>") == 1
