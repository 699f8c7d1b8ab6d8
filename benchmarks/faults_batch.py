"""Faults that a batch and its decision log survive, in large numbers; the short runs are
tests/batch and tests/ledger.

    python -m benchmarks.faults_batch [--kills 200] [--races 50] [--flips 2000] [--journal 100]

Each part is written to benchmarks/results/faults_batch.json when it is done, and skipped if it is
there with the same count.
Anything unexpected stops the run. Run from the root of the repository.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

from tests.batch import conftest as batch
from tests.batch import test_faults as faults
from tests.batch.stops import stopping
from tests.small import fitted, window
from tests.storage.ledger import test_journal as journal

from realloc.base.errors import ReallocError, StoreError
from realloc.storage.ledger import Ledger
from realloc.storage.ledger.journal import recover
from realloc.storage.store import Store

RESULTS = Path(__file__).parent / "results" / "faults_batch.json"


def make(folder: Path) -> Path:
    """A store with a small model, and rows to ask about."""
    Store(folder / "base" / "store", clock=lambda: batch.NOW).commit(fitted(), window(0))
    batch.rows().to_parquet(folder / "base" / "today.parquet")
    return folder / "base"


def kill(folder: Path, kills: int) -> dict[str, object]:
    """kill −9 at random moments of `recommend`; each series of ten ends in the bytes of an
    undisturbed run.
    """
    base = make(folder)
    shutil.copytree(base, folder / "plain")
    begun = time.perf_counter()
    faults.fork(lambda: batch.recommend(folder / "plain", chunk_rows=16) and 0)
    took = time.perf_counter() - begun
    expected = (folder / "plain" / "recs.parquet").read_bytes()
    amid = resumed = bad = 0
    for series in range(-(-kills // 10)):
        place = folder / "series"
        shutil.copytree(base, place)
        killed, parts = faults.survive(place, 10, 1.2 * took, seed=series)
        amid, resumed = amid + killed, resumed + parts
        bad += (place / "recs.parquet").read_bytes() != expected
        bad += bool(list(place.glob(".recs*")))
        shutil.rmtree(place)
    return {
        "kills": kills,
        "amid_a_run": amid,
        "finished_parts_found": resumed,
        "series_with_another_end": bad,
    }


def operations(folder: Path, _: int) -> dict[str, object]:
    """Six kinds of failure at every operation on the disk: output and log stay whole, the next
    run ends as if nothing was.
    """
    base = make(folder)
    Store(base / "store").freeze("cheap answers")
    shutil.copy(base / "today.parquet", base / "recs.parquet")
    old = (base / "recs.parquet").read_bytes()
    shutil.copytree(base, folder / "plain")
    faults.run(folder / "plain")
    new = (folder / "plain" / "recs.parquet").read_bytes()
    sites = bad = 0
    for problem, after, torn in faults.CASES.values():
        for n in range(1, 500):
            place = folder / "site"
            shutil.copytree(base, place)
            with stopping(n, problem, after, torn) as seen:
                try:
                    faults.run(place)
                except (ReallocError, faults.Stopped):
                    bad += (place / "recs.parquet").read_bytes() not in (old, new)
            if seen["hit"] is not None:
                faults.run(place)
                bad += (place / "recs.parquet").read_bytes() != new or bool(
                    Ledger(place / "store" / "decisions").verify()
                )
                sites += 1
            shutil.rmtree(place)
            if seen["hit"] is None:
                break
    return {"sites": sites, "bad": bad}


def race(folder: Path, races: int) -> dict[str, object]:
    """Two processes to one output at once: one wins, the other is told."""
    base, wrong, told = make(folder), 0, 0
    Store(base / "store").freeze("cheap answers")
    for n in range(races):
        place = folder / "race"
        shutil.copytree(base, place)

        def second(place: Path = place) -> int:
            try:
                faults.run(place)
            except StoreError as problem:
                return 3 if "another one is at it" in str(problem) else 4
            return 0

        child = os.fork()
        if child == 0:
            os._exit(second())
        time.sleep(random.Random(n).uniform(0, 0.05))
        codes = sorted([second(), os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])])
        told += codes == [0, 3]
        wrong += codes not in ([0, 0], [0, 3]) or bool(
            Ledger(place / "store" / "decisions").verify()
        )
        shutil.rmtree(place)
    return {
        "races": races,
        "told_at_once": told,
        "one_after_the_other": races - told - wrong,
        "wrong": wrong,
    }


def flip(folder: Path, flips: int) -> dict[str, object]:
    """One flipped bit anywhere in a real log is found, and its file named."""
    base = make(folder)
    batch.recommend(base)
    ledger, draw, unnoticed = Ledger(base / "store" / "decisions"), random.Random(0), 0
    files = sorted(path for path in ledger.path.rglob("*") if path.is_file())
    sizes = [path.stat().st_size for path in files]
    for path in draw.choices(files, sizes, k=flips):
        content = path.read_bytes()
        place = draw.randrange(len(content))
        path.write_bytes(
            content[:place]
            + bytes([content[place] ^ 1 << draw.randrange(8)])
            + content[place + 1 :]
        )
        unnoticed += not any(str(path) in fault for fault in ledger.verify())
        path.write_bytes(content)
    return {"bytes": sum(sizes), "flips": flips, "unnoticed": unnoticed}


def services(folder: Path, kills: int) -> dict[str, object]:
    """kill −9 of a process that logs small batches: nothing acknowledged is lost."""
    lost = acknowledged = 0
    for n in range(kills):
        ledger = Ledger(folder / str(n))
        told = journal.serve_until_killed(ledger, random.Random(n).uniform(0.01, 0.6))
        recover(ledger)
        found = journal.logged(ledger)
        lost += found[:told] != list(range(told)) or bool(ledger.verify())
        acknowledged += told
        shutil.rmtree(ledger.path, ignore_errors=True)
    return {"kills": kills, "acknowledged": acknowledged, "logs_that_lost_one": lost}


PARTS = {
    "kill": kill,
    "operations": operations,
    "race": race,
    "flip": flip,
    "journal": services,
}


def main() -> None:
    asked = argparse.ArgumentParser()
    for name, count in (("kills", 200), ("races", 50), ("flips", 2000), ("journal", 100)):
        asked.add_argument(f"--{name}", type=int, default=count)
    given = asked.parse_args()
    counts = {
        "kill": given.kills,
        "operations": 6,
        "race": given.races,
        "flip": given.flips,
        "journal": given.journal,
    }
    os.fsync = lambda handle: None  # faults of processes, not of the power supply
    found = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], check=True, capture_output=True, text=True
    )
    for name, count in counts.items():
        if found.get(name, {}).get("asked") == count:
            continue
        with tempfile.TemporaryDirectory() as folder:
            begun = time.perf_counter()
            found[name] = {"asked": count, **PARTS[name](Path(folder), count)}
        found[name] |= {
            "seconds": round(time.perf_counter() - begun, 1),
            "commit": commit.stdout.strip(),
        }
        print(name, found[name], flush=True)
        RESULTS.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
