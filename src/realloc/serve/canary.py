"""The store's canary asked of the scorer: it computes as the program did that wrote the version.

Fixed moves must be worth the same up to float error. Decisions may end at another place of the same worth, so there gains are
compared more widely, and one reason in twenty may differ: near a border float error decides.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from realloc.base.errors import StoreError
from realloc.base.simplex import Floats
from realloc.serve.scorer import Scorer
from realloc.storage.store.canary import read_rows

NEAR = 1e-4  # of the largest, for fixed moves
CLOSE = 1e-2  # of the largest, for decisions
SAME = 0.95  # of the reasons


def check(scorer: Scorer, expected: Mapping[str, NDArray[Any]]) -> None:
    """Refuse a scorer that answers its canary otherwise than the version's writer did."""
    if not expected:
        return  # adopted from a store without canaries
    logs = read_rows(expected["rows"], scorer.schema)
    turned = scorer.state.gain(logs, np.roll(logs.shares, 1, axis=1))
    _compare("gains of fixed moves", turned, expected["turned"], NEAR)
    found = scorer.decide(logs, scorer.config.constraints)
    if np.any(found.shares < 0) or np.abs(found.shares.sum(axis=1) - 1).max() > 1e-9:
        raise StoreError("Expected shares on the simplex in the canary's answers, got others.")
    _compare("gains of decisions", np.asarray(found.gain), expected["gain"], CLOSE)
    reasons = expected["reason"].tobytes().decode().split("\n")
    if np.mean(found.reason == np.array(reasons)) < SAME:
        raise StoreError(
            "Expected the canary's reasons, got others: this program does not decide as the writer did."
        )


def _compare(what: str, found: Floats, expected: Floats, near: float) -> None:
    largest = float(np.abs(expected).max(initial=0.0))
    if (
        found.shape != expected.shape
        or not np.abs(found - expected).max(initial=0.0) <= near * largest
    ):
        raise StoreError(
            f"Expected the canary's {what}, got others: this program does not compute as the one that wrote the version did."
        )
