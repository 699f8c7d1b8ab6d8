"""Faults that the store survives, in large numbers; the short runs are tests/faults.

    python -m benchmarks.faults_store [--kills 1000] [--races 100] [--flips 0] [--model]

Each part is written to benchmarks/results/faults_store.json when it is done, and skipped if it is there with the same
count. `--flips 0` means every byte. `--model` kills real updates of a small model instead of rounds that cost nothing: torch
is imported once, and every trial is a fork. A store that cannot be read or has lost what was acknowledged stops the run.
Run from the root of the repository.
"""

import argparse
import json
import shutil
import tempfile
import time
from pathlib import Path

from tests.faults import test_flipped_bytes as flipped
from tests.faults import test_kill as kill
from tests.faults import test_power_loss as power
from tests.faults import test_two_writers as writers
from tests.store.light import NOON, LightStore, grown, snapshot

from realloc.store import Store

RESULTS = Path(__file__).parent / "results" / "faults_store.json"


def kill_light(folder: Path, kills: int) -> dict[str, object]:
    amid = bad = 0
    for series in range(-(-kills // 25)):
        path = folder / str(series)
        amid += kill.survive(kill.count_windows, path, lambda p: LightStore(p).number(), 25, 0.1, seed=series)
        kill.count_windows(folder / f"plain{series}", lambda _: None)
        bad += snapshot(path) != snapshot(folder / f"plain{series}")
        shutil.rmtree(path)
        shutil.rmtree(folder / f"plain{series}")
    return {"kills": kills, "amid_a_run": amid, "series_with_another_end": bad}


def kill_model(folder: Path, kills: int) -> dict[str, object]:
    from tests.small import CONFIG, ReAlloc, window  # noqa: PLC0415  torch only where it is asked for

    windows = [window(number) for number in range(4)]  # drawn before the forks; no operation of torch runs here

    def work(path, acknowledge):
        store = Store(path, keep=3, clock=lambda: NOON)
        for rows in windows:
            with store.writer():
                if not store.applied(rows):
                    model = ReAlloc(CONFIG, quiet=True).fit(rows) if store.empty else store.load().update(rows)
                    store.commit(model, rows)
                acknowledge(len(store.current().windows))

    def look(path):
        current = Store(path).current() if path.exists() else None
        return len(current.windows) if current else 0

    kill.run_until_done(work, folder / "plain")
    amid = bad = done = 0
    while done < kills:
        path = folder / str(done)
        amid += kill.survive(work, path, look, min(10, kills - done), 3.0, seed=done)
        bad += snapshot(path) != snapshot(folder / "plain")
        done += 10
        shutil.rmtree(path)
    return {"kills": kills, "amid_a_run": amid, "series_with_another_end": bad}


def flip(folder: Path, flips: int) -> dict[str, object]:
    root = grown(folder / "store", 3).path
    size = sum(path.stat().st_size for path in flipped.files_of(root))
    return {"bytes": size, "flips": flips or size, "unnoticed": flipped.count_unnoticed(root, flips or None)}


def race(folder: Path, races: int) -> dict[str, object]:
    wrong = 0
    for n in range(races):
        store = grown(folder / str(n), n % 2)
        loser, winner = writers.race(store.path)
        fine = winner == f"version {n % 2 + 1}" and "another process is writing" in loser
        wrong += not fine or LightStore(store.path).number() != n % 2 + 1
    return {"races": races, "wrong": wrong}


def lose_power(folder: Path, states: int) -> dict[str, object]:
    count, bad = 0, []
    for rounds in range(60):
        place = folder / str(rounds)
        place.mkdir()
        before, operations = power.record(place, rounds)
        bad += power.bad_states(before, operations, rounds, folder / "state")
        count += power.bad_states.count
        if count >= states:
            break
    return {"states": count, "bad": bad}


PARTS = {"kill": kill_light, "flip": flip, "race": race, "power": lose_power, "kill_model": kill_model}


def main() -> None:
    asked = argparse.ArgumentParser()
    asked.add_argument("--kills", type=int, default=1000)
    asked.add_argument("--flips", type=int, default=0)
    asked.add_argument("--races", type=int, default=100)
    asked.add_argument("--states", type=int, default=2000)
    asked.add_argument("--model", action="store_true")
    given = asked.parse_args()
    counts = {"kill": given.kills, "flip": given.flips, "race": given.races, "power": given.states}
    if given.model:
        counts["kill_model"] = given.kills
    found = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name, count in counts.items():
        if found.get(name, {}).get("asked") == count:
            continue
        with tempfile.TemporaryDirectory() as folder:
            begun = time.perf_counter()
            found[name] = {"asked": count, **PARTS[name](Path(folder), count)}
        found[name]["seconds"] = round(time.perf_counter() - begun, 1)
        print(name, found[name], flush=True)
        RESULTS.write_text(json.dumps(found, indent=1) + "\n")
        RESULTS.with_suffix(".md").write_text(as_page(found))


def as_page(found: dict[str, dict[str, object]]) -> str:
    rows = [
        f"| {name} | {', '.join(f'{k} {v}' for k, v in part.items() if k != 'asked')} |" for name, part in found.items()
    ]
    return "# Faults that the store survives\n\n| fault | found |\n|---|---|\n" + "\n".join(rows) + "\n"


if __name__ == "__main__":
    main()
