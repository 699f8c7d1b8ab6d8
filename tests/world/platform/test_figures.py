"""The paper's real setting: faint effects in loud noise, measured as in its matched replay."""

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from platform_figures import (
    Panel,
    balance,
    best_for_orders,
    look_at,
    main,
    matched_residuals,
    oracle_bound,
    predict_orders,
    rank_correlation,
    true_effects,
)
from realloc.world.platform import Marketplace


def test_effects_of_legacy_moves_have_the_papers_size(two: Panel) -> None:
    tau = true_effects(two)[two.moved & two.routine]
    assert tau.std() == pytest.approx(0.018, abs=0.0015)
    assert 0.4 < (tau > 0).mean() < 0.6  # the legacy policy is no oracle


@pytest.mark.parametrize("channels", [3, 4])
def test_effects_keep_their_size_with_more_channels(channels: int) -> None:
    panel = look_at(Marketplace(seed=1, channels=channels), items=1500)
    assert true_effects(panel)[panel.moved & panel.routine].std() == pytest.approx(
        0.018, abs=0.003
    )


def test_residuals_and_the_oracles_rank_correlation_are_the_papers(two: Panel) -> None:
    event, R = matched_residuals(two)
    tau = true_effects(two)
    assert R.std() == pytest.approx(0.34, abs=0.01)
    # Monte Carlo over all legacy moves, as the paper verifies its bound: .050 ± .004.
    bound = oracle_bound(tau[two.moved & two.routine], float(R.std()))
    assert bound == pytest.approx(0.050, abs=0.005)
    # The real replay agrees with it within sampling error, and sees the oracle at all.
    measured, error = rank_correlation(tau[event], R), 1 / np.sqrt(len(event))
    assert abs(measured - bound) < 3.5 * error
    assert measured > 3.5 * error


def test_residuals_without_matching_are_as_large(two: Panel) -> None:
    u = (two.column("orders") - predict_orders(two))[two.late]
    assert u.std() == pytest.approx(0.335, abs=0.015)
    assert two.column("orders").std() > 3 * u.std()  # prediction matters


def test_the_prediction_does_not_see_its_window() -> None:
    """Only rows before the window train it: an outcome inside changes no prediction."""
    panel = look_at(Marketplace(seed=1), items=200)
    column = np.where(panel.late, 99.0, panel.column("orders"))
    index = panel.logs.table.schema.get_field_index("orders")
    logs = replace(
        panel.logs, table=panel.logs.table.set_column(index, "orders", pa.array(column))
    )
    assert np.array_equal(predict_orders(replace(panel, logs=logs)), predict_orders(panel))


def test_the_best_move_for_orders_often_costs_gmv_or_income(two: Panel) -> None:
    """The outcomes trade off, but neither always nor never."""
    edge, best = best_for_orders(two)
    assert 0.25 < (best["gmv"] < 0).mean() < 0.60
    assert 0.35 < (best["income"] < 0).mean() < 0.70
    # A move to coupons that sells more orders usually costs income; one to ads seldom does.
    to_coupon = edge == 0
    assert (
        (best["income"][to_coupon] < 0).mean()
        > 0.5
        > (best["income"][~to_coupon] < 0).mean()
    )


def test_movers_differ_from_the_others_before_they_move(two: Panel) -> None:
    """As in the paper's balance table: .375 ad share, .257 log price, .199 log budget."""
    assert 0.2 < balance(two, two.before[:, 0]) < 0.6
    assert 0.1 < balance(two, two.column("log_price")) < 0.4
    assert 0.05 < balance(two, np.log(two.column("budget"))) < 0.4


def test_the_figures_print_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--items", "300", "--channels", "3"])
    figures = json.loads(capsys.readouterr().out)
    assert figures["rows"] == 18_000
    assert figures["sd of orders"] > figures["sd of the matched residual R"]
