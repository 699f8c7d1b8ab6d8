"""Pieces of pages: each shows itself as HTML, as Markdown and in a terminal.

A piece has `__html__`, so a template writes `{{ piece }}`. What comes from data is text, never
markup.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from realloc.draw.templates import render_piece

if TYPE_CHECKING:
    from rich.console import RenderableType

NUMERIC = set("0123456789+-−<[(–≥≤")  # what the text of a number starts with
LONGEST = 60  # characters of a cell; more are cut off, and shown when somebody points at it
MOST_ROWS = 40  # of a table in Markdown or in a terminal
TONES = {"good": "bold green", "bad": "bold red", "wait": "bold yellow"}
SIGNS = {"good": "✔", "bad": "✖", "wait": "!"}


class PagePiece(Protocol):
    """Anything that a page, a notebook or a terminal can show."""

    def __html__(self) -> str:
        """For a page that has the style."""
        ...

    def markdown(self) -> str:
        """For a notebook that shows no HTML, or a pull request."""
        ...

    def __rich__(self) -> RenderableType:
        """For a terminal."""
        ...


@dataclass(frozen=True)
class Paragraph:
    """A paragraph with `names` set as code; `look` is empty, note or missing."""

    text: str
    look: str = ""

    def __html__(self) -> str:
        return render_piece("paragraph", self)

    def markdown(self) -> str:
        """As Markdown."""
        return (
            f"**Missing:** {as_markdown(self.text)}"
            if self.look == "missing"
            else as_markdown(self.text)
        )

    def __rich__(self) -> RenderableType:
        from rich.text import Text

        if self.look == "missing":
            return Text(f"! {self.text}", style="yellow")
        return Text(self.text, style="dim" if self.look == "note" else "")


@dataclass(frozen=True)
class VerdictBox:
    """What to do, in one paragraph; `tone` is good, wait or bad."""

    text: str
    tone: str

    def __html__(self) -> str:
        return render_piece("verdict", self)

    def markdown(self) -> str:
        """As Markdown."""
        return f"> **{as_markdown(self.text)}**"

    def __rich__(self) -> RenderableType:
        from rich.text import Text

        return Text(f"{SIGNS[self.tone]} {self.text}", style=TONES[self.tone])


@dataclass(frozen=True)
class Bullets:
    """Sentences as a list, with `names` set as code."""

    texts: Sequence[str]

    def __html__(self) -> str:
        return render_piece("bullets", self)

    def markdown(self) -> str:
        """As Markdown."""
        return "\n".join(f"- {as_markdown(text)}" for text in self.texts)

    def __rich__(self) -> RenderableType:
        from rich.text import Text

        return Text("\n".join(f"• {text}" for text in self.texts))


@dataclass(frozen=True)
class DataTable:
    """Texts in columns; numbers after the first column go right."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""
    note: str = ""  # below
    longest: int = LONGEST

    @property
    def looks(self) -> list[str]:
        """The class of each column."""
        looks = ["name"]
        for column in range(1, len(self.heads)):
            cells = [row[column] for row in self.rows if row[column]]
            numeric = all(cell[:1] in NUMERIC for cell in cells)
            looks.append("number" if numeric and cells else "")
        return looks

    def __html__(self) -> str:
        return render_piece("table", self)

    def markdown(self) -> str:
        """As Markdown."""
        looks = ["---:" if look == "number" else "---" for look in self.looks]
        shown = self.rows[:MOST_ROWS]
        lines = [
            _row(self.heads),
            f"| {' | '.join(looks)} |",
            *(_row(row) for row in shown),
        ]
        if len(self.rows) > MOST_ROWS:
            lines += ["", f"… and {len(self.rows) - MOST_ROWS:,} more rows"]
        if self.caption:
            lines = [as_markdown(self.caption), "", *lines]
        if self.note:
            lines += ["", as_markdown(self.note)]
        return "\n".join(lines)

    def __rich__(self) -> RenderableType:
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        for head, look in zip(self.heads, self.looks, strict=True):
            justify = "right" if look == "number" else "left"
            table.add_column(head, justify=justify, overflow="fold")
        for row in self.rows[:MOST_ROWS]:
            table.add_row(*(Text(cell) for cell in row))
        more = len(self.rows) - MOST_ROWS
        left = [f"… and {more:,} more rows"] if more > 0 else []
        notes = [Text(text, style="dim") for text in (*left, self.note) if text]
        above = [Text(self.caption, style="dim")] if self.caption else []
        return Group(*above, table, *notes)


@dataclass(frozen=True)
class Tile:
    """One number that matters, its name, and what to know about it."""

    label: str
    value: str
    note: str = ""
    tone: str = ""  # good, bad, wait or none


@dataclass(frozen=True)
class Tiles:
    """The few numbers that a reader looks for first."""

    tiles: Sequence[Tile]

    def __html__(self) -> str:
        return render_piece("tiles", self)

    def markdown(self) -> str:
        """As Markdown."""
        lines = [
            f"- {as_markdown(tile.label)}: **{as_markdown(tile.value)}**"
            + (f" ({as_markdown(tile.note)})" if tile.note else "")
            for tile in self.tiles
        ]
        return "\n".join(lines)

    def __rich__(self) -> RenderableType:
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
        for tile in self.tiles:
            value = Text(tile.value, style=TONES.get(tile.tone, "bold"))
            table.add_row(Text(tile.label), value, Text(tile.note, style="dim"))
        return table


@dataclass(frozen=True)
class Part:
    """Pieces under a heading."""

    title: str
    pieces: Sequence[PagePiece] = field(repr=False)

    def __html__(self) -> str:
        return render_piece("part", self)

    def markdown(self) -> str:
        """As Markdown."""
        return "\n\n".join(
            [f"### {as_markdown(self.title)}", *(p.markdown() for p in self.pieces)]
        )

    def __rich__(self) -> RenderableType:
        from rich.console import Group
        from rich.padding import Padding
        from rich.text import Text

        inner = [Padding(piece, (0, 0, 0, 2)) for piece in self.pieces]
        return Group(Text(f"\n{self.title}", style="bold"), *inner)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(as_markdown(cell) for cell in cells)} |"


def as_markdown(text: str) -> str:
    """Text from data as Markdown: no table cell, link, markup or second line of its own."""
    parts = text.replace("\n", " ").split("`")
    for place in range(0, len(parts), 2):
        parts[place] = re.sub(r"([\\|<>\[\]*_#~])", r"\\\1", parts[place])
    return "`".join(parts)
