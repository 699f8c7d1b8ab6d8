from dataclasses import replace

import numpy as np
import pytest

from realloc.base.errors import LogError
from realloc.evaluate.outcome_model import (
    fit_outcome_model,
    no_model,
    splits,
    unit_fold,
)
from tests.evaluate.drawn import density_rows, menu_rows
from tests.small import same_bits

ROWS = menu_rows()
EVERY = np.arange(len(ROWS))


def test_it_learns_state_and_shares():
    found = fit_outcome_model(ROWS)(ROWS.logged, EVERY)
    noise = 0.5**2 + 0.3**2  # the row's and the unit's, which no other unit tells
    assert np.square(ROWS.outcome - found).mean() < 1.15 * noise
    assert np.square(ROWS.outcome - ROWS.outcome.mean()).mean() > 4 * noise


def test_a_units_own_outcomes_do_not_change_its_predictions():
    unit = ROWS.unit == 7
    changed = replace(ROWS, outcome=np.where(unit, ROWS.outcome + 1000, ROWS.outcome))
    here, there = (fit_outcome_model(rows)(ROWS.logged, EVERY) for rows in (ROWS, changed))
    assert same_bits(here[unit], there[unit])
    assert not np.allclose(here[~unit], there[~unit])


def test_same_seed_same_bits():
    assert same_bits(
        fit_outcome_model(ROWS)(ROWS.logged, EVERY),
        fit_outcome_model(ROWS)(ROWS.logged, EVERY),
    )


def test_rows_are_predicted_by_number():
    model = fit_outcome_model(ROWS)
    some = np.array([5, 900, 17])
    # To the bit on some processors only: a product rounds a row by its company.
    np.testing.assert_allclose(
        model(ROWS.start[some], some), model(ROWS.start, EVERY)[some], rtol=1e-12
    )


def test_missing_states_and_codes_are_taken():
    state = ROWS.state.copy()
    state[::3, 1] = np.nan
    state = np.concatenate([state, (EVERY % 4)[:, None]], axis=1)
    found = fit_outcome_model(replace(ROWS, state=state, categorical=(2,)))(
        ROWS.logged, EVERY
    )
    assert np.isfinite(found).all()


def test_no_state_at_all_is_enough_to_learn_shares():
    rows = replace(density_rows(1000), state=np.zeros((1000, 0)))
    found = fit_outcome_model(rows)(rows.shares, np.arange(1000))
    assert np.corrcoef(found, rows.outcome)[0, 1] > 0.6


def test_folds_hold_whole_units_and_are_even():
    unit = np.repeat(np.arange(23), 3)
    fold = unit_fold(unit)
    assert all(len(set(fold[unit == u])) == 1 for u in range(23))
    assert set(np.bincount(fold) // 3) == {4, 5}
    for away, (train, stop) in enumerate(splits(fold)):
        assert not set(fold[train]) & {away, int(fold[stop][0])}


def test_few_units_give_fewer_folds_and_one_is_refused():
    assert set(unit_fold(np.array([3, 3, 9]))) == {0, 1}
    with pytest.raises(
        LogError, match="Expected at least 2 units to cross-fit by unit, got 1"
    ):
        unit_fold(np.zeros(4, dtype=int))


def test_no_model_predicts_nothing():
    assert no_model(ROWS.start, EVERY).tolist() == [0.0] * len(ROWS)
