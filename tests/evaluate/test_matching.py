import numpy as np
import pytest
from scipy.spatial.distance import cdist

from realloc import ConfigError, LogError
from realloc.evaluate.matching import (
    Matches,
    MatchSetting,
    match_events,
    match_placebos,
    standardise,
)

RNG = np.random.default_rng(0)
N = 400
VALUES = RNG.standard_normal((N, 3)) * [1.0, 10.0, 0.1] + [0.0, 5.0, 0.0]
VALUES[:, 2] += 0.05 * VALUES[:, 0]
STRATA = RNG.integers(0, 6, N)
EVENTS, CONTROLS = np.arange(0, 120), np.arange(120, N)


def brute_force(z, events, controls, strata, setting):
    """The definition, event by event."""
    found = {}
    for event in events:
        distance = cdist(z[[event]], z[controls])[0]
        fits = (
            (strata[controls] == strata[event])
            & (distance <= setting.caliper)
            & (controls != event)
        )
        order = np.argsort(np.where(fits, distance, np.inf))[
            : min(setting.neighbours, fits.sum())
        ]
        if len(order):
            found[int(event)] = controls[order].tolist()
    return found


def as_dict(matches):
    return {
        int(event): [int(row) for row in near if row >= 0]
        for event, near in zip(matches.events, matches.controls, strict=True)
    }


@pytest.mark.parametrize(
    ("caliper", "neighbours"), [(0.2, 5), (0.5, 1), (0.5, 3), (5.0, 400)]
)
def test_the_index_finds_what_brute_force_finds(caliper, neighbours):
    z = standardise(VALUES)
    setting = MatchSetting(caliper=caliper, neighbours=neighbours)
    found = match_events(z, EVENTS, CONTROLS, STRATA, setting)
    expected = brute_force(z, EVENTS, CONTROLS, STRATA, setting)
    assert as_dict(found) == expected
    assert 0 < len(expected) <= len(EVENTS)


def test_a_stricter_setting_is_a_part_of_what_a_looser_one_found():
    z = standardise(VALUES)
    loose = match_events(
        z, EVENTS, CONTROLS, STRATA, MatchSetting(caliper=1.0, neighbours=10)
    )
    for caliper, neighbours in ((0.9, 10), (0.3, 10), (0.3, 2), (0.1, 1)):
        strict = match_events(
            z,
            EVENTS,
            CONTROLS,
            STRATA,
            MatchSetting(caliper=caliper, neighbours=neighbours),
        )
        assert as_dict(loose.within(caliper, neighbours)) == as_dict(strict)
    assert len(strict) < len(loose)


def test_strata_without_controls_match_nobody():
    alone = np.where(np.arange(N) == 0, 99, STRATA)
    found = match_events(
        standardise(VALUES),
        EVENTS,
        CONTROLS,
        alone,
        MatchSetting(caliper=9.0, neighbours=2),
    )
    assert 0 not in found.events
    assert len(found) == len(EVENTS) - 1


def test_a_control_exactly_at_the_caliper_counts():
    z = np.array([[0.0], [0.25], [0.5]])
    found = match_events(
        z,
        np.array([0]),
        np.array([1, 2]),
        np.zeros(3, int),
        MatchSetting(caliper=0.25, neighbours=2),
    )
    assert as_dict(found) == {0: [1]}


def test_response_are_what_is_left_of_the_mean_over_controls():
    matches = Matches(
        np.array([0, 1]), np.array([[2, 3], [3, -1]]), np.array([[0.1, 0.2], [0.1, np.inf]])
    )
    assert matches.weights.tolist() == [[0.5, 0.5], [1.0, 0.0]]
    assert matches.contrast(np.array([10.0, 20.0, 1.0, 3.0])).tolist() == [8.0, 17.0]
    two = np.array([[10.0, 0.0], [20.0, 1.0], [1.0, 2.0], [3.0, 4.0]])
    assert matches.contrast(two).tolist() == [[8.0, -3.0], [17.0, -3.0]]


def test_a_placebo_is_the_nearest_control_and_never_its_own():
    z, setting = standardise(VALUES), MatchSetting(caliper=0.6, neighbours=4)
    found = match_events(z, EVENTS, CONTROLS, STRATA, setting)
    events, placebos = match_placebos(z, found, CONTROLS, STRATA, setting)
    nearest = dict(zip(found.events.tolist(), found.controls[:, 0].tolist(), strict=True))
    assert [nearest[event] for event in events.events.tolist()] == placebos.events.tolist()
    expected = brute_force(z, np.unique(placebos.events), CONTROLS, STRATA, setting)
    for row, near in zip(placebos.events.tolist(), placebos.controls, strict=True):
        own = [control for control in near.tolist() if control >= 0]
        assert row not in own
        assert own == expected[row][: len(own)]


