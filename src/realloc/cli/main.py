"""The command `realloc`. Exit codes: 0 done, 2 bad input, 1 unexpected or unfinished."""

import io
import os
import sys
from typing import Annotated

import typer

from realloc.base.errors import ReallocError, UnfinishedError
from realloc.base.version import __version__
from realloc.cli.lazy import LazyGroup

app = typer.Typer(
    name="realloc",
    cls=LazyGroup,
    help="Which budget moves between channels pay, how sure that is, and when to keep the mix.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    add_completion=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"realloc {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Which budget moves between channels pay, how sure that is, and when to keep the mix."""


def _print_error(text: object) -> None:
    from realloc.cli.console import (
        print_error,
    )  # brings libraries that `--help` can do without

    print_error(text)


def main() -> None:
    """Run a command: bad input is one message and exit code 2, anything unexpected exit code 1."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that cannot show a character shows another one.
            stream.reconfigure(errors="replace")
    try:
        app()
    except UnfinishedError as problem:
        _print_error(problem)
        sys.exit(1)
    except ReallocError as problem:
        _print_error(problem)
        sys.exit(2)
    except SystemExit as ended:
        if ended.code == 130:  # Ctrl-C
            _print_error("interrupted; no partial result was kept.")
        raise
    except BrokenPipeError:
        # The reader has closed its end: it has seen enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as problem:
        where = f": {problem.filename}" if problem.filename else ""
        _print_error(f"{problem.strerror or problem}{where}.")
        sys.exit(2)
    except Exception as problem:
        if os.environ.get("REALLOC_DEBUG"):
            raise
        kind = type(problem).__name__
        _print_error(
            f"unexpected {kind}: {problem}. "
            "Run again with REALLOC_DEBUG=1 and report what it prints."
        )
        sys.exit(1)
