"""The canary: 64 rows of the window and the model's answers to them, asked again at every load.

Digests say that bytes are the same; the canary says that this program makes the same decisions of
them. Gains of fixed moves must agree closely. Where two ends are worth nearly the same, another
machine may choose the other one, so gains of decisions agree less closely, and one reason in twenty
may differ.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from realloc.base.errors import ReallocError, StoreError
from realloc.logs import Logs
from realloc.model.realloc import ReAlloc

ROWS = 64
# how far gains may be off, as a part of the largest
NEAR = {"fixed_gain": 1e-4, "gain": 1e-2}
SAME = 0.95  # of the reasons
MISFITS = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RuntimeError,
    TypeError,
    ValueError,
)


def choose_rows(window: Logs) -> NDArray[np.uint8]:
    """Rows spread evenly over the window, as an Arrow stream without unused words."""
    rows = np.unique(
        np.linspace(0, len(window) - 1, min(ROWS, len(window))).astype(np.int64)
    )
    table = window.take(rows).table.replace_schema_metadata(None)
    for index, column in enumerate(table.columns):
        if pa.types.is_dictionary(column.type):
            plain = column.cast(column.type.value_type).combine_chunks()
            table = table.set_column(
                index, table.column_names[index], plain.dictionary_encode()
            )
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table.combine_chunks())
    return np.frombuffer(sink.getvalue(), dtype=np.uint8).copy()


def ask(model: ReAlloc, rows: NDArray[np.uint8]) -> dict[str, NDArray[Any]]:
    """Rows and answers; refused if shares leave the simplex or a number is not finite."""
    with pa.ipc.open_stream(pa.py_buffer(rows.tobytes())) as stream:
        table = stream.read_all()
    table.validate(full=True)  # a reader of the stream trusts its lengths and places
    schema = model.known_schema
    logs = Logs(schema, table, tuple(schema.features or ()))
    decision = model.decide(logs)
    shares = np.asarray(decision.shares)
    if not shares.min() >= 0 or not np.abs(shares.sum(axis=1) - 1).max() <= 1e-9:
        raise StoreError(
            "Expected shares on the simplex in the canary's answers, got others."
        )
    answers: dict[str, NDArray[Any]] = {
        "gain": np.array(decision.gain, np.float64),
        "fixed_gain": model.fitted.gain(logs, np.roll(logs.shares, 1, axis=1)).mean(axis=0),
    }
    for name, values in answers.items():
        if not np.isfinite(values).all():
            raise StoreError(
                f"Expected finite numbers in the canary's answers, but `{name}` holds others."
            )
    reasons = "\n".join(decision.reason.tolist()).encode()
    return {"rows": rows, "reason": np.frombuffer(reasons, np.uint8).copy(), **answers}


def check(model: ReAlloc, expected: Mapping[str, NDArray[Any]]) -> None:
    """Refuse a model that does not answer as it did when its version was written."""
    try:
        answers = ask(model, expected["rows"])
        near = all(
            np.abs(answers[name] - expected[name]).max(initial=0.0)
            <= part * np.abs(expected[name]).max(initial=0.0)
            for name, part in NEAR.items()
        )
        same = np.mean(_reasons(answers) == _reasons(expected))
    except (*MISFITS, pa.ArrowException) as problem:
        if isinstance(problem, ReallocError):
            raise
        raise StoreError(
            "Expected a canary that was written with the model, got one of another kind."
        ) from problem
    if not near or same < SAME:
        raise StoreError(
            "Expected the canary's answers, got others: this program does not decide as the one "
            "that wrote the version did. Install the versions of realloc and numpy that wrote it, "
            "or fit again."
        )


def _reasons(answers: Mapping[str, NDArray[Any]]) -> NDArray[np.str_]:
    return np.array(answers["reason"].tobytes().decode().split("\n"))
