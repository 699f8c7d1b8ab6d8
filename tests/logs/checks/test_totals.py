"""A unit that is the sum of others is found, with or without a rest; a shared season is no sum."""

import numpy as np
import pandas as pd
import pytest

from realloc import read_logs
from realloc.logs.checks.totals import find_totals
from tests.conftest import SPENDS


def panel(units=8, days=120, seed=0, season=0.0):
    rng = np.random.default_rng(seed)
    wave = (
        1
        + season * np.sin(np.arange(days) * 2 * np.pi / 7)
        + season * rng.normal(0, 1, days)
    )
    level = rng.uniform(50, 200, units)
    return rng.poisson(np.clip(level[:, None] * wave, 1, None)).astype(
        float
    )  # (units, days)


def to_frame(series, seed=0):
    rng = np.random.default_rng(seed)
    units, days = series.shape
    spend = rng.gamma(2, 10, (units * days, 3))
    return pd.DataFrame(
        {
            "item": np.repeat([f"u{u}" for u in range(units)], days),
            "date": np.tile(pd.date_range("2025-01-01", periods=days).date, units),
            "ads": spend[:, 0],
            "coupon": spend[:, 1],
            "rebate": spend[:, 2],
            "orders": series.ravel(),
        }
    )


def totals_in(series):
    return {
        finding.unit: finding
        for finding in find_totals(read_logs(to_frame(series), SPENDS))
    }


@pytest.mark.parametrize("parts", [2, 4, 8])
@pytest.mark.parametrize("rest", [0.0, 0.1])
def test_a_total_is_found_with_and_without_a_rest(parts, rest):
    series = panel()
    total = series[:parts].sum(axis=0) + rest * np.random.default_rng(9).poisson(
        series[:parts].sum(axis=0)
    )
    found = totals_in(np.vstack([series, total]))
    assert list(found) == ["u8"]
    assert "'u8' looks like the sum of others" in found["u8"].what
    assert "drop_units" in found["u8"].advice


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("season", [0.0, 0.3])
def test_independent_units_are_not_accused_even_with_a_shared_season(seed, season):
    assert totals_in(panel(seed=seed, season=season)) == {}


def test_conjura_has_one_territory_that_is_the_sum_of_others(real_data):
    from realloc.logs.guess import guess_schema
    from realloc.logs.reading.source import open_source

    path = real_data("conjura") / "conjura_slice_4999rows.csv"
    found = find_totals(read_logs(path, guess_schema(open_source(path))))
    assert [finding.unit for finding in found] == ["b495f966e17c4c9ac0bea4d66aa03eba"]
