from dataclasses import fields

import numpy as np
import pytest
from numpy.typing import NDArray

from platform_figures import Panel
from realloc.world.platform import Marketplace
from realloc.world.platform.draws import Draws
from realloc.world.platform.items import draw_items
from realloc.world.platform.simulation import Day, simulate


class ShakenDraws(Draws):
    """The same draws, but for one day's noise."""

    day = 4

    def normal(self, name: str, day: int = 0) -> NDArray[np.float64]:
        shake = 1.0 if name.startswith("noise.") and day == self.day else 0.0
        return super().normal(name, day) + shake


def run(draws: Draws, channels: int = 3, days: int = 8) -> list[Day]:
    market = Marketplace(channels=channels)
    items = draw_items(market.rules.catalogue, draws, market.parameters.items)
    return list(simulate(market.rules, items, draws, days))


def test_a_days_noise_changes_nothing_known_before_it_ended() -> None:
    plain, shaken = run(Draws((1, 0), 0, 300)), run(ShakenDraws((1, 0), 0, 300))
    for one, other in zip(plain[:5], shaken[:5], strict=True):
        for field in fields(one.past):
            assert np.array_equal(
                getattr(one.past, field.name), getattr(other.past, field.name)
            )
        for name in ("budget", "before", "shares", "propensity"):
            assert np.array_equal(
                getattr(one, name), getattr(other, name), equal_nan=name == "propensity"
            )
    assert not np.array_equal(plain[4].outcomes["orders"], shaken[4].outcomes["orders"])
    # The day after sees it: the test above can fail.
    assert not np.array_equal(plain[5].past.last, shaken[5].past.last)
    assert not np.array_equal(plain[5].budget, shaken[5].budget)


def test_shares_are_carried_from_day_to_day(three: Panel) -> None:
    before, after = (x.reshape(60, -1, 3) for x in (three.before, three.after))
    assert np.array_equal(before[1:], after[:-1])


def test_shares_lie_on_the_simplex_with_exact_zeros(three: Panel) -> None:
    assert (three.after >= 0).all()
    assert np.abs(three.after.sum(axis=1) - 1).max() < 1e-12
    assert 0.08 < (three.after == 0).mean() < 0.20
    assert np.array_equal(np.rint(three.after * 1000) / 1000, three.after)


@pytest.mark.parametrize("name", ["orders", "gmv", "income"])
def test_outcomes_are_the_truth_plus_noise_that_knows_nothing(
    two: Panel, name: str
) -> None:
    q = two.market.parameters.response
    sds = {"orders": [q.noise_sd], "gmv": [q.noise_sd, q.basket_noise_sd]}
    sd = np.sqrt(
        np.square(sds.get(name, [q.noise_sd, q.basket_noise_sd, q.margin_noise_sd])).sum()
    )
    noise = two.column(name) - two.market.response(two.state, two.after)[name]
    n = len(noise)
    assert abs(noise.mean()) < 4.5 * sd / np.sqrt(n)
    assert abs(noise.std() - sd) < 4.5 * sd / np.sqrt(2 * n)
    for known in (
        "orders_lag_1",
        "orders_lag_trend_7",
        "budget",
        "log_price",
        "share_ads_prev",
        "ads",
    ):
        assert abs(np.corrcoef(noise, two.column(known))[0, 1]) < 4.5 / np.sqrt(n), known
