"""Which rows are new, which were drawn, and with which chances."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from realloc import read_logs
from realloc.base.errors import ConfigError, LogError
from realloc.evaluate.events import find_events
from realloc.evaluate.randomized import RandomizedMoves, RandomizedShares
from realloc.evaluate.report.config import ReportConfig
from realloc.evaluate.report.traffic import find_drawn, find_new, mark_randomized
from realloc.world.platform import ItemParameters, Marketplace, MarketplaceParameters
from tests.evaluate.report.simulated import ARMS, MOVES, SCHEMA, fitted, make_logs


def drawn_of(frame, config=None, schema=SCHEMA):
    config = config or ReportConfig()
    further = tuple(name for name in config.columns if name not in (schema.features or ()))
    logs = read_logs(frame, replace(schema, features=(*(schema.features or ()), *further)))
    return find_drawn(logs, find_events(logs), np.ones(len(logs), dtype=bool), config), logs


@pytest.fixture
def small():
    return make_logs(units=60, days=6, seed=3)


def test_stated_chances_of_the_marketplace_are_those_of_its_menu():
    market = Marketplace(
        seed=1, parameters=MarketplaceParameters(items=ItemParameters(explored=0.5))
    )
    logs = market.sample(items=40, days=8)
    drawn = find_drawn(
        logs, find_events(logs), np.ones(len(logs), dtype=bool), ReportConfig()
    )
    assert isinstance(drawn.rows, RandomizedMoves)
    arms = market.arms(logs)
    truth = arms.probabilities[drawn.at, arms.drawn[drawn.at]]
    assert np.allclose(drawn.rows.propensity, truth)
    assert np.allclose(drawn.rows.moves[drawn.rows.drawn], arms.moves[arms.drawn[drawn.at]])
    assert len(drawn.at) > 100


def test_a_column_of_probabilities_for_every_arm_gives_them_exactly(small):
    drawn, _ = drawn_of(small, ReportConfig(arms=ARMS))
    wanted = (
        small.set_index(["item", "date"]).sort_index()[list(ARMS)].groupby(level=0).tail(5)
    )
    assert len(drawn.at) == len(wanted)
    arms: Any = drawn.rows
    assert np.allclose(arms.probabilities, wanted.to_numpy(), atol=1e-6)
    assert "fit the draws" in drawn.notes[-1]


def test_rows_that_are_only_marked_have_their_chances_estimated(small):
    drawn, _ = drawn_of(
        small, ReportConfig(randomized="explored"), replace(SCHEMA, propensity=None)
    )
    arms: Any = drawn.rows
    assert arms.estimated
    assert len(arms.moves) == len(MOVES)
    assert len(drawn.at) == 40 * 5  # a unit's first row has no shares before
    assert "estimated, because the log states none" in drawn.notes[-1]


def test_rows_after_a_gap_are_left_out(small):
    days = sorted(small["date"].unique())
    gap = small[~((small["item"] == "s3-001") & (small["date"] == days[2]))]
    whole, holed = (drawn_of(frame)[0] for frame in (small, gap))
    assert (
        len(whole.at) - len(holed.at) == 2
    )  # the missing row, and the one that follows it


def test_shares_from_a_density_are_taken_as_such(small):
    rng = np.random.default_rng(0)
    ads = rng.uniform(0.01, 0.99, len(small))
    frame = small.assign(ads=ads, coupon=1 - ads, chance=1 / 0.98)
    drawn, _ = drawn_of(frame)
    assert isinstance(drawn.rows, RandomizedShares)
    with pytest.raises(
        LogError, match="drawn from a density, and the log does not state it"
    ):
        drawn_of(
            frame, ReportConfig(randomized="explored"), replace(SCHEMA, propensity=None)
        )


@pytest.mark.parametrize(
    ("spoil", "text"),
    [
        (
            lambda f: f.assign(chance=np.nan),
            "No randomized rows: none of 360 rows is marked",
        ),
        (lambda f: f.assign(chance=f["chance"] * 6), "Expected propensities up to 1"),
        (
            lambda f: f.assign(chance=f["chance"] / 4),
            "do not fit the draws: rows that kept their shares should weigh 1",
        ),
        (
            lambda f: f[f["date"] == f["date"].max()],
            "that follow their unit's row of the period before",
        ),
    ],
)
def test_propensities_that_cannot_be_right_are_refused_with_a_sentence(small, spoil, text):
    with pytest.raises(LogError, match=text):
        drawn_of(spoil(small))


def test_arms_that_do_not_sum_to_one_or_miss_a_move_are_refused(small):
    with pytest.raises(LogError, match="sum to 1 in every row"):
        drawn_of(small.assign(p_0=small["p_0"] / 2), ReportConfig(arms=ARMS))
    with pytest.raises(LogError, match="Expected moves of the 4 arms"):
        drawn_of(small, ReportConfig(arms={name: ARMS[name] for name in list(ARMS)[:4]}))
    with pytest.raises(
        ConfigError, match="Unknown channel 'adds' in the arm `p_0`.*Did you mean 'ads'"
    ):
        ReportConfig(arms={"p_0": {"adds": 0.0}, "p_1": {}}).moves_of(SCHEMA.channels)


def test_a_log_without_any_mark_says_how_to_get_one(small):
    logs = read_logs(small, replace(SCHEMA, propensity=None))
    with pytest.raises(
        LogError, match="the schema names no `propensity`.*draw small moves at random"
    ):
        mark_randomized(logs, ReportConfig())
    with pytest.raises(
        ConfigError, match="Expected true and false .* in the column 'price'"
    ):
        mark_randomized(logs, ReportConfig(randomized="price"))
    with pytest.raises(ConfigError, match="Expected a column 'absent'"):
        mark_randomized(logs, ReportConfig(randomized="absent"))


def test_rows_are_new_by_their_unit_or_by_their_date():
    model = fitted()
    assert find_new(model, read_logs(make_logs(units=20, seed=1), SCHEMA)).mask.all()
    seen = find_new(model, read_logs(make_logs(), SCHEMA))
    assert not seen.any
    grown = find_new(model, read_logs(make_logs(units=20, days=14), SCHEMA))
    assert grown.mask.sum() == 20 * 4
    assert "80 of 280 rows are later than 2026-01-14" in grown.sentence
