from datetime import date

import numpy as np
import pyarrow as pa

from realloc.evaluate.trees import as_numbers, boost


def test_columns_become_numbers_and_what_is_missing_nan():
    days = as_numbers(pa.chunked_array([[date(1970, 1, 3), None]]))
    assert np.array_equal(days, [2.0, np.nan], equal_nan=True)
    assert np.array_equal(
        as_numbers(pa.chunked_array([[True, None]])), [1, np.nan], equal_nan=True
    )
    assert as_numbers(pa.chunked_array([[3, 4], [5]])).tolist() == [3.0, 4.0, 5.0]


def test_codes_of_a_category_are_the_same_in_every_chunk():
    chunks = [
        pa.array(["a", "b"]).dictionary_encode(),
        pa.array(["b", None]).dictionary_encode(),
    ]
    found = as_numbers(pa.chunked_array(chunks))
    assert np.array_equal(found, [0.0, 1.0, 1.0, np.nan], equal_nan=True)


def test_trees_stop_where_rows_held_out_stop_getting_better():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((1000, 2))
    train, stop = np.arange(800), np.arange(800, 1000)
    options = {"objective": "l2", "num_iterations": 200, "learning_rate": 0.1, "seed": 0}
    noise = boost(x, rng.standard_normal(1000), train, stop, options)
    signal = boost(x, x[:, 0] + 0.1 * rng.standard_normal(1000), train, stop, options)
    assert noise.best_iteration < 40 < signal.best_iteration
    assert np.corrcoef(np.asarray(signal.predict(x[stop])), x[stop, 0])[0, 1] > 0.95


def test_trees_add_to_a_start():
    x = np.linspace(-1, 1, 400)[:, None]
    every = np.arange(400)
    options = {
        "objective": "l2",
        "num_iterations": 5,
        "boost_from_average": False,
        "seed": 0,
    }
    done = boost(x, 3 * x[:, 0], every, every, options, start=3 * x[:, 0])
    assert np.allclose(np.asarray(done.predict(x)), 0.0, atol=1e-6)
