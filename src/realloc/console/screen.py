"""What a page is made of: who asks for what, and a template with its values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from realloc.base.numbers import percent, plain, signed
from realloc.console.roles import Member
from realloc.console.source import ConsoleSource
from realloc.draw import PagePiece, environment, style

if TYPE_CHECKING:
    from jinja2 import Environment

FILES = files("realloc.console")
MENU = (
    ("Decide", (("/", "Overview"), ("/items", "Items"), ("/review", "Review"))),
    ("Plan", (("/constraints", "Constraints"),)),
    (
        "Trust",
        (
            ("/evaluations", "Evaluations"),
            ("/versions", "Versions"),
            ("/monitor", "Monitor"),
            ("/log", "Decision log"),
        ),
    ),
)


@dataclass(frozen=True, eq=False)
class Visit:
    """A request for a page."""

    source: ConsoleSource
    member: Member
    path: str
    query: Mapping[str, str]
    lists: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    may_log_out: bool = False

    def text(self, name: str) -> str:
        """A part of the address, or of a form; empty where it is missing."""
        return self.query.get(name, "")


@dataclass(frozen=True, eq=False, kw_only=True)
class Screen:
    """A page: a template and what it shows."""

    title: str
    menu: str = ""  # the entry of the menu that it belongs to
    template: str = "pieces.html"
    subtitle: str = ""
    pieces: Sequence[PagePiece] = ()
    values: Mapping[str, Any] = field(default_factory=dict[str, Any])
    status: int = 200


@cache
def templates() -> "Environment":
    """The console's templates beside those of all pages."""
    from jinja2 import ChoiceLoader, PackageLoader

    shared = environment()
    loaders = [
        PackageLoader("realloc.console"),
        *([shared.loader] if shared.loader else []),
    ]
    own = shared.overlay(loader=ChoiceLoader(loaders))
    own.filters = {
        **own.filters,
        "percent": percent,
        "plain": plain,
        "signed": signed,
        "day": day,
    }
    return own


def render_screen(visit: Visit, screen: Screen) -> str:
    """The whole page."""
    return (
        templates()
        .get_template(screen.template)
        .render(
            screen=screen,
            visit=visit,
            menu=MENU,
            fresh=visit.source.freshness(),
            css=versioned("console.css"),
            **screen.values,
        )
    )


def day(time: Any) -> str:
    """A time without its midnight."""
    return (
        "not known" if time is None else time.isoformat(sep=" ").removesuffix(" 00:00:00")
    )


@cache
def static(name: str) -> bytes:
    """A file of the console; the style sheet with that of all pages before it."""
    own = (FILES / "static" / name).read_bytes()
    return style().encode() + own if name == "console.css" else own


@cache
def versioned(name: str) -> str:
    """The address of a file, which changes when the file does."""
    return f"/static/{name}?v={sha256(static(name)).hexdigest()[:12]}"
