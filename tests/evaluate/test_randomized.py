from dataclasses import replace

import numpy as np
import pytest

from realloc.base.errors import LogError
from realloc.evaluate.randomized import (
    RandomizedMoves,
    common_fields,
    find_arms,
    observed_menu,
    randomized_moves,
)
from realloc.world.platform import Marketplace
from tests.evaluate.drawn import MOVES, density_rows, menu_rows

ROWS = menu_rows(units=10, days=2)


def changed(row: int, values: list[float]) -> RandomizedMoves:
    probabilities = ROWS.probabilities.copy()
    probabilities[row] = values
    return replace(ROWS, probabilities=probabilities)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (
            [np.nan, 0.5, 0.5],
            r"probabilities of the menu that are numbers, got NaN in 1 of 20 rows \(first: 3\)",
        ),
        ([-0.1, 0.6, 0.5], "of at least 0, got negative ones in 1 of 20"),
        ([1.2, 0.0, 0.0], "of at most 1, got larger ones in 1 of 20"),
        ([0.5, 0.2, 0.2], "that sum to 1 in every row, got sums from 0.9 to 1 in 1 of 20"),
    ],
)
def test_wrong_probabilities_are_refused(values, text):
    with pytest.raises(LogError, match=text):
        changed(3, values)


def test_a_logged_arm_of_probability_zero_is_refused():
    values = [0.5, 0.5, 0.5]
    values[ROWS.drawn[3]] = 0.0
    with pytest.raises(
        LogError, match="Expected propensities above 0 for logged arms, got 0 in 1 of 20"
    ):
        changed(3, values)


def test_no_rows_are_refused():
    with pytest.raises(LogError, match="Expected randomized rows, got none"):
        RandomizedMoves(
            start=np.zeros((0, 2)),
            moves=MOVES,
            probabilities=np.zeros((0, 3)),
            drawn=np.zeros(0, dtype=int),
            outcome=np.zeros(0),
            unit=np.zeros(0, dtype=int),
            state=np.zeros((0, 1)),
        )


@pytest.mark.parametrize(
    ("part", "text"),
    [
        (
            {"outcome": np.full(20, np.nan)},
            "Expected finite outcomes, got NaN or infinite ones in 20 of 20",
        ),
        ({"outcome": np.ones(19)}, "Expected start shares of shape"),
        ({"unit": np.zeros(3, dtype=int)}, r"Expected unit of shape \(20,\)"),
        (
            {"drawn": np.full(20, 3)},
            "Expected logged arms from 0 to 2, got others in 20 of 20",
        ),
        ({"drawn": np.full(20, 0.5)}, "Expected one logged arm"),
        (
            {"start": ROWS.start * 2},
            "Expected start shares of at least 0 that sum to 1, got others in 20 of 20",
        ),
        (
            {"moves": MOVES + 0.1},
            "Expected moves that sum to 0, got others in 3 of 3 moves",
        ),
        ({"state": np.full((20, 1), np.inf)}, "Expected states that are finite or missing"),
        (
            {"start": np.tile([0.05, 0.95], (20, 1))},
            "Expected probability 0 for moves that overdraw a channel",
        ),
    ],
)
def test_rows_that_do_not_fit_are_refused(part, text):
    with pytest.raises(LogError, match=text):
        replace(ROWS, **part)


@pytest.mark.parametrize(
    ("factor", "text"),
    [
        (0.0, "Expected densities above 0 for drawn shares"),
        (np.nan, "Expected finite densities"),
        (-1.0, "Expected densities above 0 for drawn shares"),
        (
            0.5,
            "Expected densities that integrate to 1, so that their inverses average at most 0.5",
        ),
    ],
)
def test_wrong_densities_are_refused(factor, text):
    rows = density_rows(alpha=(1.5, 1.5, 1.5))
    with pytest.raises(LogError, match=text):
        replace(rows, density=factor * rows.density)


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_a_density_function_that_does_not_integrate_to_one_is_refused(factor):
    rows = density_rows(
        500, alpha=(4.0, 4.0, 4.0), known=True
    )  # few rows near the border, so inverses raise no alarm
    known = rows.density_at
    with pytest.raises(
        LogError, match=r"Expected densities that integrate to 1, got (0\.[45]|[12]\.)"
    ):
        replace(
            rows,
            density=factor * rows.density,
            density_at=lambda p, r: factor * known(p, r),
        )


def test_a_density_function_must_belong_to_the_densities():
    rows = density_rows(200)
    with pytest.raises(
        LogError, match="Expected `density_at` to give the stated densities"
    ):
        replace(rows, density_at=lambda places, _: np.full(len(places), 2.0))


def test_exact_zeros_have_no_density():
    rows = density_rows(50)
    shares = rows.shares.copy()
    shares[7] = [0.0, 0.5, 0.5]
    with pytest.raises(
        LogError,
        match="Expected drawn shares above 0, as a density has them, got zeros in 1 of 50",
    ):
        replace(rows, shares=shares)


def test_arms_are_found_by_their_move():
    start = np.array([[0.5, 0.5], [0.4, 0.6], [0.3, 0.7]])
    shares = np.array([[0.6, 0.4], [0.4, 0.6], [0.35, 0.65]])
    assert find_arms(shares - start, MOVES).tolist() == [1, 0, -1]
    moves, drawn = observed_menu(start, shares)
    assert np.allclose(start + moves[drawn], shares)
    assert len(moves) == 3


MARKET = Marketplace(seed=1, channels=3)
LOGS = MARKET.sample(items=60, days=4)


def start_of(logs):
    start = np.stack(
        [logs.table[f"share_{name}_prev"].to_numpy() for name in MARKET.schema.channels],
        axis=1,
    )
    return start / start.sum(axis=1, keepdims=True)


def test_randomized_rows_of_a_marketplace_are_found():
    arms = MARKET.arms(LOGS)
    rows, picked = randomized_moves(LOGS, start_of(LOGS), arms.moves, arms.probabilities)
    assert picked.tolist() == (arms.drawn >= 0).tolist()
    assert rows.drawn.tolist() == arms.drawn[picked].tolist()
    assert np.allclose(rows.logged, LOGS.shares[picked], atol=1e-6)
    assert np.allclose(rows.propensity, LOGS.propensity[picked])
    assert rows.hold == 0


def test_logs_without_randomized_rows_are_refused():
    arms = MARKET.arms(LOGS)
    routine = LOGS.take(arms.drawn < 0)
    with pytest.raises(
        LogError,
        match="Expected randomized rows, got none among 2.. rows: no row has propensities",
    ):
        randomized_moves(
            routine, start_of(routine), arms.moves, MARKET.arms(routine).probabilities
        )


def test_a_menu_that_contradicts_the_log_is_refused():
    arms = MARKET.arms(LOGS)
    even = (arms.probabilities > 0) / np.maximum(
        (arms.probabilities > 0).sum(axis=1, keepdims=True), 1
    )
    even = np.where(np.isnan(arms.probabilities), np.nan, even)
    with pytest.raises(
        LogError, match="Expected the log's 'propensity' to equal the menu's probability"
    ):
        randomized_moves(LOGS, start_of(LOGS), arms.moves, even)


def test_the_state_holds_numbers_and_codes():
    fields = common_fields(LOGS, start_of(LOGS))
    state, categorical = fields["state"], fields["categorical"]
    assert state.shape == (len(LOGS), 1 + len(LOGS.features))
    assert [LOGS.features[k - 1] for k in categorical] == ["category", "weekday"]
    assert np.array_equal(state[:, 0], LOGS.budget)
