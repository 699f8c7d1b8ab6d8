"""Real commands in forks of this process, killed when they have used so much CPU: torch is imported
once, not a thousand times.

CPU time instead of seconds on the wall, so that kills are spread over the whole of a command
however busy the machine is.
"""

import mmap
import os
import random
import shutil
import signal
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow.parquet as pq
import torch._dynamo  # noqa: F401  torch imports it at the first step of an optimiser, which would be in every fork

import realloc.model.realloc  # noqa: F401  so does the command line
from realloc.base import disk
from realloc.cli.main import main
from realloc.storage.store import Store
from realloc.storage.store.head import read_head
from realloc.storage.store.versions import find_faults
from realloc.world import World, WorldParameters
from tests.faults.recording import BreakingSystem
from tests.storage.store.light import NOON, snapshot

# Where the second half of the kills begins, as a part of the usual CPU: commits come last.
LATE = 0.6
TOML = """
[schema]
unit = "item_id"
time = "date"
outcome = "orders"
channels = ["ads", "coupon", "rebate"]
budget = "budget"
[nuisances]
folds = 2
models = ["ridge"]
[teacher]
members = 2
surfaces = ["kernel"]
few_rows = 0
[kernel]
inducing = 30
steps = 8
rows = 100
[student]
epochs = 1
width = 8
trunk = 4
least_steps = 0
[memory]
capacity = 200
[support]
members = 2
rows = 200
[decision]
min_significance = 0.0
"""


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit code, None where it was killed; the CPU seconds it used;
    what it said.
    """

    code: int | None
    seconds: float
    said: str


def write_inputs(folder: Path, windows: int = 3) -> None:
    """A config of the smallest possible model, windows that follow each other, and rows to ask
    about.
    """
    world = World("medium", seed=5, parameters=replace(WorldParameters(), noise=0.3))
    (folder / "realloc.toml").write_text(TOML)
    for number in range(windows):
        pq.write_table(
            world.sample(units=40, periods=5, seed=number).to_arrow(),
            folder / f"window{number}.parquet",
        )
    pq.write_table(
        world.sample(units=20, periods=1, seed=99).to_arrow().drop_columns("orders"),
        folder / "today.parquet",
    )


def commands(folder: Path, store: Path, windows: int = 3) -> list[list[str]]:
    """What a deployment does: a fit, updates, and advice."""
    first = ["fit", f"{folder}/window0.parquet", "--config", f"{folder}/realloc.toml"]
    later = [["update", f"{folder}/window{number}.parquet"] for number in range(1, windows)]
    advice = ["recommend", f"{folder}/today.parquet", "--out", f"{store}.parquet"]
    return [[*words, "--store", str(store), "--quiet"] for words in (first, *later, advice)]


def run(words: list[str], cpu_seconds: float | None = None, prepare=lambda: None) -> Ended:
    """Run a command in a fork; kill −9 once it has used `cpu_seconds`. `prepare` is called in
    the fork first.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.dup2(writer, 1)
            os.dup2(writer, 2)
            sys.stdout, sys.stderr = (
                os.fdopen(handle, "w", closefd=False) for handle in (1, 2)
            )
            Store.__init__.__kwdefaults__["clock"] = lambda: (
                NOON
            )  # records hold the time, and ends are compared
            prepare()
            sys.argv = ["realloc", *words]
            main()
            code = 0
        except SystemExit as ended:
            code = ended.code or 0
        finally:
            sys.stdout.flush()
            os._exit(code)
    os.close(writer)
    if cpu_seconds is not None:
        _kill_after(child, cpu_seconds)
    with os.fdopen(reader, "rb") as pipe:
        said = pipe.read().decode()
    _, status, used = os.wait4(child, 0)
    code = None if os.WIFSIGNALED(status) else os.waitstatus_to_exitcode(status)
    return Ended(code, used.ru_utime + used.ru_stime, said)


def _kill_after(child: int, cpu_seconds: float) -> None:
    clock = ~child << 3 | 2  # the CPU clock of another process, as Linux numbers it
    while os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        if time.clock_gettime(clock) >= cpu_seconds:
            os.kill(child, signal.SIGKILL)
            return
        time.sleep(0.001)


def windows_in(store: Path) -> int:
    """How many windows the current version has learned from; every version must be whole."""
    current = Store(store).current() if store.exists() else None
    if current is None:
        return 0
    faults = find_faults(store, read_head(store))
    assert not faults, faults
    return len(current.windows)


