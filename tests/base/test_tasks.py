"""Engines give the same results in the same order, and an error in one task ends all."""

import threading
import time

import pytest

from realloc.base.tasks import LocalEngine, processors


def scaled(scale, number, progress):
    progress("scaling", number, 4)
    return scale * number


@pytest.mark.parametrize("jobs", [1, 2, 8])
def test_results_come_in_the_order_of_the_tasks(jobs):
    seen = []
    found = LocalEngine(jobs).map(scaled, 10, [3, 1, 2], lambda *step: seen.append(step))
    assert found == [30, 10, 20]
    assert sorted(seen) == [("scaling", n, 4) for n in (1, 2, 3)]


def test_two_jobs_run_at_once_and_one_job_runs_here():
    both = threading.Barrier(2, timeout=20)
    LocalEngine(2).map(lambda *_: both.wait(), None, [1, 2])  # each waits for the other
    here = LocalEngine(1).map(lambda *_: threading.get_ident(), None, [1, 2])
    assert set(here) == {threading.get_ident()}


def test_tasks_of_a_task_run_in_its_own_thread():
    engine = LocalEngine(2)

    def outer(*_):
        inner = engine.map(lambda *_: threading.get_ident(), None, [1, 2, 3])
        return set(inner) == {threading.get_ident()}

    assert all(engine.map(outer, None, [1, 2]))


def test_an_error_ends_the_other_tasks_at_their_next_step():
    steps = []

    def work(_, number, progress):
        if number == 1:
            raise ValueError("bad task")
        for step in range(2000):
            steps.append(step)
            time.sleep(0.01)
            progress("working", step, 2000)

    with pytest.raises(ValueError, match="bad task"):
        LocalEngine(2).map(work, None, [0, 1])
    assert len(steps) < 1000


def test_there_is_at_least_one_processor():
    assert processors() >= 1
