"""The templates of the package: autoescaped, and strict about names they do not know."""

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from realloc.draw.palette import palette_css

if TYPE_CHECKING:
    from jinja2 import Environment

FILES = files("realloc.draw")


@cache
def environment() -> "Environment":
    """The environment of every page; a console adds folders of its own with `overlay`."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("realloc.draw"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def render(template: str, **values: Any) -> str:
    """A template of the package as text."""
    return environment().get_template(template).render(values)


def render_piece(kind: str, piece: Any) -> str:
    """A piece by its macro."""
    macros = environment().get_template("pieces.html").module
    return str(getattr(macros, kind)(piece))


@cache
def style() -> str:
    """The style sheet of pages and figures."""
    return palette_css() + read("drawing.css") + read("page.css")


def read(name: str) -> str:
    """A file that lies beside this module."""
    return (FILES / name).read_text(encoding="utf-8")