def check_after_kill(
    store: Path, acknowledged: int, before: dict[str, bytes], after: dict[str, bytes]
) -> bool:
    """Whether the window in work is in; the store is the one from before or the one after it,
    byte by byte.
    """
    found = windows_in(store)
    assert found in (acknowledged, acknowledged + 1), (
        f"{acknowledged} was acknowledged, the store holds {found}"
    )
    assert _head_and_versions(store) == (before if found == acknowledged else after)
    return found > acknowledged


def _head_and_versions(store: Path) -> dict[str, bytes]:
    """What readers see: versions that HEAD does not name yet, or that are on their way out, do
    not count.
    """
    head = read_head(store) if store.exists() else None
    if head is None:
        return {}
    found = snapshot(store)
    return {
        name: content for name, content in found.items() if not _beyond(name, head.number)
    }


def _beyond(name: str, number: int) -> bool:
    return name.startswith("versions/") and int(name.split("/")[1][:8]) > number


@dataclass
class Undisturbed:
    """The same commands without a kill: for each what the store held before and after, and the
    CPU seconds.
    """

    folder: Path
    store: Path

    def __post_init__(self) -> None:
        self.before: list[Path] = []
        self.seconds: list[float] = []
        self.after: list[dict[str, bytes]] = []
        for number, words in enumerate(commands(self.folder, self.store)):
            self.before.append(self.store.with_name(f"before{number}"))
            if self.store.exists():
                shutil.copytree(self.store, self.before[-1])
            ended = run(words)
            assert ended.code == 0, ended.said
            self.seconds.append(ended.seconds)
            self.after.append(_head_and_versions(self.store))
        self.advice = Path(f"{self.store}.parquet").read_bytes()


def survive(plain: Undisturbed, number: int, kills: int, seed: int) -> int:
    """Kill one command again and again, each time going on with what the last kill left; then let
    it finish.

    How many of the kills came after the new version was current, but before the command could say
    so.
    """
    draw, late = random.Random(seed), 0
    store = plain.store.with_name("killed")
    words = commands(plain.folder, store)[number]
    learns = words[0] != "recommend"
    advice = Path(f"{store}.parquet")
    before = _head_and_versions(plain.before[number])
    _restore(plain.before[number], store)
    done = 0
    while done < kills:
        begin = LATE if done % 2 else 0.0
        ended = run(words, draw.uniform(begin, 1.0) * plain.seconds[number])
        if ended.code is not None:  # it was faster
            assert ended.code == 0, ended.said
        done += ended.code is None
        if learns and check_after_kill(store, number, before, plain.after[number]):
            late += ended.code is None
            _restore(plain.before[number], store)
        if not learns:
            assert _head_and_versions(store) == before
            assert not advice.exists() or advice.read_bytes() == plain.advice
            advice.unlink(missing_ok=True)
    ended = run(words)
    assert ended.code == 0, ended.said
    assert snapshot(store) == plain.after[number]  # and nothing else is left
    if not learns:
        assert advice.read_bytes() == plain.advice
    return late


class Killed(BreakingSystem):
    """Kills its process at the n-th call that changes the disk; without an n it only counts,
    where its parent can read it.
    """

    def __init__(self, n: int | None, problem: OSError | None, counter: mmap.mmap):
        super().__init__(n or -1, problem, after=False, torn=True)
        self.counter = counter

    def call(self, name, real, *arguments):
        self.counter[:4] = (self.count + 1).to_bytes(4, "little")
        if self.count + 1 == self.n and self.problem is None:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().call(name, real, *arguments)


def fail_everywhere(plain: Undisturbed, number: int, problem: OSError | None) -> int:
    """A command that is killed, or meets an error, at every call that changes the disk; how
    many there are.
    """
    store = plain.store.with_name("failed")
    words, before = (
        commands(plain.folder, store)[number],
        _head_and_versions(plain.before[number]),
    )
    counter = mmap.mmap(-1, 4)

    def run_to(n: int | None) -> Ended:
        return run(words, prepare=lambda: setattr(disk, "os", Killed(n, problem, counter)))

    _restore(plain.before[number], store)
    assert run_to(None).code == 0
    sites = int.from_bytes(counter[:4], "little")
    for n in range(1, sites + 1):
        _restore(plain.before[number], store)
        ended = run_to(n)
        done = check_after_kill(store, number, before, plain.after[number])
        if problem is None:
            assert ended.code is None
        else:
            assert ended.code == 2
            assert problem.strerror in ended.said
            assert ("The version is current" in " ".join(ended.said.split())) == done
        if n % 5 == 0:
            assert run(words).code == 0 or (words[0] == "fit" and done)
            assert snapshot(store) == plain.after[number]
    return sites


def _restore(clean: Path, store: Path) -> None:
    shutil.rmtree(store, ignore_errors=True)
    if clean.exists():
        shutil.copytree(clean, store)
