"""20,000 broken requests to the console: no 5xx, no internals, nothing written.

Run: python -m benchmarks.faults_console [--count 20000 --seed 1]
"""

import argparse
import sys
import tempfile
from pathlib import Path

from tests.console.test_fuzz import fuzz
from tests.small import CONFIG, fitted, today, window

from realloc.batch import Options, recommend_file
from realloc.console.app import make_console
from realloc.console.source import ConsoleSource
from realloc.storage.store import Store


def main() -> None:
    """Make a store, send the requests, say what was wrong."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        store = Store(root / "store")
        store.commit(fitted(), window(0))
        today().to_parquet(root / "today.parquet")
        options = Options(config=CONFIG, force=True)
        recommend_file(str(root / "today.parquet"), store.path, root / "r.parquet", options)
        source = ConsoleSource(store)
        before = source.ledger.numbers()
        app = make_console(source, None, frozenset({"localhost"}))
        statuses, found = fuzz(app, given.count, given.seed)
        print(dict(sorted(statuses.items())))
        for fault, asked in found[:20]:
            print(fault, asked)
        written = source.ledger.numbers() != before
        sys.exit(bool(found or written))


if __name__ == "__main__":
    main()
