"""Chunks in several processes."""

from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool

import numpy as np
import pyarrow as pa
import pytest

from realloc.base.errors import StoreError
from realloc.batch import workers
from realloc.batch.chunks import Chunk
from realloc.logs.reading.source import Source
from tests.batch.conftest import answers, assert_same_answers, recommend


def test_two_processes_answer_as_one(place):
    recommend(place)
    recommend(place, "other.parquet", jobs=2)
    assert_same_answers(answers(place), answers(place, "other.parquet"))


def test_few_parts_are_under_way_at_once():
    class Pool:
        count = 2
        most = under_way = 0

        def submit(self, *_):
            self.under_way += 1
            self.most = max(self.most, self.under_way)
            future = Future()
            future.set_result("packed")
            return future

    pool, none = Pool(), np.empty(0, np.int64)
    chunks = (Chunk(n, 10 * n, Source(pa.schema([]), 10)) for n in range(30))
    tasks = (workers.ChunkTask(chunk, none) for chunk in chunks)
    for _ in workers._spread(pool, None, tasks):
        pool.under_way -= 1
    assert pool.most <= 4


def test_a_worker_that_is_ended_is_said(place, monkeypatch):
    def broken(*_):
        raise BrokenProcessPool

    monkeypatch.setattr(workers, "_spread", broken)
    with pytest.raises(StoreError, match="A worker process was ended"):
        recommend(place, jobs=2)


@pytest.fixture
def ray():
    """A Ray cluster of two processors that this process is connected to."""
    ray = pytest.importorskip("ray", reason="Ray is not installed (extra `ray`)")
    ray.init(
        num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR"
    )
    yield ray
    ray.shutdown()


def test_a_ray_cluster_answers_as_one_process(place, ray):
    recommend(place)
    recommend(place, "other.parquet", ray="auto")
    assert_same_answers(answers(place), answers(place, "other.parquet"))
    cap = round(float(answers(place).spend_coupon.sum()) - 0.05, 2)
    recommend(place, "pool.parquet", pools={"coupon": cap})
    recommend(place, "ray_pool.parquet", pools={"coupon": cap}, ray="auto")
    assert_same_answers(answers(place, "pool.parquet"), answers(place, "ray_pool.parquet"))
