"""Independent tasks of a long job, and the engines that run them.

A task is a function of what all tasks share and of its own part, both of which can be pickled. It
computes on one thread and draws from seeds of its own, so its result depends neither on the engine
nor on how many tasks run at once.
"""

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Protocol, TypeVar

from realloc.base.progress import Progress, silent

Shared = TypeVar("Shared")
Task = TypeVar("Task")
Result = TypeVar("Result")

_inside = threading.local()  # whether this thread is running a task


class Engine(Protocol):
    """Runs tasks somewhere."""

    def map(
        self,
        function: Callable[[Shared, Task, Progress], Result],
        shared: Shared,
        tasks: Sequence[Task],
        progress: Progress = silent,
    ) -> list[Result]:
        """`function(shared, task, progress)` of every task, in the order of the tasks.

        An error in one task ends the others and is raised here. An engine whose tasks run on
        other machines hands them `silent`, and reports each task itself when it is done.
        """
        ...


@dataclass(frozen=True)
class LocalEngine:
    """Threads of this process: array libraries let go of the interpreter while they compute.

    >>> LocalEngine(2).map(lambda scale, number, _: scale * number, 10, [1, 2, 3])
    [10, 20, 30]
    """

    jobs: int = 1

    def map(
        self,
        function: Callable[[Shared, Task, Progress], Result],
        shared: Shared,
        tasks: Sequence[Task],
        progress: Progress = silent,
    ) -> list[Result]:
        """All results; tasks of a task run one after the other."""
        if min(self.jobs, len(tasks)) < 2 or getattr(_inside, "task", False):
            return [function(shared, task, progress) for task in tasks]
        stop = _Stop()

        def run(task: Task) -> Result:
            _inside.task = True
            return function(shared, task, stop.watch(progress))

        with ThreadPoolExecutor(min(self.jobs, len(tasks))) as pool:
            futures = [pool.submit(run, task) for task in tasks]
            try:
                done, _ = wait(futures, return_when=FIRST_EXCEPTION)
                failed = [
                    future for future in futures if future in done and future.exception()
                ]
                return [future.result() for future in failed or futures]
            finally:  # after an error or Ctrl-C, the others end at their next step
                stop.now = True
                pool.shutdown(wait=False, cancel_futures=True)


class _Stop:
    """Ends tasks from outside, when they next report progress."""

    def __init__(self) -> None:
        self.now = False

    def watch(self, progress: Progress) -> Progress:
        """The same progress, which raises once the task is to end."""

        def report(step: str, done: int, total: int) -> None:
            if self.now:
                raise _StoppedError
            progress(step, done, total)

        return report


class _StoppedError(Exception):
    pass


def processors() -> int:
    """How many processors this process may use; macOS cannot say and tells how many there are."""
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed else os.cpu_count() or 1
