"""Progress of long steps: a function of (step, done, total), and bars or lines on stderr that are
one.
"""

import logging
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

Progress = Callable[[str, int, int], None]  # the step's name, done, total
# Where nobody watches: seconds until the first line, and between lines.
FIRST_LINE = 3.0
NEXT_LINE = 10.0


def silent(step: str, done: int, total: int) -> None:
    """Progress that nobody sees."""


def guarded(progress: Progress) -> Progress:
    """The same progress, whose first error is logged and ends it: no display can break a fit."""
    broken = False

    def report(step: str, done: int, total: int) -> None:
        nonlocal broken
        if broken:
            return
        try:
            progress(step, done, total)
        except Exception as problem:
            broken = True
            logging.getLogger(__name__).warning(
                "Progress is not shown any more, the work goes on: %r", problem
            )

    return report


@contextmanager
def show_progress(
    quiet: bool = False, console: "Console | None" = None, piped: bool = False
) -> Generator[Progress]:
    """Show bars on stderr where somebody watches (a terminal, a notebook); else `silent`, or with
    `piped` a line every ten seconds.

    >>> with show_progress(quiet=True) as progress:
    ...     progress("fit teacher", 1, 10)
    """
    watched = _is_terminal(sys.stderr) or "ipykernel" in sys.modules
    if piped and not quiet and not watched and console is None:
        with _lines() as report:
            yield report
        return
    if quiet or (console is None and not watched):
        yield silent
        return
    if console is None:
        from rich.console import Console

        console = Console(stderr=True)
    if not (console.is_terminal or console.is_jupyter):
        yield silent
        return
    bars = _Bars(console)
    try:
        yield guarded(bars.report)
    finally:
        bars.stop()


@dataclass
class _Step:
    """A step under way: where it stood when it was first heard of, and where it stands."""

    began: float
    first: int
    done: int
    total: int

    def left(self, now: float) -> str:
        """The part done and the time left, as far as they are known."""
        if self.total <= 1:
            return f"{_duration(now - self.began)} so far"
        text = f"{self.done:,} of {self.total:,} ({self.done / self.total:.0%})"
        made = self.done - self.first
        if not made:
            return text
        left = (now - self.began) / made * (self.total - self.done)
        return f"{text}, about {_duration(left)} left"


@contextmanager
def _lines() -> Generator[Progress]:
    """Write what is under way to stderr every ten seconds, from a thread of its own."""
    steps: dict[str, _Step] = {}
    lock = threading.Lock()
    ended = threading.Event()
    began = time.monotonic()

    def report(step: str, done: int, total: int) -> None:
        with lock:
            known = steps.pop(step, None)
            if done >= total:
                return
            began = known.began if known else time.monotonic()
            first = known.first if known else done
            steps[step] = _Step(began, first, done, total)  # the latest stands last

    def write() -> None:
        wait = FIRST_LINE
        while not ended.wait(wait):
            wait = NEXT_LINE
            now = time.monotonic()
            with lock:
                latest = list(steps.items())[-1:]
            said = [f"{name}: {step.left(now)}" for name, step in latest] or ["working"]
            with suppress(OSError, ValueError, AttributeError):  # the pipe may be gone
                sys.stderr.write(f"{_duration(now - began):>8}  {said[0]}\n")
                sys.stderr.flush()

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    try:
        yield guarded(report)
    finally:
        ended.set()
        writer.join()


class _Bars:
    """One bar for each step under way; a step that ended becomes a line above them."""

    def __init__(self, console: "Console") -> None:
        from rich import progress

        columns = (
            progress.TextColumn("{task.description}", markup=False),
            progress.BarColumn(),
            progress.TextColumn("{task.completed:,.0f}/{task.total:,.0f}"),
            progress.TimeElapsedColumn(),
            progress.TimeRemainingColumn(),
        )
        self._console = console
        # Results on stdout stay there; only if both are the terminal must they pass above the bars.
        redirect = _is_terminal(sys.stdout)
        self._live = progress.Progress(
            *columns, console=console, transient=True, redirect_stdout=redirect
        )
        self._tasks: dict[str, Any] = {}  # ids of steps under way; None once ended
        self._lock = threading.RLock()

    def report(self, step: str, done: int, total: int) -> None:
        """Move the bar of a step, making it when new and ending it when done."""
        # What is no number fails here, not in the drawing thread.
        done = int(done)
        total = int(total)
        with self._lock:
            if done >= total and step in self._tasks and self._tasks[step] is None:
                return  # reported twice
            if not self._live.live.is_started:
                self._live.start()
            if self._tasks.get(step) is None:
                self._tasks[step] = self._live.add_task(step, total=total)
            self._live.update(self._tasks[step], completed=done, total=total)
            if done >= total:
                self._end(step)

    def stop(self) -> None:
        """Turn what is still under way into lines and give the terminal back, whatever happened."""
        if not self._live.live.is_started:
            return
        with suppress(Exception):  # the terminal may be gone
            try:
                for step in [
                    step for step, task in self._tasks.items() if task is not None
                ]:
                    self._end(step)
            finally:
                self._live.stop()
                self._console.show_cursor(True)

    def _end(self, step: str) -> None:
        from rich.text import Text

        task = next(task for task in self._live.tasks if task.id == self._tasks[step])
        count = f"{task.completed:,.0f}/{task.total or 0:,.0f}"
        self._live.remove_task(task.id)
        self._tasks[step] = None
        self._console.print(Text(f"{step}  {count}  {_duration(task.elapsed or 0.0)}"))


def _duration(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 60 else str(timedelta(seconds=round(seconds)))


def _is_terminal(stream: Any) -> bool:
    """Whether somebody watches a stream; it may be missing (pythonw) or closed."""
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError):
        return False
