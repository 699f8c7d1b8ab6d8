"""A row's product is the same in any company: alone, shuffled, in a large batch."""

import numpy as np
import pytest

from realloc.base.numerics.row_stable import cut, in_tiles, join, multiply


def test_tiles_hold_all_rows_whatever_their_number():
    for n in (0, 1, 15, 16, 17, 2000):
        rows = np.arange(2.0 * n).reshape(n, 2)
        assert np.array_equal(join(cut(rows, 16), n), rows)
        assert np.array_equal(in_tiles(lambda tiles: tiles + 1, rows), rows + 1)


@pytest.mark.parametrize("shape", [(19, 128), (128, 128), (128, 67), (1000, 1000), (40, 2)])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_products_in_tiles_give_a_row_the_same_result_in_any_company(shape, kind):
    random = np.random.default_rng(0)
    x = random.normal(size=(200, shape[0])).astype(kind)
    weights = random.normal(size=shape).astype(kind)
    together = in_tiles(lambda part: multiply(part, weights), x)
    order = random.permutation(200)
    alone = [
        in_tiles(lambda part: multiply(part, weights), x[i : i + 1]) for i in range(200)
    ]
    assert np.array_equal(together, np.concatenate(alone))
    assert np.array_equal(
        together[order], in_tiles(lambda part: multiply(part, weights), x[order])
    )


def test_without_tiles_the_same_row_gives_other_digits():
    """The negative control: on this machine products do round a row by its company."""
    random = np.random.default_rng(0)
    x = random.normal(size=(200, 128)).astype(np.float32)
    weights = random.normal(size=(128, 67)).astype(np.float32)
    alone = np.concatenate([x[i : i + 1] @ weights for i in range(200)])
    assert not np.array_equal(x @ weights, alone)
