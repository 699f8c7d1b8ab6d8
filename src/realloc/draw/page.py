"""Pages that need nothing else: no script, nothing from elsewhere, and a policy that says so."""

from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256

from realloc.base.version import __version__
from realloc.draw.pieces import PagePiece
from realloc.draw.templates import render, style

FOOTER = (
    f"Written by ReAlloc {__version__}. This file stands alone: no script, nothing is loaded. It "
    "holds totals and the units that it names, no other data."
)


def page(title: str, pieces: Sequence[PagePiece], subtitle: str = "") -> str:
    """A page of these pieces under its title."""
    from markupsafe import Markup

    css = style()
    return render(
        "page.html",
        title=title,
        subtitle=subtitle,
        pieces=pieces,
        style=Markup(css),  # noqa: S704  our own file
        digest=b64encode(sha256(css.encode()).digest()).decode(),
        footer=FOOTER,
    )
