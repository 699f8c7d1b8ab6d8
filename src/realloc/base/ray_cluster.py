"""Tasks on a Ray cluster: plain tasks only, retried by Ray when a node or a worker is lost.

What all tasks share is sent once and kept in each worker process that needs it.
"""

from collections.abc import Callable, Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from realloc.base.errors import UnfinishedError
from realloc.base.imports import need
from realloc.base.progress import Progress, silent

Shared = TypeVar("Shared")
Task = TypeVar("Task")
Result = TypeVar("Result")

AHEAD = 1  # tasks that wait for each processor
RETRIES = 5  # of a task whose worker or node was lost
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "RAY_USAGE_STATS_ENABLED": "0"}

_shared: dict[str, Any] = {}  # of a worker


@dataclass(frozen=True)
class RayCluster:
    """A connection to a cluster."""

    ray: Any
    count: int  # processors

    def share(self, value: Any) -> Any:
        """Send a value to the cluster, once."""
        return self.ray.put(value)

    def submit(
        self, function: Callable[[Shared, Task], Result], shared: Any, task: Task
    ) -> Future[Result]:
        """Have `function(shared, task)` done; `shared` is what `share` returned."""
        remote = self.ray.remote(num_cpus=1, max_retries=RETRIES)(_run)
        # In a list, or Ray would send the value with every task.
        return remote.remote(function, [shared], task).future()


def _run(function: Callable[[Any, Any], Any], shared: list[Any], task: Any) -> Any:
    """In a worker: fetch what is shared, if this process has not yet, and run the task."""
    name = shared[0].hex()
    if name not in _shared:
        _shared.clear()
        _shared[name] = need("ray").get(shared[0])
    return function(_shared[name], task)


@contextmanager
def ray_cluster(address: str) -> Generator[RayCluster]:
    """Connect to the cluster at an address (`auto`: the one of this machine)."""
    ray = need("ray", "ray")
    began = not ray.is_initialized()
    if began:
        try:
            ray.init(
                address=address,
                log_to_driver=False,
                logging_level="ERROR",
                runtime_env={"env_vars": ENVIRONMENT},
            )
        except (ConnectionError, ValueError, RuntimeError) as problem:
            raise UnfinishedError(
                f"No Ray cluster answers at {address!r}. Start one with `ray start --head`, name "
                "another `--address`, or leave out `--engine ray`. What is finished is kept."
            ) from problem
    try:
        yield RayCluster(ray, max(1, int(ray.cluster_resources().get("CPU", 1))))
    except ray.exceptions.RayTaskError as problem:
        raise problem.cause from problem  # of our own, as a task here would raise it
    except ray.exceptions.RayError as problem:
        raise UnfinishedError(
            f"The Ray cluster gave up on a task ({type(problem).__name__}) after {RETRIES} "
            "retries. What is finished is kept: look at the cluster, then run the same command "
            "again."
        ) from problem
    finally:
        if began:
            ray.shutdown()


@dataclass(frozen=True)
class RayEngine:
    """Runs tasks on a Ray cluster; the same answers as on this machine."""

    address: str = "auto"

    def map(
        self,
        function: Callable[[Shared, Task, Progress], Result],
        shared: Shared,
        tasks: Sequence[Task],
        progress: Progress = silent,
    ) -> list[Result]:
        """All results, in the order of the tasks; at most two tasks a processor are under way."""
        results: dict[int, Result] = {}
        with ray_cluster(self.address) as cluster:
            sent = cluster.share((function, shared))
            waiting: dict[Future[Result], int] = {}
            for number, task in enumerate(tasks):
                waiting[cluster.submit(_call, sent, task)] = number
                if len(waiting) >= cluster.count * (1 + AHEAD):
                    _collect(waiting, results, progress, len(tasks))
            while waiting:
                _collect(waiting, results, progress, len(tasks))
        return [results[number] for number in range(len(tasks))]


def _call(sent: tuple[Callable[[Any, Any, Progress], Any], Any], task: Any) -> Any:
    function, shared = sent
    return function(shared, task, silent)


def _collect(
    waiting: dict[Future[Result], int],
    results: dict[int, Result],
    progress: Progress,
    total: int,
) -> None:
    done, _ = wait(waiting, return_when=FIRST_COMPLETED)
    for future in done:
        results[waiting.pop(future)] = future.result()
        progress("tasks", len(results), total)
