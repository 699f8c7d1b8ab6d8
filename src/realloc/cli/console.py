"""Where text goes: results to stdout, progress to stderr."""

import io
import json
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import typer
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table

from realloc.base.progress import show_progress
from realloc.logs.reading.read import OnProgress


class _WithoutPadding(io.StringIO):
    """Passes text on without the blanks that a table pads its lines with."""

    def write(self, text: str, /) -> int:
        lines = [line.rstrip() for line in text.rstrip("\n").split("\n")]
        sys.stdout.write("\n".join(lines) + ("\n" if text.endswith("\n") else ""))
        return len(text)

    def flush(self) -> None:
        sys.stdout.flush()


def stdout() -> Console:
    """A console for results; 120 columns without padding where nobody watches."""
    console = Console(highlight=False)
    if console.is_terminal:
        return console
    return Console(highlight=False, width=120, file=_WithoutPadding())


def print_json(value: Any) -> None:
    """Print a result for programs."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))


def print_error(text: object) -> None:
    """Print one message to stderr, after the program's name."""
    typer.echo(f"realloc: {text}", err=True)


def plain_table() -> Table:
    """A table without lines."""
    return Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))


def indented(content: RenderableType) -> Padding:
    """Set two columns to the right, also where lines are folded."""
    return Padding(content, (0, 0, 0, 2))


@contextmanager
def busy(title: str, quiet: bool = False) -> Generator[None]:
    """A spinner on stderr for work that cannot say how far it is; lines where nobody watches."""
    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        with show_progress(quiet, piped=True) as progress:
            progress(title, 0, 1)
            yield
        return
    with console.status(title):
        yield


@contextmanager
def progress_bar(title: str, quiet: bool = False) -> Generator[OnProgress]:
    """A bar on stderr that a job moves by calling what it is given with (done, total if known)."""
    with show_progress(quiet, piped=True) as progress:

        def advance(done: int, total: int | None) -> None:
            if total is not None:
                progress(title, done, total)

        yield advance
