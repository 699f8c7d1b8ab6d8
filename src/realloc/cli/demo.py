"""`realloc demo`: the main job end to end on built-in data."""

from pathlib import Path
from typing import Annotated

import typer

from realloc.cli.check import show_audit
from realloc.cli.console import stdout


def demo(
    out: Annotated[Path, typer.Option(help="Folder for what the demo writes.")] = Path("realloc-demo"),
    units: Annotated[int, typer.Option(min=50, help="Items in the training log.")] = 2000,
) -> None:
    """Simulate a log, audit it, fit a simple policy, recommend for new items, and compare with the known truth."""
    from realloc.demo import run_demo  # noqa: PLC0415  the worlds load only when drawn from

    console = stdout()
    result = run_demo(out, units, lambda text: console.print(f"[bold]{text}[/]"))
    show_audit(result.audit, console, guessed=True)
    console.print("[bold]Recommendations[/] (first five of them, then how many of each kind)")
    for line in result.first_rows:
        console.print(f"  {line}")
    console.print()
    for reason, count in result.reasons.items():
        console.print(f"  {reason:12}{count:6,}")
    console.print(
        "\nThis policy has one field for everybody: right on average, blind to who gains and who loses. "
        f"Predicted gain {result.predicted:+.3f} orders an item; the world's truth {result.true:+.3f}; "
        f"{result.harmed:.0%} of the moved items lose."
    )
    console.print(f"Everything is in {out}/: {', '.join(result.files)}")
