"""The rows of one window as arrays: what every learner of a round is handed."""

from dataclasses import dataclass

from realloc.base.simplex import Floats, Integers, Rows
from realloc.learn.scaling import Floats32


@dataclass(frozen=True)
class Window:
    """States (n, d), shares (n, K), outcome, folds and units (n,), weights of mean 1."""

    x: Floats32
    shares: Floats
    outcome: Floats
    folds: Integers
    units: Rows
    weights: Floats
    periods: Rows  # codes of the rows' times
    # The units themselves, where `units` are blocks of their time.
    owners: Rows | None = None
    # The feature that each column of x belongs to.
    columns: tuple[str, ...] | None = None
