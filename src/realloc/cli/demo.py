"""`realloc demo`: the main job end to end on built-in data."""

from pathlib import Path
from typing import Annotated

import typer

from realloc.cli.console import stdout
from realloc.cli.outputs import Force, check_free

OUT = Path("realloc-demo")


def demo(
    out: Annotated[Path, typer.Option(help="Folder for what the demo writes.")] = OUT,
    units: Annotated[int, typer.Option(min=50, help="Items in the training log.")] = 600,
    force: Force = False,
) -> None:
    """Simulate a log, check it, fit, recommend for new items, compare with the known truth,
    and write the report.
    """
    check_free(out, force, folder=True)
    from realloc.cli.walkthrough import run_demo

    run_demo(out, units, stdout())
