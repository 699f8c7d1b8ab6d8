"""The canary: 64 rows of the window and the model's answers to them, asked again whenever the version is loaded.

Digests say that bytes are the same; the canary says that this program on this machine makes the same decisions of them. On
the machine, libraries and threads of the writer they must agree to the bit. Elsewhere the last digits differ by design, and a
decision near a border may turn, so there only the gains of fixed moves are compared, closely.
"""

import platform
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from realloc.base.errors import ReallocError, StoreError
from realloc.logs import Logs, Schema

if TYPE_CHECKING:
    from realloc.model.realloc import ReAlloc

ROWS = 64
NEAR = 1e-3  # of the largest gain: how far other machines may be off
MISFITS = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
ANSWERS = ("shares", "gain", "gain_lower", "support", "reason", "turned")


def choose_rows(window: Logs) -> NDArray[np.uint8]:
    """Rows spread evenly over the window, as bytes of Arrow's stream format; words that no row uses are left out."""
    rows = np.unique(np.linspace(0, len(window) - 1, min(ROWS, len(window))).astype(np.int64))
    table = window.take(rows).table.replace_schema_metadata(None)
    for index, column in enumerate(table.columns):
        if pa.types.is_dictionary(column.type):
            plain = pa.concat_arrays(column.cast(column.type.value_type).chunks)
            table = table.set_column(index, table.column_names[index], plain.dictionary_encode())
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table.combine_chunks())
    return np.frombuffer(sink.getvalue(), dtype=np.uint8).copy()


def read_rows(content: NDArray[np.uint8], schema: Schema) -> Logs:
    """The rows that `choose_rows` chose."""
    with pa.ipc.open_stream(pa.py_buffer(content.tobytes())) as stream:
        table = stream.read_all()
    table.validate(full=True)  # a reader of the stream trusts its lengths and places
    return Logs(schema, table, tuple(schema.features or ()))


def ask(model: "ReAlloc", rows: NDArray[np.uint8]) -> dict[str, NDArray[Any]]:
    """Rows and answers; refused if shares leave the simplex or a number is not finite."""
    from realloc.model.recommend import recommend_rows

    logs = read_rows(rows, model.known_schema)
    decision = recommend_rows(model.fitted, logs, model.config, model.config.constraints)
    found: dict[str, NDArray[Any]] = {
        "shares": np.array(decision.shares, np.float64),
        "gain": np.array(decision.gain, np.float64),
        "gain_lower": np.array(decision.gain_lower, np.float64),
        "support": np.array(decision.support, np.float64),
        "reason": np.frombuffer("\n".join(decision.reason.tolist()).encode(), np.uint8).copy(),
        "turned": model.fitted.gain(logs, np.roll(logs.shares, 1, axis=1))
        .mean(axis=0)
        .astype(np.float64),
    }
    for name in ("shares", "gain", "gain_lower", "support", "turned"):
        if not np.isfinite(found[name]).all():
            raise StoreError(
                f"Expected finite numbers in the canary's answers, but `{name}` holds others."
            )
    if found["shares"].min() < 0 or np.abs(found["shares"].sum(axis=1) - 1).max() > 1e-9:
        raise StoreError("Expected shares on the simplex in the canary's answers, got others.")
    return {"rows": rows, **found}


def check(model: "ReAlloc", expected: dict[str, NDArray[Any]], same_machine: bool) -> None:
    """The model still answers as it did when its version was written."""
    try:
        found = ask(model, expected["rows"])
        allowed = NEAR * np.abs(expected["turned"]).max()
        turned = np.abs(found["turned"] - expected["turned"]).max()
    except (*MISFITS, pa.ArrowException) as problem:
        if isinstance(problem, ReallocError):
            raise
        raise StoreError(
            "Expected a canary that was written with the model, got one of another kind."
        ) from problem
    if same_machine:
        for name in ANSWERS:
            if name not in expected or found[name].tobytes() != expected[name].tobytes():
                raise StoreError(
                    f"Expected the canary's answers to the bit, but `{name}` differs: this program does not decide as the one "
                    "that wrote the version did."
                )
        return
    if not turned <= allowed:
        raise StoreError(
            "Expected gains near those of the machine that wrote the version, got others: this program does not compute as "
            "that one did. Install the same versions of realloc, torch and numpy."
        )


def machine() -> str:
    """What must be the same for answers to be the same to the bit."""
    import torch

    kind = torch.backends.cpu.get_cpu_capability()
    return f"{platform.machine()} {kind}, torch {torch.__version__}, numpy {np.__version__}, {torch.get_num_threads()} threads"
