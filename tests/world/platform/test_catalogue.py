import numpy as np

from realloc.world.platform.catalogue import CatalogueParameters, draw_catalogue
from realloc.world.platform.draws import Draws
from realloc.world.sample import channel_names


def test_channels_are_named_and_further_ones_numbered() -> None:
    assert channel_names(2) == ("ads", "coupon")
    assert channel_names(5) == ("ads", "coupon", "rebate", "channel_4", "channel_5")


def test_category_sizes_are_skewed_and_drawn_as_such() -> None:
    n = 50_000
    catalogue = draw_catalogue(1, 2, CatalogueParameters())
    assert catalogue.weight[0] > 10 * catalogue.weight[-1]
    drawn = (
        np.bincount(catalogue.pick_category(Draws((1,), 0, n).uniform("x")), minlength=24)
        / n
    )
    assert (np.abs(drawn - catalogue.weight) < 4.5 * np.sqrt(catalogue.weight / n)).all()


def test_the_week_comes_round_and_adds_up_to_nothing() -> None:
    catalogue = draw_catalogue(1, 2, CatalogueParameters())
    assert np.allclose(catalogue.week.sum(axis=1), 0, atol=1e-12)
    assert np.abs(catalogue.week).max() > 0.1


def test_more_channels_leave_the_categories_as_they_are() -> None:
    two, five = (draw_catalogue(3, K, CatalogueParameters()) for K in (2, 5))
    assert np.array_equal(two.log_price, five.log_price)
    assert np.array_equal(two.affinity, five.affinity[:, :2])
    assert np.array_equal(two.shock(9), five.shock(9))
