"""Answers do not depend on how many threads BLAS has."""

import threading

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController

from realloc import tiles
from realloc.threads import OneThread, one_blas_thread

BLAS = ThreadpoolController().select(user_api="blas")


def threads() -> set[int]:
    return {one["num_threads"] for one in BLAS.info()}


@pytest.fixture
def two():
    with BLAS.limit(limits=2):
        if threads() != {2}:
            pytest.skip("this BLAS has one thread only")
        yield


@pytest.mark.usefixtures("two")
def test_tiles_are_multiplied_by_one_thread_and_others_get_theirs_back():
    seen = []
    tiles.in_tiles(lambda part: seen.append(threads()) or part, np.zeros((5, 3)))
    assert seen == [{1}] and threads() == {2}


@pytest.mark.usefixtures("two")
def test_a_product_has_the_same_bits_with_any_number_of_threads():
    random = np.random.default_rng(0)
    x, w = random.normal(size=(64, 1000)).astype(np.float32), random.normal(size=(1000, 613)).astype(np.float32)
    shared = tiles.in_tiles(lambda part: part @ w, x)
    with BLAS.limit(limits=1):
        assert tiles.in_tiles(lambda part: part @ w, x).tobytes() == shared.tobytes()


@pytest.mark.usefixtures("two")
def test_whoever_leaves_first_changes_nothing_for_who_is_still_inside():
    entered, leave = threading.Event(), threading.Event()

    def stay() -> None:
        with one_blas_thread:
            entered.set()
            leave.wait(10)

    other = threading.Thread(target=stay)
    with one_blas_thread:
        other.start()
        assert entered.wait(10)
    assert threads() == {1}
    leave.set()
    other.join()
    assert threads() == {2}


@pytest.mark.usefixtures("two")
def test_a_failure_inside_gives_threads_back():
    alone = OneThread()
    with pytest.raises(ZeroDivisionError), alone:
        raise ZeroDivisionError
    assert threads() == {2}
