"""Chunks decided here, in several processes, or elsewhere. Workers only compute; the run itself
reads and writes.
"""

import ctypes
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from multiprocessing import connection
from typing import Any, Protocol, TypeVar

import pyarrow as pa

from realloc.base.errors import StoreError
from realloc.base.numerics.blas import one_blas_thread
from realloc.base.ray_cluster import RayCluster, ray_cluster
from realloc.base.simplex import Integers
from realloc.batch.chunks import Chunk
from realloc.serve.load import LoadedModel, ModelRequest, load_model

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
AHEAD = 1  # chunks that wait for each worker, so that none waits for a chunk

Made = TypeVar("Made")

_state: dict[str, LoadedModel] = {}  # of a worker


@dataclass(frozen=True)
class ChunkTask:
    """A chunk to work on, which of its rows repeat a key, and what an earlier pass kept of it."""

    chunk: Chunk
    repeated: Integers
    kept: Any = None


Work = Callable[[ChunkTask, LoadedModel], Made]


class Workers(Protocol):
    """Processes that hold the model and work on chunks."""

    @property
    def count(self) -> int:
        """How many there are."""
        ...

    def submit(self, work: Work[Made], task: ChunkTask) -> Future[Made]:
        """Have a task done."""
        ...


def work_on_chunks(
    workers: AbstractContextManager[Workers] | None,
    loaded: LoadedModel,
    work: Work[Made],
    tasks: Iterator[ChunkTask],
) -> Iterator[tuple[int, Made]]:
    """What `work` makes of every chunk, as soon as it is done; None: in this process."""
    if workers is None:
        for task in tasks:
            with one_blas_thread:  # products are too small to gain from more
                made = work(task, loaded)
            yield task.chunk.number, made
            give_back()
        return
    with workers as pool:
        for number, made in _spread(pool, work, tasks):
            yield number, made
            del made
            give_back()


def _spread(
    pool: Workers, work: Work[Made], tasks: Iterator[ChunkTask]
) -> Iterator[tuple[int, Made]]:
    """Never more chunks under way than workers and those that wait for them."""
    waiting: dict[Future[Made], int] = {}
    for task in tasks:
        waiting[pool.submit(work, task)] = task.chunk.number
        if len(waiting) >= pool.count * (1 + AHEAD):
            yield from _finished(waiting)
    while waiting:
        yield from _finished(waiting)


def _finished(waiting: dict[Future[Made], int]) -> Iterator[tuple[int, Made]]:
    done, _ = wait(waiting, return_when=FIRST_COMPLETED)
    for future in done:
        yield waiting.pop(future), future.result()


@dataclass(frozen=True)
class Processes:
    """Processes of this machine."""

    pool: ProcessPoolExecutor
    count: int

    def submit(self, work: Work[Made], task: ChunkTask) -> Future[Made]:
        """Have a task done."""
        return self.pool.submit(_work, work, task)


@contextmanager
def local_processes(request: ModelRequest, count: int) -> Generator[Processes]:
    """Processes that load the version themselves, and end with the run."""
    pool = ProcessPoolExecutor(
        count, multiprocessing.get_context("spawn"), initializer=_start, initargs=(request,)
    )
    try:
        with _one_thread_each():
            yield Processes(pool, count)
    except BrokenProcessPool as problem:
        raise StoreError(
            "A worker process was ended before its chunk was done, perhaps for want of memory. "
            "What is finished is kept: run the same command again, with fewer `--jobs`."
        ) from problem
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


@dataclass(frozen=True)
class RayWorkers:
    """Tasks of a Ray cluster; nodes need neither the store nor the files."""

    cluster: RayCluster
    model: Any  # a reference to it

    @property
    def count(self) -> int:
        """The processors of the cluster."""
        return self.cluster.count

    def submit(self, work: Work[Made], task: ChunkTask) -> Future[Made]:
        """Have a task done."""
        return self.cluster.submit(_work_with, self.model, (work, task))


@contextmanager
def ray_workers(loaded: LoadedModel, address: str) -> Generator[RayWorkers]:
    """Workers of a Ray cluster, which get the version's own bytes."""
    with ray_cluster(address) as cluster:
        yield RayWorkers(cluster, cluster.share(loaded))


def _work_with(loaded: LoadedModel, asked: tuple[Work[Made], ChunkTask]) -> Made:
    work, task = asked
    with one_blas_thread:
        return work(task, loaded)


def _start(request: ModelRequest) -> None:
    """In a worker: load the version, and end when the run ends, however that happens."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the run hears of it and ends its workers
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()
    _state["loaded"] = load_model(request)


def _end_with(sentinel: int) -> None:
    connection.wait([sentinel])
    os._exit(1)


def _work(work: Work[Made], task: ChunkTask) -> Made:
    give_back()  # what the last chunk needed
    return work(task, _state["loaded"])


def give_back() -> None:
    """Free what finished chunks needed: allocators keep it, and memory would grow with the rows."""
    pa.default_memory_pool().release_unused()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc's own
    if trim is not None:
        trim(0)


@contextmanager
def _one_thread_each() -> Generator[None]:
    """Processes that start now get one thread each, or they would crowd each other out."""
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
