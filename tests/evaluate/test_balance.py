import numpy as np
import pytest

from realloc import ConfigError, LogError
from realloc.evaluate.balance import Pool, balance_table, ladder, select_setting
from realloc.evaluate.matching import Matches, MatchSetting, match_events, standardise

STRICT, LOOSE = (
    MatchSetting(caliper=0.05, neighbours=3),
    MatchSetting(caliper=1.0, neighbours=3),
)


def pool_of(shift: float, events: int = 300, controls: int = 1500, seed: int = 0) -> Pool:
    """Events whose first covariate lies `shift` standard deviations above that of controls;
    the second is alike.
    """
    values = np.random.default_rng(seed).standard_normal((events + controls, 2))
    values[:events, 0] += shift
    rows = np.arange(len(values))
    return Pool(
        ("price", "budget"), values, standardise(values), rows[:events], rows[events:]
    )


def one_stratum(pool):
    return lambda category: np.zeros(len(pool.values), dtype=np.int64)


def test_differences_by_hand():
    values = np.array([[1.0], [3.0], [0.0], [2.0], [4.0], [2.0]])
    events, controls = np.array([0, 1]), np.array([2, 3, 4, 5])
    matches = Matches(events, np.array([[2], [4]]), np.zeros((2, 1)))
    found = balance_table(("x",), values, events, controls, matches)
    spread = np.sqrt((1.0 + 2.0) / 2)
    assert np.isclose(found.before[0], 0.0)
    assert np.isclose(found.after[0], ((1 - 0) + (3 - 4)) / 2 / spread)
    better = balance_table(
        ("x",),
        values,
        events,
        controls,
        Matches(events, np.array([[2], [5]]), np.zeros((2, 1))),
    )
    assert np.isclose(better.after[0], 1.0 / spread)


def test_matching_takes_away_what_differed():
    pool = pool_of(shift=0.8)
    matches = match_events(
        pool.z,
        pool.events,
        pool.controls,
        np.zeros(1800, int),
        MatchSetting(caliper=0.2, neighbours=3),
    )
    found = balance_table(pool.names, pool.values, pool.events, pool.controls, matches)
    assert found.before[0] > 0.7
    assert np.abs(found.after).max() < 0.1
    assert found.to_frame().columns.tolist() == ["covariate", "before", "after"]
    assert found.to_frame()["covariate"].tolist() == ["price", "budget"]


def test_what_never_varies_is_balanced_only_if_it_is_the_same():
    values = np.array([[1.0, 5.0], [1.0, 5.0], [1.0, 7.0], [1.0, 7.0]])
    found = balance_table(("same", "other"), values, np.array([0, 1]), np.array([2, 3]))
    assert found.before[0] == 0
    assert np.isinf(found.before[1])
    assert np.isnan(found.after).all()


def test_one_side_alone_cannot_be_compared():
    with pytest.raises(
        LogError, match="Expected events and controls to compare, got 0 and 2"
    ):
        balance_table(("x",), np.ones((2, 1)), np.empty(0, np.intp), np.array([0, 1]))


def test_the_looser_setting_is_taken_where_the_strict_one_loses_events():
    pool = pool_of(shift=0.1)
    found = select_setting(pool, one_stratum(pool), [STRICT, LOOSE])
    assert found.setting == LOOSE
    assert found.trials[0].matched < found.trials[1].matched == len(pool.events)
    assert "It matches 300 of 300 events" in found.why
    assert "none matches more" in found.why


def test_the_stricter_setting_is_taken_where_the_looser_one_loses_balance():
    pool = pool_of(shift=1.2)
    loosest = MatchSetting(caliper=3.0, neighbours=500)
    found = select_setting(pool, one_stratum(pool), [STRICT, loosest])
    assert found.setting == STRICT
    assert found.balance.largest < 0.1 <= found.trials[1].balance.largest
    assert f"settings that match up to {found.trials[1].matched} lose balance" in found.why


def test_nothing_is_chosen_where_no_setting_keeps_balance():
    pool = pool_of(shift=1.2)
    far = [
        MatchSetting(caliper=3.0, neighbours=500),
        MatchSetting(caliper=3.0, neighbours=1500),
    ]
    found = select_setting(pool, one_stratum(pool), far)
    assert found.setting is None
    assert found.matches is None
    assert "no matching keeps every |SMD| below 0.1" in found.why
    assert "on 'price'" in found.why
    assert found.balance.worst == "price"
    assert np.isclose(found.balance.largest, found.trials[0].balance.largest)


def test_events_without_any_control_are_not_called_balanced():
    pool = pool_of(shift=0.0)
    found = select_setting(pool, lambda category: np.arange(1800), [STRICT, LOOSE])
    assert found.setting is None
    assert "none of 300 events has a control" in found.why


def test_of_settings_that_match_as_many_the_earlier_is_taken():
    pool = pool_of(shift=0.0)
    more = MatchSetting(caliper=1.0, neighbours=2)
    assert select_setting(pool, one_stratum(pool), [LOOSE, more]).setting == LOOSE
    assert select_setting(pool, one_stratum(pool), [more, LOOSE]).setting == more


def test_a_coarser_category_is_asked_only_where_a_finer_one_loses_events():
    pool, asked = pool_of(shift=0.1), []

    def strata(category):
        asked.append(category)
        return np.arange(1800) % {"shop": 900, "town": 2}[category]

    settings = [
        MatchSetting(caliper=1.0, neighbours=2, category=name) for name in ("shop", "town")
    ]
    found = select_setting(pool, strata, settings)
    assert asked == ["shop", "town"]
    assert found.setting == settings[1]
    assert found.trials[0].matched < 300
    asked.clear()
    assert select_setting(pool, strata, settings[::-1]).setting == settings[1]
    assert asked == ["town"]


def test_the_ladder_widens_within_each_category():
    steps = ladder(("shop", "town"))
    assert [step.category for step in steps] == ["shop"] * (len(steps) // 2) + ["town"] * (
        len(steps) // 2
    )
    shop = [step.caliper for step in steps if step.category == "shop"]
    assert shop == sorted(shop)
    assert {step.category for step in ladder()} == {None}


def test_no_settings_are_refused():
    pool = pool_of(shift=0.0)
    with pytest.raises(
        ConfigError, match="Expected at least one matching setting to try, got none"
    ):
        select_setting(pool, one_stratum(pool), [])
