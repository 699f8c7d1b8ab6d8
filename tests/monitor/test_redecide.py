# ruff: noqa: F811
"""Audit replay and the way back to outcomes."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from realloc.monitor.redecide import audit
from realloc.storage.ledger import Ledger
from realloc.storage.store import Store
from tests.batch.conftest import _made, answers, place, recommend  # noqa: F401  fixtures
from tests.small import fitted, window


def redecided(place, **how):
    return list(audit(Store(place / "store"), Ledger(place / "store" / "decisions"), **how))


def test_logged_inputs_decide_the_same_to_the_bit(place):
    told = recommend(place, chunk_rows=40).summary.to_json()
    (found,) = redecided(place)
    assert (found.run, found.version, found.rows, found.differ) == (told["run"], 1, 150, 0)
    (few,) = redecided(place, most_rows=12)
    assert (few.rows, few.differ) == (12, 0)
    assert redecided(place, run="another") == []


def test_rules_pools_and_a_freeze_are_replayed_too(place):
    recommend(place, "a.parquet", pools={"coupon": 1e9})
    store = Store(place / "store")
    store.freeze("a test")
    recommend(place, "b.parquet")
    store.unfreeze()
    assert [(one.rows, one.differ, one.problem) for one in redecided(place)] == [
        (150, 0, None),
        (150, 0, None),
    ]


def test_a_cap_over_all_rows_is_replayed_over_all_of_them(place):
    recommend(place)
    cap = round(float(answers(place).spend_coupon.sum()) * 0.97, 2)
    recommend(place, "capped.parquet", pools={"coupon": cap})
    assert [(one.rows, one.differ) for one in redecided(place)] == [(150, 0), (150, 0)]


def test_control_inputs_that_were_others_are_found(place):
    """The mutant: a log whose digests hold, but whose fingerprint is not that of its inputs."""
    recommend(place)
    ledger = Ledger(place / "store" / "decisions")
    (entry,) = ledger.entries()
    table = pa.concat_tables(ledger.read(entry))
    prints = table["fingerprint"].to_pylist()
    prints[7] = bytes(16)
    changed = table.set_column(
        table.column_names.index("fingerprint"),
        "fingerprint",
        pa.array(prints, pa.binary(16)),
    )
    pq.write_table(changed, place / "changed.parquet")
    ledger.append(replace(entry, run="changed"), [(place / "changed.parquet").read_bytes()])
    _, second = redecided(place)
    assert (second.differ, second.first.split()[-1]) == (1, "fingerprint")


def test_control_a_decision_that_was_another_is_found(place):
    """The mutant: a log whose digests hold, but whose gain is not what the version says."""
    recommend(place)
    ledger = Ledger(place / "store" / "decisions")
    (entry,) = ledger.entries()
    table = pa.concat_tables(ledger.read(entry))
    gain = table["gain"].to_numpy().copy()
    row = int(np.argmax(gain))
    gain[row] += 1e-6
    part = place / "changed.parquet"
    pq.write_table(
        table.set_column(table.column_names.index("gain"), "gain", pa.array(gain)), part
    )
    ledger.append(replace(entry, run="changed"), [part.read_bytes()])
    assert ledger.verify() == ()
    first, second = redecided(place)
    assert first.differ == 0
    assert second.differ == 1
    assert f"row {row} of unit" in second.first
    assert "gain" in second.first


def test_a_version_that_is_gone_is_said(place):
    recommend(place)
    store = Store(place / "store", keep=2)
    for number in (1, 2, 3):
        store.commit(fitted(), window(number), again=True)
    (found,) = redecided(place)
    assert found.problem is not None
    assert "got 1" in found.problem
