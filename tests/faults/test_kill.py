"""kill −9 at random moments: the store opens, nothing acknowledged is lost, and in the end it
is that of an undisturbed run.
"""

import os
import random
import signal
import time

from tests.storage.store.light import LightStore, grown, snapshot

KILLS, WINDOWS = 25, 40


def run_until_killed(work, path, delay):
    """Fork, let `work(path, acknowledge)` run for a moment, kill it; what it acknowledged last,
    and whether it was killed.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reader)
            work(path, lambda number: os.write(writer, number.to_bytes(4, "little")))
        finally:
            os._exit(0)
    os.close(writer)
    time.sleep(delay)
    os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    with os.fdopen(reader, "rb") as pipe:
        said = pipe.read()
    last = int.from_bytes(said[-4:], "little") if said else 0
    return last, os.WIFSIGNALED(status)


def count_windows(path, acknowledge):
    """Apply all windows from the first one on, as a job does that does not know where it was
    stopped.
    """
    store = LightStore(path, keep=3)
    for window in range(1, WINDOWS + 1):
        acknowledge(store.step(window).rounds)


def run_until_done(work, path):
    """The same in a fork that nobody kills."""
    child = os.fork()
    if child == 0:
        failed = 1
        try:
            work(path, lambda _: None)
            failed = 0
        finally:
            os._exit(failed)
    assert os.waitpid(child, 0)[1] == 0


def survive(work, path, look, kills, longest, seed=0):
    """Kill `work` again and again; `look(path)` gives the rounds of a whole store. How often it
    was killed amid a run.
    """
    draw, amid = random.Random(seed), 0
    for _ in range(kills):
        acknowledged, killed = run_until_killed(work, path, draw.uniform(0, longest))
        rounds = look(path)
        assert rounds >= acknowledged, (
            f"{acknowledged} was acknowledged, the store holds {rounds}"
        )
        amid += killed
    run_until_done(work, path)
    return amid


def test_kills_lose_nothing_and_leave_the_end_as_it_would_have_been(tmp_path):
    begun = time.perf_counter()
    grown(tmp_path / "plain", 3)
    a_round = (time.perf_counter() - begun) / 3
    amid = survive(
        count_windows,
        tmp_path / "store",
        lambda path: LightStore(path).number(),
        KILLS,
        3 * a_round + 0.01,
    )
    assert amid >= KILLS // 2
    count_windows(tmp_path / "undisturbed", lambda _: None)
    assert snapshot(tmp_path / "store") == snapshot(tmp_path / "undisturbed")


def acknowledge_too_early(path, acknowledge):
    """The mutant: says that a window is applied before it is."""
    store = LightStore(path, keep=3)
    for window in range(1, WINDOWS + 1):
        acknowledge(window)
        store.step(window)


def test_control_an_acknowledgement_too_early_is_caught(tmp_path):
    lost = 0
    for n in range(10):
        acknowledged, _ = run_until_killed(
            acknowledge_too_early, tmp_path / str(n), 0.02 * n
        )
        lost += (
            LightStore(tmp_path / str(n)).number() < acknowledged
            if (tmp_path / str(n)).exists()
            else acknowledged > 0
        )
    assert lost