def test_placebos_have_as_many_controls_as_their_events():
    z, setting = standardise(VALUES), MatchSetting(caliper=0.4, neighbours=4)
    found = match_events(z, EVENTS, CONTROLS, STRATA, setting)
    events, placebos = match_placebos(z, found, CONTROLS, STRATA, setting)
    assert np.array_equal(
        (events.controls >= 0).sum(axis=1), (placebos.controls >= 0).sum(axis=1)
    )
    assert len(set((events.controls >= 0).sum(axis=1))) > 1


def grouped(groups=40, events=10, controls=2):
    """Groups of events that share the same controls, each row of a unit of its own,
    and a leverage per group.
    """
    size = events + controls
    first = np.arange(groups) * size
    mine = (first[:, None] + np.arange(events)).ravel()
    shared = np.repeat(first[:, None] + events + np.arange(controls), events, axis=0)
    leverage = np.repeat(np.random.default_rng(0).choice([-1.0, 1.0], groups), events)
    return Matches(mine, shared, np.zeros(shared.shape)), leverage, groups * size


def test_shared_controls_widen_intervals_by_as_much_as_sums_stray():
    """Per group: 10 from events and 10² / 2 from controls, where events alone show 10 · (1 + 1/2).
    So κ² = 60 / 15.
    """
    matches, leverage, rows = grouped()
    rng, sums, factors, alone = np.random.default_rng(1), [], [], []
    for _ in range(300):
        noise = rng.standard_normal(rows) + 7
        response = matches.contrast(noise)
        sums.append(leverage @ response)
        alone.append(np.square(leverage * (response - response.mean())).sum())
        factors.append(matches.sharing(leverage, noise, np.arange(rows)))
    assert np.isclose(np.mean(factors), 2.0, atol=0.1)
    assert np.isclose(
        np.std(sums) / np.sqrt(np.mean(alone)), 2.0, atol=4 * 2 / np.sqrt(600)
    )


def test_controls_of_one_event_each_widen_nothing():
    matches, leverage, rows = grouped(groups=2000, events=1)
    factor = matches.sharing(
        leverage, np.random.default_rng(1).standard_normal(rows), np.arange(rows)
    )
    assert 1 <= factor < 1.05


def test_leverage_that_cancels_within_a_group_needs_no_widening():
    matches, _, rows = grouped()
    cancelling = np.tile([1.0, -1.0], len(matches) // 2)
    assert (
        matches.sharing(
            cancelling, np.random.default_rng(1).standard_normal(rows), np.arange(rows)
        )
        == 1
    )


def test_rows_can_be_named_by_their_place_in_another_table():
    matches = Matches(np.array([0, 1]), np.array([[2, 3], [3, -1]]), np.zeros((2, 2)))
    moved = matches.at(np.array([10, 20, 30, 40]))
    assert moved.events.tolist() == [10, 20]
    assert moved.controls.tolist() == [[30, 40], [40, -1]]


def test_places_without_a_control_read_no_value():
    matches = Matches(np.array([0]), np.array([[1, -1]]), np.array([[0.1, np.inf]]))
    assert matches.contrast(np.array([3.0, 1.0, np.nan])).tolist() == [2.0]


def test_distances_are_root_mean_squares_of_standard_deviations():
    z = standardise(VALUES)
    gap = (VALUES[0] - VALUES[1]) / VALUES.std(axis=0)
    assert np.isclose(np.linalg.norm(z[0] - z[1]), np.sqrt(np.mean(gap**2)))


def test_what_never_varies_adds_nothing():
    constant = np.column_stack([VALUES, np.full(N, 1e6)])
    assert np.allclose(standardise(constant), standardise(VALUES))


def test_nothing_to_match_gives_no_matches():
    none = np.empty(0, dtype=np.intp)
    setting = MatchSetting(caliper=1.0, neighbours=2)
    assert len(match_events(standardise(VALUES), none, CONTROLS, STRATA, setting)) == 0
    assert len(match_events(standardise(VALUES), EVENTS, none, STRATA, setting)) == 0


def test_missing_covariates_are_refused():
    with pytest.raises(LogError, match="Expected finite covariates to match on"):
        match_events(
            np.full((3, 1), np.nan),
            np.array([0]),
            np.array([1]),
            np.zeros(3, int),
            MatchSetting(caliper=1.0, neighbours=1),
        )


@pytest.mark.parametrize("wrong", [{"caliper": 0.0}, {"neighbours": 0}, {"caliper": -1.0}])
def test_a_setting_that_matches_nobody_is_refused(wrong):
    with pytest.raises(ConfigError, match="in the matching setting, got"):
        MatchSetting(**({"caliper": 0.5, "neighbours": 1} | wrong))


def test_a_setting_says_what_it_is():
    assert (
        str(MatchSetting(caliper=0.2, neighbours=5, category="shop"))
        == "caliper 0.2, up to 5 controls of the same shop"
    )
    assert (
        str(MatchSetting(caliper=0.2, neighbours=5))
        == "caliper 0.2, up to 5 controls of any category"
    )
