"""Policies learned on the trial: valued on other customers than they were learned on, beside the
truth.
"""

import numpy as np
import pytest

import dr_coverage
import real_hillstrom


@pytest.fixture
def trial(real_data, monkeypatch):
    monkeypatch.setattr(dr_coverage, "DATA", real_data("hillstrom") / "hillstrom.csv")


def test_a_learned_policy_is_worth_less_than_the_best_and_its_interval_says_so(trial):
    found = real_hillstrom.vertices(5000)
    value, low, high, truth = found["dr_lift"]
    assert 0 < truth <= found["best_possible"]
    assert low <= value <= high
    assert abs(value - truth) < high - low


def test_arms_are_learned_by_cell(trial):
    codes, _, _ = dr_coverage.cells()
    rows, cell = dr_coverage.draw_customers(np.random.default_rng(0), 6000)
    sure = (
        dr_coverage.buys_on(codes)[cell] == rows.drawn
    )  # who buys there visits after that e-mail, and only then
    learned = real_hillstrom.best_arms(
        type(rows)(**{**vars(rows), "outcome": sure.astype(float)}), codes
    )
    assert (learned == dr_coverage.buys_on(codes)).mean() > 0.9


def test_the_log_has_a_row_per_shop_and_week_and_nothing_of_the_outcome_but_visits(trial):
    codes, _, _ = dr_coverage.cells()
    rows, cell = dr_coverage.draw_mixes(np.random.default_rng(0), 20)
    frame = real_hillstrom.log_frame(rows, codes[cell])
    assert not frame.duplicated(["shop", "week"]).any()
    assert np.allclose(frame[list(real_hillstrom.CHANNELS)].sum(axis=1), 1)
    assert set(frame) == {
        *real_hillstrom.KEYS,
        *real_hillstrom.CHANNELS,
        "shop",
        "week",
        "mails",
        "visits",
    }
