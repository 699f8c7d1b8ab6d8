"""A result with pieces shows itself in notebooks, Markdown and terminals."""

import io

from rich.console import Console

from realloc.draw import DataTable, Shown, VerdictBox


class Result(Shown):
    def pieces(self):
        return [VerdictBox("Launch.", "good"), DataTable(("a", "b"), [("x", "+1")])]


def test_a_result_shows_its_pieces_everywhere():
    result = Result()
    assert "verdict good" in result._repr_html_()
    assert "<style>" in result._repr_html_()
    assert result._repr_markdown_().startswith("> **Launch.**\n\n| a | b |")
    written = io.StringIO()
    Console(file=written, width=80).print(result)
    assert "✔ Launch." in written.getvalue()
