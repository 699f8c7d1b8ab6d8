"""Chunks decided here or in several processes. Workers only compute; the run itself writes."""

import ctypes
import multiprocessing
import os
import signal
import threading
from collections.abc import Generator, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import connection

import pyarrow as pa

from realloc.base.errors import StoreError
from realloc.base.numerics.blas import one_blas_thread
from realloc.base.simplex import Integers
from realloc.batch.checkpoint import Checkpoint, PackedChunk, pack
from realloc.batch.chunks import Chunk
from realloc.batch.score import score
from realloc.batch.tally import Tally
from realloc.serve.load import LoadedModel, ModelRequest, load_model
from realloc.storage.ledger.rows import Run

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
AHEAD = 1  # chunks that wait for each worker, so that none waits for a chunk

_state: dict[str, LoadedModel] = {}  # of a worker


def decide_chunks(
    request: ModelRequest,
    loaded: LoadedModel,
    chunks: Iterator[Chunk],
    repeated: Integers,
    checkpoint: Checkpoint,
    jobs: int,
) -> Iterator[tuple[int, Tally]]:
    """Decide and keep chunks, each as soon as it is done."""
    if jobs <= 1:
        for chunk in chunks:
            with one_blas_thread:  # products are too small to gain from more
                packed = pack(score(chunk, loaded, repeated, checkpoint.run))
            yield chunk.number, checkpoint.keep(chunk.number, packed)
            give_back()
        return
    pool = ProcessPoolExecutor(
        jobs, multiprocessing.get_context("spawn"), initializer=_start, initargs=(request,)
    )
    try:
        with _one_thread_each():
            for number, packed in _spread(pool, chunks, repeated, checkpoint.run, jobs):
                tally = checkpoint.keep(number, packed)
                del packed
                give_back()
                yield number, tally
    except BrokenProcessPool as problem:
        raise StoreError(
            "A worker process was ended before its chunk was done, perhaps for want of memory. "
            "What is finished is kept: run the same command again, with fewer `--jobs`."
        ) from problem
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _spread(
    pool: ProcessPoolExecutor,
    chunks: Iterator[Chunk],
    repeated: Integers,
    run: Run,
    jobs: int,
) -> Iterator[tuple[int, PackedChunk]]:
    """Never more chunks under way than workers and those that wait for them."""
    waiting: dict[Future[PackedChunk], int] = {}
    for chunk in chunks:
        rows = chunk.source.rows or 0
        inside = repeated[(repeated >= chunk.first) & (repeated < chunk.first + rows)]
        waiting[pool.submit(_score, chunk, inside, run)] = chunk.number
        if len(waiting) >= jobs * (1 + AHEAD):
            yield from _finished(waiting)
    while waiting:
        yield from _finished(waiting)


def _finished(waiting: dict[Future[PackedChunk], int]) -> Iterator[tuple[int, PackedChunk]]:
    done, _ = wait(waiting, return_when=FIRST_COMPLETED)
    for future in done:
        yield waiting.pop(future), future.result()


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


def _score(chunk: Chunk, repeated: Integers, run: Run) -> PackedChunk:
    give_back()  # what the last chunk needed
    return pack(score(chunk, _state["loaded"], repeated, run))


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
