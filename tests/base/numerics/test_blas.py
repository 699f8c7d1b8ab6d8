"""Answers do not depend on how many threads BLAS has. Each test has a process of its own, for
which alone the number holds.
"""

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController

from realloc.base.numerics import row_stable as tiles
from realloc.base.numerics.blas import OneThread, one_blas_thread

BLAS = ThreadpoolController().select(user_api="blas")


def threads() -> set[int]:
    return {one["num_threads"] for one in BLAS.info()}


def tiles_are_multiplied_by_one_thread_and_others_get_theirs_back():
    seen = []
    tiles.in_tiles(lambda part: seen.append(threads()) or part, np.zeros((5, 3)))
    assert seen == [{1}]
    assert threads() == {2}


def a_product_has_the_same_bits_with_any_number_of_threads():
    random = np.random.default_rng(0)
    x, w = (
        random.normal(size=(64, 1000)).astype(np.float32),
        random.normal(size=(1000, 613)).astype(np.float32),
    )
    shared = tiles.in_tiles(lambda part: part @ w, x)
    with BLAS.limit(limits=1):
        assert tiles.in_tiles(lambda part: part @ w, x).tobytes() == shared.tobytes()


def whoever_leaves_first_changes_nothing_for_who_is_still_inside():
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


def a_failure_inside_gives_threads_back():
    with pytest.raises(ZeroDivisionError), OneThread():
        raise ZeroDivisionError
    assert threads() == {2}


ALONE = (
    tiles_are_multiplied_by_one_thread_and_others_get_theirs_back,
    a_product_has_the_same_bits_with_any_number_of_threads,
    whoever_leaves_first_changes_nothing_for_who_is_still_inside,
    a_failure_inside_gives_threads_back,
)


@pytest.mark.parametrize("name", [one.__name__ for one in ALONE])
def test_threads(name: str):
    if not BLAS.lib_controllers or (os.cpu_count() or 1) < 2:
        pytest.skip("numpy's BLAS has no second thread here")
    ran = subprocess.run(
        [
            sys.executable,
            "-c",
            f"from tests.base.numerics import test_blas; test_blas.{name}()",
        ],
        env=os.environ | {"OMP_NUM_THREADS": "2"},
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
