"""Worlds of the zoo say the truth about their own logs."""

import numpy as np
import pytest

from realloc.base.errors import ConfigError
from realloc.decide.config import DecisionConfig
from realloc.world.zoo import CARDS, ZooWorld


@pytest.mark.parametrize("name", CARDS)
def test_outcomes_are_around_the_true_response_and_mixes_inside_the_true_region(name):
    drawn = ZooWorld(name, seed=3).draw(units=600, periods=3, seed=1)
    logs = drawn.logs
    mean = drawn.surface.value(logs.shares)
    left = logs.outcome - mean
    assert abs(left.mean()) < 4 * left.std() / np.sqrt(len(left))
    inside = drawn.supported(logs.shares)
    assert 0.90 < inside.mean() < 0.99
    np.testing.assert_allclose(logs.shares.sum(axis=1), 1.0)


@pytest.mark.parametrize("name", ["campaign_orders", "thresholds", "quiet_paper"])
def test_the_oracle_gains_and_stays_in_its_region(name):
    drawn = ZooWorld(name, seed=3).draw(units=60, periods=2, seed=1)
    shares = drawn.best(DecisionConfig().searching())
    gain = drawn.gain(shares)
    moved = np.abs(shares - drawn.logs.shares).sum(axis=1) > 1e-9
    assert gain.min() >= 0
    assert moved.mean() > 0.5
    assert drawn.supported(shares)[moved].all()


@pytest.mark.parametrize("name", ["promotions_alone", "seasons_alone"])
def test_a_world_without_effect_rewards_nothing_though_mixes_follow_sales(name):
    drawn = ZooWorld(name, seed=3).draw(units=500, periods=4, seed=1)
    other = np.roll(drawn.logs.shares, 1, axis=0)
    assert not drawn.gain(other).any()
    size = drawn.logs.table["budget"].to_numpy()
    per_size = drawn.logs.outcome / size
    follows = [np.corrcoef(share, per_size)[0, 1] for share in drawn.logs.shares.T]
    assert np.abs(follows).max() > 0.1


def test_the_same_seed_is_the_same_log_and_another_one_is_not():
    one = ZooWorld("sticky_mixes", seed=2)
    again = ZooWorld.from_card(one.card())
    first = one.sample(units=5, periods=3, seed=7)
    assert again.sample(units=5, periods=3, seed=7).table.equals(first.table)
    assert not one.sample(units=5, periods=3, seed=8).table.equals(first.table)


def test_mixes_that_rarely_change_rarely_change():
    logs = ZooWorld("sticky_mixes", seed=2).sample(units=50, periods=20, seed=1)
    shares = np.log(logs.shares.reshape(50, 20, -1))
    steps = np.abs(np.diff(shares, axis=1)).max(axis=2)
    often = ZooWorld("thresholds", seed=2).sample(units=50, periods=20, seed=1)
    usual = np.abs(np.diff(np.log(often.shares.reshape(50, 20, -1)), axis=1)).max(axis=2)
    assert np.median(steps) < np.median(usual) / 2


def test_bad_names_cards_and_sizes_are_told():
    with pytest.raises(
        ConfigError, match="Expected a world of the zoo, got 'plateau'.*plateaus"
    ):
        ZooWorld("plateau")
    with pytest.raises(ConfigError, match="at least 1 unit"):
        ZooWorld("plateaus").sample(units=0)
    changed = ZooWorld("plateaus").card() | {"noise_scale": 9.0}
    with pytest.raises(ConfigError, match="another 'noise_scale': 9.0"):
        ZooWorld.from_card(changed)
