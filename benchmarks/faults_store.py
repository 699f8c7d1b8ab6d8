"""Faults that the store survives, in large numbers; the short runs are tests/faults.

    python -m benchmarks.faults_store [--only flips races ...] [--kills 1000] [--again] [--table]

Every part is written to benchmarks/results/faults_store.json with the commit it ran at. A part that
is there with the count
asked for is skipped; kills of real commands go on where they were stopped. A store that cannot be
read, or has lost what was
acknowledged, stops the run with an error. Run from the root of the repository.
"""

import argparse
import errno
import json
import os
import random
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from tests.faults import test_disk_errors as errors
from tests.faults import test_flipped_bytes as flipped
from tests.faults import test_full_disk as full
from tests.faults import test_hostile as hostile
from tests.faults import test_kill as kill
from tests.faults import test_power_loss as power
from tests.faults import test_two_writers as writers
from tests.storage.store.light import NOON, LightStore, grown, snapshot

from realloc.storage.store import Store

RESULTS = Path(__file__).parent / "results" / "faults_store.json"
COMMIT = subprocess.run(
    ["git", "rev-parse", "--short", "HEAD"], check=False, capture_output=True, text=True
).stdout.strip()
BAD = (
    "another_end",
    "lost",
    "bad",
    "wrong",
    "of_these_not_noticed",
    "small_unnoticed",
    "small_cuts_unnoticed",
    "real_unnoticed",
    "real_cuts_unnoticed",
    "not_refused",
    "harmed",
)
CHUNK = 8  # kills of real commands between two notes of how far it is


