"""Rows of the decision log, and the inputs that come back from them."""

import pyarrow as pa

from realloc.logs.reading.read import load_today
from realloc.storage.ledger.fingerprint import fingerprint
from realloc.storage.ledger.rows import pack_inputs, unpack_inputs
from tests.small import today, window

SCHEMA = window().pinned_schema


def test_inputs_come_back_as_they_were():
    logs = load_today(today(20), SCHEMA).logs
    back = unpack_inputs(pa.chunked_array([pack_inputs(logs)]), SCHEMA)
    assert fingerprint(back) == fingerprint(logs)
    assert back.shares.tobytes() == logs.shares.tobytes()
    assert back.features == logs.features
