"""Marginal gains by pair of channels and segment."""

import numpy as np
import pandas as pd
import pytest

from realloc import LogError
from tests.small import fitted, today, window


def test_without_segments_there_is_one_row_per_ordered_pair_in_the_frame_handed_in():
    found = fitted().effects(today())
    assert isinstance(found, pd.DataFrame)
    assert list(found.columns) == ["from", "to", "value", "low", "high", "n"]
    assert len(found) == 6
    assert (found.low < found.value).all()
    assert (found.value < found.high).all()
    assert (found.n <= 40).all()


def test_the_value_is_the_mean_gain_of_one_point():
    model = fitted()
    rows = today()
    found = model.effects(rows).set_index(["from", "to"])
    spends = rows[["ads", "coupon", "rebate"]].to_numpy()
    end = spends / spends.sum(axis=1, keepdims=True)
    holds = end[:, 0] >= 0.01
    end[:, 0] -= 0.01
    end[:, 1] += 0.01
    gain = model.gain(rows[holds], to=end[holds])
    assert found.loc[("ads", "coupon"), "value"] == pytest.approx(gain.mean(), rel=1e-6)
    assert found.loc[("ads", "coupon"), "n"] == holds.sum()


def test_segments_are_levels_or_quarters_and_their_rows_add_up():
    model = fitted()
    logs = window(99)
    whole = model.effects(logs).to_pandas()
    name = next(name for name in logs.features if name.startswith("c"))
    cut = model.effects(logs, by=[name]).to_pandas()
    assert cut[name].nunique() == 4
    assert cut.groupby(["from", "to"]).n.sum().tolist() == [
        *whole.sort_values(["from", "to"]).n
    ]
    means = cut.assign(sum=cut.value * cut.n).groupby(["from", "to"])["sum"].sum()
    total = whole.sort_values(["from", "to"])
    assert np.allclose(means.to_numpy(), (total.value * total.n).to_numpy())


def test_rows_of_one_unit_err_alike_and_many_units_narrow_the_interval():
    model = fitted()
    logs = window(99)
    by_unit = model.effects(logs, by=logs.schema.unit).to_pandas()
    whole = model.effects(logs).to_pandas()
    assert (whole.high - whole.low).max() < (by_unit.high - by_unit.low).median()


def test_a_column_that_is_not_in_the_log_is_refused_by_name():
    with pytest.raises(LogError, match="Expected `by` to name the unit.*'categroy'"):
        fitted().effects(today(), by=["categroy"])
