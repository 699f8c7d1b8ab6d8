"""Pieces of pages: what comes from data is text, never markup."""

from realloc.draw.page import bullets, heading, page, paragraph, table, verdict_box


def test_a_page_stands_alone_under_its_title():
    shown = page("Test of <May>", [heading("A & B"), paragraph("fine")])
    assert shown.startswith("<!doctype html>")
    assert "<title>Test of &lt;May&gt;</title>" in shown
    assert "<h2>A &amp; B</h2><p>fine</p></body>" in shown
    assert "http" not in shown
    assert "<script" not in shown


def test_names_are_set_as_code_and_markup_is_escaped():
    assert (
        paragraph("Name `<x>`.", "note")
        == '<p class="note">Name <code>&lt;x&gt;</code>.</p>'
    )
    assert bullets(["Run `it`."]) == "<ul><li>Run <code>it</code>.</li></ul>"
    assert verdict_box("Wait.", "wait") == '<p class="verdict wait">Wait.</p>'


def test_columns_of_numbers_after_the_first_go_right():
    shown = table(("name", "value", "text"), [("1", "+2", "3 of <4"), ("b", "", "none")])
    assert '<th class="name">name</th><th class="number">value</th><th>text</th>' in shown
    assert '<td class="name">1</td><td class="number">+2</td><td>3 of &lt;4</td>' in shown


def test_a_table_without_rows_is_its_head():
    assert table(("a", "b"), []).count("<tr>") == 1
