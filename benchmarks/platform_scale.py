"""The marketplace at full size: 500,000 items × 60 days as partitioned Parquet, in bounded memory.

    python benchmarks/platform_scale.py [--items 500000] [--days 60] [--channels 2] [--folder DIR]

Prints rows per second, peak memory and bytes on disk; the output is deleted afterwards.
"""

import argparse
import json
import resource
import sys
import tempfile
import time
from pathlib import Path

from realloc.world.platform import Marketplace


def show(done: int, total: int) -> None:
    if sys.stderr.isatty() or done == total:
        print(
            f"\r{done:,} of {total:,} rows",
            end="\n" if done == total else "",
            file=sys.stderr,
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=500_000)
    parser.add_argument("--days", type=int, default=60)
    parser.add_argument("--channels", type=int, default=2)
    parser.add_argument(
        "--folder", type=Path, default=None, help="where to make the temporary folder"
    )
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=chosen.folder) as folder:
        start = time.perf_counter()
        market = Marketplace(seed=1, channels=chosen.channels)
        written = market.write(
            Path(folder) / "logs", items=chosen.items, days=chosen.days, on_progress=show
        )
        seconds = time.perf_counter() - start
    report = {
        "rows": written.rows,
        "files": written.files,
        "seconds": round(seconds, 1),
        "rows_per_second": round(written.rows / seconds),
        "peak_rss_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "disk_mib": round(written.size_bytes / 2**20),
        "bytes_per_row": round(written.size_bytes / written.rows, 1),
    }
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
