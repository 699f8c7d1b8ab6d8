import numpy as np
import pyarrow as pa
import pytest

from realloc.base.errors import LogError
from realloc.world.platform.catalogue import CatalogueParameters, draw_catalogue
from realloc.world.platform.draws import Draws
from realloc.world.platform.items import (
    GRID,
    ItemParameters,
    Items,
    draw_items,
    draw_opened,
    item_names,
    parse_names,
    to_thousandths,
)

CATALOGUE = draw_catalogue(1, 3, CatalogueParameters())


def lot(first: int, count: int, parameters: ItemParameters | None = None) -> Items:
    return draw_items(
        CATALOGUE, Draws((1, 0), first, count), parameters or ItemParameters()
    )


def test_an_item_is_the_same_in_every_lot() -> None:
    whole, part = lot(0, 500), lot(123, 45)
    for name in vars(part):
        assert np.array_equal(getattr(whole, name)[123:168], getattr(part, name)), name


def test_starting_shares_are_whole_thousandths_on_the_simplex_with_zeros_where_never_used() -> (
    None
):
    items = lot(0, 5000)
    assert (items.start.sum(axis=1) == GRID).all()
    assert (items.start >= 0).all()
    assert (items.start[~items.opened] == 0).all()
    assert items.opened.any(axis=1).all()


def test_channels_stay_unused_as_often_as_asked() -> None:
    n, never = 20_000, 0.3
    opened = draw_opened(Draws((1,), 0, n).uniforms("o", 3), never)
    # The channel with the largest draw is open in any case, so a channel is closed unless all three
    # would be.
    expected = never - never**3 / 3
    assert np.abs((~opened).mean(axis=0) - expected).max() < 4.5 * np.sqrt(expected / n)


def test_prices_are_log_normal_within_a_category() -> None:
    items = lot(0, 30_000)
    for category in range(3):
        mine = items.log_price[items.category == category]
        assert abs(mine.mean() - CATALOGUE.log_price[category]) < 4.5 * 0.6 / np.sqrt(
            len(mine)
        )
        assert abs(mine.std() - 0.6) < 4.5 * 0.6 / np.sqrt(2 * len(mine))


def test_rounding_to_thousandths_keeps_closed_channels_at_zero() -> None:
    shares = to_thousandths(
        np.array([[50.0, 0.0, 0.0], [0.0, 0.0, 0.0]]),
        np.array([[False, True, True], [True] * 3]),
    )
    assert shares.tolist() == [[0, 500, 500], [334, 333, 333]]


def test_names_and_numbers_are_inverse() -> None:
    assert parse_names(item_names(7, 9_999_999, 2)).tolist() == [
        [7, 9_999_999],
        [7, 10_000_000],
    ]


@pytest.mark.parametrize("name", ["sku 12", "1", "1-2-3", "a-b"])
def test_foreign_ids_are_refused(name: str) -> None:
    with pytest.raises(
        LogError,
        match="Expected item ids of the marketplace such as '0-0000012', got '" + name,
    ):
        parse_names(pa.array(["0-0000001", name]))


def test_join_and_take_are_inverse() -> None:
    whole = lot(0, 10)
    again = Items.join([whole.take(np.arange(4)), whole.take(np.arange(4, 10))])
    assert len(again) == 10
    assert np.array_equal(whole.taste, again.taste)
