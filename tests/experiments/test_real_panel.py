"""Controls of the studies on panels: permuting keeps what it must, a planted response is found,
permuted shares are not.
"""

import numpy as np
import pandas as pd
import pytest

import real_meridian
import real_panel
from real_panel import (
    STRENGTH,
    Panel,
    arm_of,
    permute,
    planted_response,
    planted_weights,
    rank,
)
from realloc import Schema


def small_panel(units: int = 8, days: int = 120, seed: int = 0) -> Panel:
    """Shares that have nothing to do with the outcome."""
    rng = np.random.default_rng(seed)
    n = units * days
    unit = np.repeat([f"u{i}" for i in range(units)], days)
    spend = rng.dirichlet([2.0, 2.0, 2.0], n) * rng.uniform(50, 150, n)[:, None]
    frame = pd.DataFrame(spend, columns=["ads", "coupon", "rebate"]).assign(
        unit=unit,
        day=np.tile(pd.date_range("2025-01-06", periods=days), units),
        outcome=np.repeat(rng.standard_normal(units), days) + rng.standard_normal(n),
        brand=np.where(unit < "u4", "one", "two"),
        weather=rng.standard_normal(n),
    )
    schema = Schema(
        unit="unit",
        time="day",
        outcome="outcome",
        channels=["ads", "coupon", "rebate"],
        features=["weather"],
    )
    return Panel(frame, schema, "brand", 14)


def test_permuting_keeps_budgets_outcomes_and_every_units_shares_of_each_half():
    panel = small_panel()
    mixed = permute(panel, 1)
    (shares, budget), (other, same) = panel.shares(), mixed.shares()
    assert np.allclose(budget, same)
    assert (mixed.frame["outcome"] == panel.frame["outcome"]).all()
    assert np.abs(shares - other).max(axis=1).mean() > 0.1
    for part in (panel.is_past(), ~panel.is_past()):
        mine = part & (panel.frame["unit"] == "u3").to_numpy()
        assert np.allclose(np.sort(shares[mine, 0]), np.sort(other[mine, 0]))


def test_a_planted_response_is_as_strong_as_said():
    panel = small_panel()
    response = planted_response(planted_weights(panel, 1), panel.shares()[0])
    within = panel.frame["outcome"] - panel.frame.groupby("unit")["outcome"].transform(
        "mean"
    )
    assert np.isclose(response.std() / within.std(), STRENGTH, rtol=0.01)


def test_ranking_finds_what_was_planted_and_nothing_in_noise(monkeypatch):
    monkeypatch.setattr(real_panel, "STRENGTH", 1.0)
    panel = small_panel()
    planted, noise = (
        rank(arm_of(panel, "planted", 1), 1),
        rank(arm_of(panel, "permuted", 1), 1),
    )
    assert set(planted) == {"one", "two", "all", "explained"}
    far = 4 / np.sqrt(240)  # standard errors of ρ where there is nothing
    assert planted["all"][0] > far
    assert planted["all"][1] > 0
    assert np.isnan(noise["all"][0]) or abs(noise["all"][0]) < far
    assert planted["one"][3] + planted["two"][3] == planted["all"][3] == 240


def test_absent_data_end_with_a_sentence(monkeypatch, tmp_path):
    monkeypatch.setattr(real_panel, "SHARED", tmp_path)
    with pytest.raises(SystemExit, match="nothing to do. Set REALLOC_DATA"):
        real_panel.find("conjura/none.csv")


def test_a_geo_panel_is_read_per_inhabitant_without_weeks_of_no_spend(tmp_path):
    columns = {f"Channel{k}_spend": [10.0 * k, 0.0, 5.0] for k in range(5)}
    state = dict.fromkeys(real_meridian.STATE, 0.0)
    rest = {
        "geo": "g",
        "time": ["2021-01-25", "2021-02-01", "2021-02-08"],
        "population": 10.0,
    }
    pd.DataFrame({**columns, **state, **rest, "conversions": [20.0, 30.0, 40.0]}).to_csv(
        tmp_path / "geo.csv"
    )
    panel = real_meridian.read_panel(tmp_path / "geo.csv")
    assert panel.frame["rate"].tolist() == [2.0, 4.0]
    assert np.allclose(panel.shares()[1][:, 0], [10.0, 2.5])
