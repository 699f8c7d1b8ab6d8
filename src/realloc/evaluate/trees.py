"""Boosted trees (LightGBM) for evaluation: how columns become numbers, and when learning stops."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from realloc.base.simplex import Floats, Rows
from realloc.logs.table import as_floats

if TYPE_CHECKING:
    import lightgbm as lgb


def boost(
    x: NDArray[np.floating],
    label: NDArray[Any],
    train: Rows,
    stop: Rows,
    options: Mapping[str, Any],
    categorical: Sequence[int] = (),
    start: Floats | None = None,
    patience: int = 20,
) -> "lgb.Booster":
    """Trees learned on the rows `train`, as many as are best on the rows `stop`.

    `categorical`: columns of codes; `start`: scores that the trees add to; `patience`: trees
    without a gain.
    """
    # Costs most of a second, and only fitting needs it.
    import lightgbm as lgb

    params = {
        "min_data_in_leaf": max(5, min(40, len(train) // 50)),
        "feature_fraction": 0.7,
        "lambda_l2": 5.0,
        "deterministic": True,
        "force_row_wise": True,
        "num_threads": 1,
        "verbose": -1,
        **options,
    }

    def dataset(rows: Rows) -> lgb.Dataset:
        score = None if start is None else start[rows]
        columns: Any = list(categorical)
        return lgb.Dataset(
            x[rows],
            label[rows],
            init_score=score,
            categorical_feature=columns,
            params=params,
        )

    learned = dataset(train)
    held_out = dataset(stop).set_reference(learned)
    stopping = lgb.early_stopping(patience, verbose=False)
    return lgb.train(params, learned, valid_sets=[held_out], callbacks=[stopping])


def as_numbers(column: pa.ChunkedArray) -> Floats:
    """Numbers, flags, days since 1970 or category codes; NaN where missing."""
    if pa.types.is_dictionary(column.type):
        codes = [chunk.indices for chunk in column.unify_dictionaries().chunks]
        column = pa.chunked_array(codes, pa.int32())
    return as_floats(column)
