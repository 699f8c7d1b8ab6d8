"""`realloc demo`: the main job end to end on built-in data."""

from pathlib import Path
from typing import Annotated

import typer

from realloc.cli.check import show_check
from realloc.cli.console import stdout

OUT = Path("realloc-demo")


def demo(
    out: Annotated[Path, typer.Option(help="Folder for what the demo writes.")] = OUT,
    units: Annotated[int, typer.Option(min=50, help="Items in the training log.")] = 600,
) -> None:
    """Simulate a log, check it, fit, recommend for new items, and compare with the known truth."""
    from realloc.cli.walkthrough import run_demo

    console = stdout()
    result = run_demo(out, units, lambda text: console.print(f"[bold]{text}[/]"))
    show_check(result.check, console, guessed=True)
    console.print(
        "[bold]Recommendations[/] (first five of them, then how many of each kind)"
    )
    for line in result.first_rows:
        console.print(f"  {line}")
    console.print()
    for reason, count in result.reasons.items():
        console.print(f"  {reason:12}{count:6,}")
    console.print("\n[bold]Why, for the first item[/]")
    for line in result.why:
        console.print(f"  {line}")
    console.print("\n[bold]True gains[/] in orders per item (unknown on real data)")
    for title, gains in (
        ("ReAlloc", result.ours),
        ("one constant field", result.simple),
    ):
        console.print(
            f"  {title:24} predicted {gains.predicted:+.3f}, true {gains.true:+.3f}; "
            f"{gains.harmed:.0%} of the moved items lose, "
            f"{gains.certified:.0%} gain at least their lower bound"
        )
    console.print(f"Everything is in {out}/: {', '.join(result.files)}")
