"""Fingerprints change with any value that is read, and with nothing else."""

from dataclasses import replace
from datetime import date, datetime

import numpy as np
import pyarrow as pa

from realloc import Schema
from realloc.logs import Logs
from realloc.logs.reading.read import load_today
from realloc.storage.ledger.fingerprint import fingerprint
from tests.small import today, window

SCHEMA = window().pinned_schema


def prints(frame):
    found = load_today(frame, SCHEMA)
    return dict(zip(found.positions.tolist(), fingerprint(found.logs), strict=True))


def test_order_of_rows_and_columns_and_further_columns_change_nothing():
    frame = today(20)
    turned = frame.iloc[::-1][frame.columns[::-1]].assign(more=1.0)
    one, other = prints(frame), prints(turned)
    assert [one[n] for n in range(20)] == [other[19 - n] for n in range(20)]
    assert len(set(one.values())) == 20


def test_no_rows_have_no_fingerprints():
    logs = window()
    assert fingerprint(logs.take(np.zeros(len(logs), bool))) == []


def test_every_value_that_is_read_counts():
    frame = today(1)
    plain = prints(frame)[0]
    for name in frame.columns:
        if name in ("budget", "c1", "ads", "s6"):
            changed = frame.copy()
            changed[name] = changed[name] + (0.01 if name != "ads" else 0.0)
            assert (prints(changed).get(0) != plain) == (name != "ads")
    assert prints(frame.assign(item_id="other"))[0] != plain
    assert prints(frame.assign(c1=np.nan))[0] not in (
        plain,
        prints(frame.assign(c1=0.0))[0],
    )


def test_names_count_and_zero_has_no_sign():
    frame = today(1)
    assert prints(frame.assign(c1=0.0))[0] == prints(frame.assign(c1=-0.0))[0]
    logs = load_today(frame, SCHEMA).logs
    turned = replace(logs, features=tuple(reversed(logs.features)))
    assert fingerprint(turned) == fingerprint(logs)
    table = logs.table.rename_columns(
        [{"c1": "c1b"}.get(name, name) for name in logs.table.column_names]
    )
    other = replace(
        logs,
        table=table,
        features=("c1b", *(name for name in logs.features if name != "c1")),
    )
    assert fingerprint(other) != fingerprint(logs)


def test_they_are_those_of_logs_that_were_written_before():
    """Of every type, with missing values and a zero with a sign; first computed before columns
    were taken together.
    """
    columns = {
        "u": pa.array(["a", "b", "ä"]).dictionary_encode(),
        "t": pa.array([date(2026, 1, 1)] * 3),
        "p": [0.5, -0.0, 1.0],
        "q": [0.5, 1.0, 0.0],
        "f": pa.array([1.5, None, np.nan], pa.float32()),
        "g": pa.array([True, None, False]),
        "k": pa.array(["x", None, "y"]).dictionary_encode(),
        "d": pa.array(
            [datetime(2026, 1, 1, 9, 30), None, datetime(1999, 1, 1)], pa.timestamp("us")
        ),
    }
    features = ("f", "g", "k", "d")
    schema = Schema(
        unit="u",
        time="t",
        outcome="y",
        channels=["p", "q"],
        features=features,
        categorical=["k"],
    )
    assert [
        one.hex() for one in fingerprint(Logs(schema, pa.table(columns), features))
    ] == [
        "b43971b44fde4cacdfa1a43a4a438339",
        "985898a3433990f3aeb4868b6d548424",
        "853db687d5150be5c42ce17091dbf4c2",
    ]
