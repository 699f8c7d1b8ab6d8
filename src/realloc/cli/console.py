"""Where text goes: results to stdout, progress to stderr and only on a terminal."""

from collections.abc import Generator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from realloc.logs.read import OnProgress


def stdout() -> Console:
    """A console for results; wide where nobody resizes it."""
    console = Console(highlight=False, soft_wrap=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=120)
    return console


@contextmanager
def progress_bar(title: str, unit: str = "rows", quiet: bool = False) -> Generator[OnProgress]:
    """A bar on stderr that a job moves by calling what it is given with (done, in all or None)."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.completed:,.0f} {task.fields[unit]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, disable=quiet or not console.is_terminal, transient=True) as progress:
        task = progress.add_task(title, total=None, unit=unit)

        def advance(done: int, total: int | None) -> None:
            progress.update(task, completed=done, total=total)

        yield advance
