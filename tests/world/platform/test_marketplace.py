import json

import numpy as np
import pyarrow as pa
import pytest

from platform_figures import Panel
from realloc.base.errors import ConfigError, LogError
from realloc.logs import Logs
from realloc.world.platform import Marketplace, MarketplaceParameters, ResponseParameters

SMALL = Marketplace(seed=5).sample(items=40, days=6)


def orders_by_name(logs: Logs) -> dict[tuple[str, object], float]:
    frame = logs.to_pandas()
    return dict(
        zip(zip(frame["item_id"], frame["date"], strict=True), frame["orders"], strict=True)
    )


def test_the_same_seed_gives_the_same_logs_and_another_seed_other_items() -> None:
    assert (
        Marketplace(seed=5).sample(items=40, days=6).to_pandas().equals(SMALL.to_pandas())
    )
    other = Marketplace(seed=5).sample(items=40, days=6, seed=1)
    assert set(other.units.to_pylist()).isdisjoint(SMALL.units.to_pylist())
    assert abs(np.corrcoef(other.outcome, SMALL.outcome)[0, 1]) < 0.7
    assert not np.array_equal(
        Marketplace(seed=6).sample(items=40, days=6).outcome, SMALL.outcome
    )


def test_more_items_or_days_leave_the_others_as_they_are() -> None:
    large = orders_by_name(Marketplace(seed=5).sample(items=70, days=9))
    assert all(large[key] == value for key, value in orders_by_name(SMALL).items())


def test_the_state_of_any_selection_is_that_of_the_whole(two: Panel) -> None:
    rows = np.random.default_rng(0).permutation(len(two.logs))[:500]
    part = two.market.state(two.logs.take(rows))
    for name in vars(part):
        assert np.array_equal(getattr(part, name), getattr(two.state, name)[rows]), name


def test_the_state_works_on_logs_of_several_sample_seeds() -> None:
    market = Marketplace(seed=5)
    other = market.sample(items=10, days=6, seed=9)
    table = (
        pa.concat_tables([other.table, SMALL.table]).unify_dictionaries().combine_chunks()
    )
    both = Logs(schema=SMALL.schema, table=table, features=SMALL.features)
    expected = np.concatenate(
        [market.response(market.state(x), x.shares)["gmv"] for x in (other, SMALL)]
    )
    assert np.array_equal(market.response(market.state(both), both.shares)["gmv"], expected)


def test_the_state_of_no_rows_is_empty() -> None:
    market = Marketplace(seed=5)
    nothing = SMALL.take(np.zeros(len(SMALL), dtype=bool))
    assert len(market.state(nothing)) == 0
    assert market.arms(nothing).probabilities.shape == (0, 7)


def test_gain_is_the_difference_of_responses(two: Panel) -> None:
    rows = np.arange(50)
    state, start, end = two.state.take(rows), two.before[rows], two.after[::-1][rows]
    gain = two.market.gain(state, start, end)["income"]
    back = two.market.gain(state, end, start)["income"]
    assert np.array_equal(gain, -back)
    assert np.abs(gain).max() > 0


def test_a_card_rebuilds_the_world_bit_for_bit() -> None:
    market = Marketplace(
        seed=8,
        channels=4,
        parameters=MarketplaceParameters(response=ResponseParameters(noise_sd=0.1)),
    )
    again = Marketplace.from_card(json.loads(json.dumps(market.card())))
    assert (again.seed, again.channels, again.parameters) == (8, 4, market.parameters)
    assert (
        again.sample(items=20, days=3)
        .to_pandas()
        .equals(market.sample(items=20, days=3).to_pandas())
    )


def test_the_card_tells_the_whole_exploration_menu() -> None:
    market = Marketplace()
    menu = market.card()["exploration_menu"]
    assert menu["hold"] == market.parameters.exploration.hold
    changes = [
        (-move["step"] if move["from"] == "ads" else move["step"]) for move in menu["moves"]
    ]
    assert changes == market.arms(market.sample(items=1, days=1)).moves[1:, 0].tolist()


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (
            {"world": "paper"},
            "Expected the card of world 'platform' in format 1, got world 'paper' in format 1",
        ),
        (
            {"format": 99},
            "Expected the card of world 'platform' in format 1, got world 'platform' in format 99",
        ),
        ({"digest": "0"}, "Expected parameters with the digest '0' in the card"),
        ({"seed": -1}, "Expected seed to be a whole number from 0 to 4294967295, got -1"),
    ],
)
def test_a_card_that_does_not_fit_is_refused(change: dict[str, object], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        Marketplace.from_card({**Marketplace().card(), **change})


def test_a_card_without_a_seed_is_refused() -> None:
    card = Marketplace().card()
    del card["seed"]
    with pytest.raises(
        ConfigError,
        match="Expected `seed` in the card of the marketplace, but not found there",
    ):
        Marketplace.from_card(card)


@pytest.mark.parametrize("value", [1, 0, -3, 2.0, True, "2"])
def test_channels_must_be_two_or_more(value: object) -> None:
    with pytest.raises(
        ConfigError, match="Expected channels to be a whole number from 2 to 64, got"
    ):
        Marketplace(channels=value)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("sizes", "text"),
    [
        ({"items": 0}, "Expected items to be a whole number >= 1, got 0"),
        ({"items": 3, "days": 0}, "Expected days to be a whole number >= 1, got 0"),
        ({"items": 3, "seed": -1}, "Expected seed to be a whole number from 0"),
    ],
)
def test_bad_sizes_are_refused(sizes: dict[str, int], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        Marketplace().sample(**sizes)


def test_logs_of_another_world_are_refused(two: Panel) -> None:
    with pytest.raises(
        LogError,
        match=r"Expected logs of this marketplace with the channels \['ads', 'coupon', 'rebate'\]",
    ):
        Marketplace(channels=3).state(two.logs)
