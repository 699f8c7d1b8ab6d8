"""Parts decided here or in several processes. Workers only compute: whatever changes the disk, the run itself does."""

import ctypes
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Generator, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import cache
from multiprocessing import connection

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from realloc.base.errors import StoreError
from realloc.base.numerics.blas import one_blas_thread
from realloc.batch.asked import Asked, Opened, open_asked
from realloc.batch.chunks import Part
from realloc.batch.score import score
from realloc.batch.tally import Tally
from realloc.batch.work import Packed, Work, pack
from realloc.storage.ledger.rows import Run

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
AHEAD = 1  # parts that wait for each worker, so that none waits for a part

_state: dict[str, Opened] = {}  # of a worker


def decide_parts(
    asked: Asked,
    opened: Opened,
    parts: Iterator[Part],
    repeated: NDArray[np.int64],
    work: Work,
    jobs: int,
) -> Iterator[tuple[int, Tally]]:
    """Decide and keep parts, each as soon as it is done."""
    if jobs <= 1:
        with one_thread():
            for part in parts:
                yield (
                    part.number,
                    work.keep(part.number, pack(score(part, opened.decider, repeated, work.run))),
                )
                give_back()
        return
    pool = ProcessPoolExecutor(
        jobs, multiprocessing.get_context("spawn"), initializer=_start, initargs=(asked,)
    )
    try:
        with _one_thread_each():
            for number, packed in _spread(pool, parts, repeated, work.run, jobs):
                tally = work.keep(number, packed)
                del packed
                give_back()
                yield number, tally
    except BrokenProcessPool as problem:
        raise StoreError(
            "Expected worker processes to stay until their parts are done, but one was ended, perhaps for want of memory. "
            "What is finished is kept: run the same command again, with fewer `--jobs`."
        ) from problem
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _spread(
    pool: ProcessPoolExecutor,
    parts: Iterator[Part],
    repeated: NDArray[np.int64],
    run: Run,
    jobs: int,
) -> Iterator[tuple[int, Packed]]:
    """Never more parts under way than workers and those that wait for them."""
    waiting: dict[Future[Packed], int] = {}
    for part in parts:
        rows = part.source.rows or 0
        own = repeated[(repeated >= part.first) & (repeated < part.first + rows)]
        waiting[pool.submit(_score, part, own, run)] = part.number
        if len(waiting) >= jobs * (1 + AHEAD):
            yield from _finished(waiting)
    while waiting:
        yield from _finished(waiting)


def _finished(waiting: dict[Future[Packed], int]) -> Iterator[tuple[int, Packed]]:
    done, _ = wait(waiting, return_when=FIRST_COMPLETED)
    for future in done:
        yield waiting.pop(future), future.result()


def _start(asked: Asked) -> None:
    """In a worker: load the version, and end when whoever started it ends, however that happens."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the run hears of it and ends its workers
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()
    _state["opened"] = open_asked(asked)


def _end_with(sentinel: int) -> None:
    connection.wait([sentinel])
    os._exit(1)


def _score(part: Part, repeated: NDArray[np.int64], run: Run) -> Packed:
    give_back()  # what the last part needed
    with one_thread():
        return pack(score(part, _state["opened"].decider, repeated, run))


def give_back() -> None:
    """Let the system have what finished parts needed: allocators keep it, and a long run would grow with its rows."""
    pa.default_memory_pool().release_unused()
    trim = getattr(_libc(), "malloc_trim", None)  # glibc's own
    if trim is not None:
        trim(0)


@cache
def _libc() -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL(None)
    except (OSError, TypeError):
        return None


@contextmanager
def one_thread() -> Generator[None]:
    """Sums of several threads may differ in the last digit, and answers must not depend on the number of processes."""
    torch = sys.modules.get("torch")  # only where a model itself is asked
    before = torch.get_num_threads() if torch else 1
    if torch:
        torch.set_num_threads(1)
    try:
        with one_blas_thread:
            yield
    finally:
        if torch:
            torch.set_num_threads(before)


@contextmanager
def _one_thread_each() -> Generator[None]:
    """What processes that start now read before they load numpy: one thread each, or they would crowd each other out."""
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