def light_kills(folder: Path, count: int, _: dict) -> dict:
    """Rounds that cost nothing, so that a kill is likely to come amid a commit."""
    amid = 0
    for series in range(-(-count // 25)):
        path, plain = folder / "store", folder / "plain"
        amid += kill.survive(
            kill.count_windows, path, lambda p: LightStore(p).number(), 25, 0.1, seed=series
        )
        kill.count_windows(plain, lambda _: None)
        if snapshot(path) != snapshot(plain):
            raise SystemExit(f"Another end after the kills of series {series}.")
        shutil.rmtree(path)
        shutil.rmtree(plain)
    return {"kills": count, "amid_a_run": amid, "another_end": 0, "lost": 0}


def command_kills(folder: Path, count: int, former: dict) -> dict:
    """Real fit, update and recommend, each killed again and again; ends must be those of an
    undisturbed run, byte by byte.
    """
    from tests.faults import commands

    commands.write_inputs(folder)
    plain = commands.Undisturbed(folder, folder / "plain")
    found = {
        "kills": former.get("kills", 0),
        "after_the_pointer": former.get("after_the_pointer", 0),
    }
    found |= {"another_end": 0, "lost": 0}
    while found["kills"] < count:
        number = found["kills"] // CHUNK % 4
        found["after_the_pointer"] += commands.survive(
            plain, number, CHUNK, seed=found["kills"]
        )
        found["kills"] += CHUNK
        write("command_kills", count, found)
    return found


def command_errors(folder: Path, _: int, __: dict) -> dict:
    """A real fit and a real update, killed and with a full disk at every call that changes the
    disk.
    """
    from tests.faults import commands

    commands.write_inputs(folder)
    plain = commands.Undisturbed(folder, folder / "plain")
    found = {"bad": 0, "calls": 0}
    for number, name in ((0, "fit"), (1, "update")):
        for problem in (None, errors.problem(errno.ENOSPC)):
            calls = commands.fail_everywhere(plain, number, problem)
            found[f"{name}, {problem.strerror if problem else 'kill −9'}"] = calls
            found["calls"] += calls
    return found


def disk_errors(folder: Path, _: int, __: dict) -> dict:
    """Every call that changes the disk, of a first and of a later commit, fails in every way."""
    sites = {}
    for case in errors.CASES:
        for rounds in (0, errors.ROUNDS):
            place = folder / f"{case}{rounds}".replace("/", " ")
            place.mkdir()
            sites[f"{case}, after {rounds} rounds"] = len(
                errors.fail_everywhere(place, case, rounds)
            )
            shutil.rmtree(place)
    return {"failures": sum(sites.values()), "bad": 0, "sites": sites}


def power_losses(folder: Path, count: int, _: dict) -> dict:
    states, bad, mutants, missed = 0, [], 0, []
    for rounds in range(60):
        place = folder / str(rounds)
        place.mkdir()
        before, operations = power.record(place, rounds)
        bad += power.bad_states(before, operations, rounds, folder / "state")
        states += power.bad_states.count
        if states >= count:
            break
    for rounds in (0, 3):
        place = folder / f"mutants{rounds}"
        (place / "disk").mkdir(parents=True)
        operations = power.record(place / "disk", rounds)[1]
        for index in power.syncs(operations):
            mutants += 1
            missed += (
                [] if power.is_caught(place, rounds, index) else [str(operations[index])]
            )
    return {
        "states": states,
        "bad": bad,
        "syncs_left_out": mutants,
        "of_these_not_noticed": missed,
    }


def flips(folder: Path, count: int, _: dict) -> dict:
    """Every byte and every length of a small store; `count` of each kind of damage in a real
    one.
    """
    small = grown(folder / "small", 2).path
    real = _real_store(folder / "real")
    return {
        "small_bytes": _size(small),
        "small_unnoticed": flipped.count_unnoticed(small, None),
        "small_cuts": _size(small),
        "small_cuts_unnoticed": _cuts_unnoticed(small, None),
        "real_bytes": _size(real),
        "real_flips": count,
        "real_unnoticed": flipped.count_unnoticed(real, count),
        "real_cuts": count // 10,
        "real_cuts_unnoticed": _cuts_unnoticed(real, count // 10),
    }


def _size(root: Path) -> int:
    return sum(path.stat().st_size for path in flipped.files_of(root))


def _real_store(path: Path) -> Path:
    from tests.small import fitted, window

    Store(path, clock=lambda: NOON).commit(fitted(), window())
    return path


def _cuts_unnoticed(root: Path, count: int | None) -> list[str]:
    missed = []
    for path, at in flipped.places(root, count, 1):
        sound = path.read_bytes()
        path.write_bytes(sound[:at])
        if path.name not in flipped.fault_of(root):
            missed.append(f"{path}:{at}")
        path.write_bytes(sound)
    return missed


def races(folder: Path, count: int, _: dict) -> dict:
    wrong = 0
    for n in range(count):
        store = grown(folder / str(n), n % 2)
        loser, winner = writers.race(store.path)
        fine = winner == f"version {n % 2 + 1}" and "another process is writing" in loser
        wrong += not fine or LightStore(store.path).number() != n % 2 + 1
    return {"races": count, "wrong": wrong}


def full_disks(folder: Path, count: int, _: dict) -> dict:
    sizes = [16 + 4 * n for n in range(count)]
    return {
        "sizes": len(sizes),
        "of_these_ran_full": sum(full.fill(folder, kib) for kib in sizes),
        "bad": 0,
    }


def hostile_stores(folder: Path, _: int, __: dict) -> dict:
    _real_store(folder / "good")
    refused = hostile.in_fork(
        lambda seen: hostile.try_cases(folder, hostile.CASES, hostile.reading, seen)
    )
    memory = refused.pop("memory")
    written = hostile.in_fork(
        lambda seen: hostile.try_cases(
            folder, hostile.CASES | hostile.WRITING, hostile.writing, seen
        )
    )
    written.pop("memory")
    return {
        "stores": len(written),
        "not_refused": [
            name for name, result in refused.items() if not hostile.refused(result)
        ],
        "harmed": sorted(hostile.harmed(refused) | hostile.harmed(written)),
        "memory_mib": round(memory, 1),
    }


PARTS = {  # what each does, and how many by default; 0: as many as there are
    "hostile_stores": (hostile_stores, 0),
    "races": (races, 100),
    "full_disks": (full_disks, 50),
    "disk_errors": (disk_errors, 0),
    "command_errors": (command_errors, 0),
    "power_losses": (power_losses, 2000),
    "flips": (flips, 20_000),
    "light_kills": (light_kills, 1000),
    "command_kills": (command_kills, 1000),
}


def main() -> None:
    asked = argparse.ArgumentParser()
    asked.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    asked.add_argument("--kills", type=int, default=1000, help="of real commands")
    asked.add_argument("--again", action="store_true", help="also what is there already")
    asked.add_argument(
        "--table",
        action="store_true",
        help="only print what was found, as docs/store.md shows it",
    )
    given = asked.parse_args()
    if given.table:
        print(as_table(read()))
        return
    os.fsync = lambda handle: (
        None
    )  # processes are killed, not the power supply; syncs are counted where that is lost
    for name in given.only:
        work, count = PARTS[name]
        count = given.kills if name == "command_kills" else count
        former = {} if given.again else read().get(name, {})
        if former.get("done"):
            continue
        random.seed(0)
        with tempfile.TemporaryDirectory() as folder:
            begun = time.process_time() + sum(os.times()[2:4])
            found = work(Path(folder), count, former)
            seconds = (
                time.process_time()
                + sum(os.times()[2:4])
                - begun
                + former.get("cpu_seconds", 0.0)
            )
        write(
            name,
            count,
            found | {"cpu_seconds": round(seconds, 1)},
            done=found.get("kills", count) >= PARTS[name][1],
        )
        print(name, json.dumps(read()[name]), flush=True)


ROWS = {  # how docs/store.md says it: the part, the fault, what was found
    "command_kills": (
        "kill −9 at random CPU times of real `fit`, `update`, `recommend`",
        "{kills} kills: every end that of an undisturbed run, byte by byte; nothing "
        "acknowledged lost",
    ),
    "light_kills": (
        "kill −9 amid commits of a model of three numbers",
        "{kills} kills, {amid_a_run} amid a run: the same",
    ),
    "command_errors": (
        "kill −9, or a full disk, at every call of a real `fit` and `update` that changes the disk",
        "{calls} failures: the old version or the new one, whole; the sentence says which",
    ),
    "disk_errors": (
        "EIO, ENOSPC, EROFS, EACCES, an error told late, a stop before or after every such "
        "call of a commit",
        "{failures} failures: a sentence, the old version or the new one whole, and the next "
        "writer goes on",
    ),
    "power_losses": (
        "power loss",
        "{states} states, all whole; each of {syncs_left_out} syncs left out is noticed",
    ),
    "full_disks": (
        "a disk that is full (tmpfs)",
        "{sizes} sizes, {of_these_ran_full} ran full: told, and with room it goes on",
    ),
    "flips": (
        "a flipped bit, a lost end",
        "every byte and every length of a small store ({small_bytes:,}); {real_flips:,} flips "
        "and {real_cuts:,} cuts of a real "
        "one ({real_bytes:,} bytes): all refused, naming the file",
    ),
    "races": ("two writers", "{races} races: one wins, the other is told"),
    "hostile_stores": (
        "a store made to harm",
        "{stores} kinds: refused or ignored; nothing executed, imported or written elsewhere",
    ),
}


def as_table(found: dict) -> str:
    """What was found, one line for each fault; a part that found something bad has no such line."""
    lines = ["| fault | found |", "|---|---|"]
    for name, (fault, end) in ROWS.items():
        part = found.get(name)
        if part is None:
            continue
        bad = [part[key] for key in BAD if part.get(key)]
        lines += [f"| {fault} | {f'BAD: {part}' if bad else end.format(**part)} |"]
    return "\n".join(lines)


def read() -> dict:
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {}


def write(name: str, count: int, found: dict, done: bool = False) -> None:
    told = {"done": done, "asked": count, "commit": COMMIT, **found}
    RESULTS.write_text(json.dumps(read() | {name: told}, indent=1) + "\n")


if __name__ == "__main__":
    main()
