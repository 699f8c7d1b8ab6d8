# ruff: noqa: F811
"""Decisions and what came of them."""

import pytest

from realloc.base.errors import LedgerError
from realloc.storage.ledger import Ledger, join
from tests.batch.conftest import _made, answers, place, recommend  # noqa: F401  fixtures
from tests.small import window


def test_decisions_meet_their_outcomes(place):
    logs = window(97, units=40)
    recommend(place)
    recommend(place, "again.parquet")
    found = join(Ledger(place / "store" / "decisions"), logs)
    advice = answers(place)
    assert found.num_rows == len(advice) == 150  # of two decisions on a row the newest
    by_key = {
        (u, t): y
        for u, t, y in zip(
            *(logs.to_pandas()[c] for c in ("item_id", "date", "orders")), strict=True
        )
    }
    for row in found.to_pylist()[:20]:
        assert row["outcome"] == by_key[row["unit"], row["time"]]
    followed = found["followed"].to_numpy()
    kept = ~found["moved"].to_numpy().astype(bool)
    assert followed[kept].all()  # who was to keep the mix kept it
    assert not followed.all()
    with pytest.raises(LedgerError, match="Expected decisions of run 'none'"):
        join(Ledger(place / "store" / "decisions"), logs, run="none")
