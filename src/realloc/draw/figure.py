"""A figure: a title, a sentence that says what to see, a drawing, and the numbers behind it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from realloc.base.errors import ConfigError
from realloc.draw.palette import palette_css
from realloc.draw.pieces import DataTable, as_markdown
from realloc.draw.show import notebook_html
from realloc.draw.svg import LETTER, Rectangle, fit, rect, text
from realloc.draw.templates import read, render_piece

if TYPE_CHECKING:
    from rich.console import RenderableType

WIDTH = 720.0


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A notebook shows it as it is; a template writes `{{ figure }}`; `save` writes a file."""

    title: str
    sentence: str  # what to see
    marks: tuple[str, ...] = field(default=(), repr=False)  # none: the sentence says why
    width: float = WIDTH
    height: float = 0.0
    heads: tuple[str, ...] = field(default=(), repr=False)  # of the numbers
    rows: tuple[tuple[str, ...], ...] = field(default=(), repr=False)

    @property
    def empty(self) -> bool:
        """Whether there is nothing to draw."""
        return not self.marks

    @property
    def numbers(self) -> DataTable:
        """The numbers behind the drawing."""
        return DataTable(self.heads, self.rows)

    def svg(self, alone: bool = False) -> str:
        """The drawing; `alone` with the style that a page would bring."""
        if self.empty:
            return ""
        size = f'viewBox="0 0 {self.width:.0f} {self.height:.0f}"'
        space = ' xmlns="http://www.w3.org/2000/svg"' if alone else ""
        css = palette_css() + read("drawing.css") if alone else ""
        style = f"<style>{escape(css, quote=False)}</style>" if alone else ""
        looks = "drawing realloc alone" if alone else "drawing"
        return (
            f'<svg{space} class="{looks}" role="img" {size} width="{self.width:.0f}" '
            f'height="{self.height:.0f}"><title>{escape(self.title)}</title>'
            f"<desc>{escape(self.sentence)}</desc>{style}{''.join(self.marks)}</svg>"
        )

    def save(self, path: str | Path) -> None:
        """Write the drawing as an SVG file that needs nothing else."""
        if self.empty:
            raise ConfigError(
                f"There is nothing to draw for {self.title!r}. {self.sentence}"
            )
        Path(path).write_text(self.svg(alone=True), encoding="utf-8")

    def __html__(self) -> str:
        return render_piece("figure", self)

    def markdown(self) -> str:
        """As Markdown: what to see, and the numbers."""
        caption = f"**{as_markdown(self.title)}.** {as_markdown(self.sentence)}"
        return "\n\n".join([caption, *([self.numbers.markdown()] if self.rows else [])])

    def _repr_html_(self) -> str:
        return notebook_html([self])

    def _repr_markdown_(self) -> str:
        return self.markdown()

    def __rich__(self) -> RenderableType:
        from rich.console import Group
        from rich.text import Text

        said = Text(self.sentence, style="dim")
        return Group(Text(self.title), said, *([self.numbers] if self.rows else []))

    def __str__(self) -> str:
        return f"{self.title}. {self.sentence}"


def nothing(title: str, why: str) -> Figure:
    """In place of a figure: why there is none."""
    return Figure(title=title, sentence=why)


def key(entries: Sequence[tuple[str, str]], y: float = 10.0) -> list[str]:
    """A legend in one line: pairs of a class and a name."""
    marks: list[str] = []
    x = 0.0
    for look, name in entries:
        words = fit(name, 150)
        if x + 22 + LETTER * len(words) > WIDTH:
            marks.append(text((x, y), "…", "soft"))
            break
        marks.append(rect(Rectangle(x, y - 9, 11, 11), look))
        marks.append(text((x + 16, y), words, "soft"))
        x += 36 + LETTER * len(words)
    return marks
