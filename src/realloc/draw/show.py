"""What shows itself wherever it is printed: notebooks, Markdown and terminals."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from realloc.draw.templates import style

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from realloc.draw.pieces import PagePiece


class Shown:
    """A result that has pieces to show."""

    @abstractmethod
    def pieces(self) -> Sequence[PagePiece]:
        """What there is to see, the most important first."""

    def _repr_html_(self) -> str:
        return notebook_html(self.pieces())

    def _repr_markdown_(self) -> str:
        return "\n\n".join(piece.markdown() for piece in self.pieces())

    def __rich__(self) -> RenderableType:
        from rich.console import Group

        return Group(*self.pieces())


def notebook_html(pieces: Sequence[PagePiece]) -> str:
    """Pieces for a notebook, which brings no style of ours."""
    shown = "".join(piece.__html__() for piece in pieces)
    return f'<div class="realloc note-book"><style>{style()}</style>{shown}</div>'
