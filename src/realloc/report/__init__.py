"""Reports of a store: what was learned, what a run decided, what changed between two versions."""

from realloc.report.compare import compare_versions, difference_pieces
from realloc.report.learned import learned_pieces
from realloc.report.run import RunFigures, figures_of_run, newest_run
from realloc.report.run_pieces import run_pieces
from realloc.report.store import store_report

__all__ = [
    "RunFigures",
    "compare_versions",
    "difference_pieces",
    "figures_of_run",
    "learned_pieces",
    "newest_run",
    "run_pieces",
    "store_report",
]
