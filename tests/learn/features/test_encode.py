"""The encoder: fitted on training rows, blind to order, honest about what it never saw."""

import json
import re
from dataclasses import replace
from datetime import date

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from realloc import ConfigError, LogError, read_logs
from realloc.learn.features.encode import Encoder, FeatureConfig, fit_encoder
from tests.conftest import SHARES, as_shares, make_frame
from tests.learn.features.rows import logs_of


def test_columns_are_float32_finite_and_of_about_unit_scale(rich):
    encoded = fit_encoder(rich).encode(rich)
    assert encoded.values.dtype == np.float32
    assert encoded.values.shape == (len(rich), len(encoded.names))
    assert np.isfinite(encoded.values).all()
    assert np.abs(encoded.values).max() <= 8
    assert encoded.report == {}


def test_an_outlier_moves_nothing_but_itself(rich):
    encoded = fit_encoder(rich).encode(rich)
    price = encoded.values[:, encoded.names.index("price")]
    assert price[3] == 8
    assert 0.7 < np.delete(price, 3).std() < 1.5


def test_missing_numbers_sit_at_zero_with_a_flag(rich):
    encoded = fit_encoder(rich).encode(rich)
    flag = encoded.values[:, encoded.names.index("price missing")]
    assert np.flatnonzero(flag).tolist() == [5, 6, 7, 8, 9]
    assert np.all(encoded.values[5:10, encoded.names.index("price")] == 0)


def test_values_missing_for_the_first_time_are_reported(frame):
    encoder = fit_encoder(logs_of(frame, features=("price",)))
    frame.loc[:11, "price"] = np.nan
    assert encoder.encode(logs_of(frame, features=("price",))).report[
        "price"
    ] == pytest.approx(12 / 240)


def test_order_of_columns_and_further_columns_do_not_matter(frame):
    logs = logs_of(frame, features=("price", "category"))
    swapped = logs_of(
        frame[frame.columns[::-1]], features=("category", "promoted", "price")
    )
    encoder = fit_encoder(logs)
    assert np.array_equal(encoder.encode(logs).values, encoder.encode(swapped).values)


def test_only_training_rows_are_looked_at(frame):
    logs = logs_of(frame, features=("price", "category"))
    train = logs.take(logs.unit_codes < 10)
    changed = frame.copy()
    changed.loc[changed["item"] >= "i010", "price"] *= 1000
    again = logs_of(changed, features=("price", "category"))
    assert fit_encoder(train) == fit_encoder(again.take(again.unit_codes < 10))


def test_a_feature_that_is_gone_or_changed_kind_is_refused(frame):
    encoder = fit_encoder(logs_of(frame, features=("price", "category")))
    with pytest.raises(
        LogError, match="Expected the feature 'price' that the model was fitted with"
    ):
        encoder.encode(logs_of(frame, features=("category",)))
    with pytest.raises(LogError, match="Expected categories in the feature 'category'"):
        encoder.encode(
            logs_of(frame.assign(category=np.arange(240.0)), features=("price", "category"))
        )
    with pytest.raises(LogError, match="Expected numbers in the feature 'price'"):
        encoder.encode(
            logs_of(frame.assign(price=frame["category"]), features=("price", "category"))
        )


def test_an_encoder_is_its_own_file_format(rich):
    encoder = fit_encoder(rich)
    table, arrays = encoder.to_parts()
    again = Encoder.from_parts(json.loads(json.dumps(table)), arrays)
    assert arrays == {}
    assert again == encoder
    assert np.array_equal(again.encode(rich).values, encoder.encode(rich).values)


def test_a_writer_that_sorts_keys_cannot_swap_columns(rich):
    encoder = fit_encoder(rich)
    table, arrays = encoder.to_parts()
    again = Encoder.from_parts(json.loads(json.dumps(table, sort_keys=True)), arrays)
    assert (
        again.features
        == encoder.features
        == ("price", "promoted", "launched", "category", "brand")
    )
    assert again.encode(rich).names == encoder.encode(rich).names


def test_channels_in_another_order_or_of_another_name_are_refused(frame):
    encoder = fit_encoder(logs_of(frame, features=("price",)))
    known = ["ads", "coupon", "rebate"]
    expected = f"Expected the channels {known} in this order as in training, got "
    for channels in (
        ["coupon", "ads", "rebate"],
        ["ads", "coupon"],
        ["ads", "coupon", "gifts"],
    ):
        other = logs_of(
            frame.rename(columns={"rebate": "gifts"} if "gifts" in channels else {}),
            channels=channels,
        )
        for use in (encoder.encode, encoder.remember):
            with pytest.raises(LogError, match=re.escape(f"{expected}{channels}")):
                use(other)


def test_spends_and_shares_of_a_budget_give_the_same_state(frame):
    encoder = fit_encoder(logs_of(frame, features=("price",)))
    shares = read_logs(
        as_shares(frame), replace(SHARES, features=("price",)), today=date(2100, 1, 1)
    )
    spends = logs_of(frame, features=("price",))
    assert np.allclose(
        encoder.encode(shares).values, encoder.encode(spends).values, atol=1e-5
    )


def test_a_budget_outside_the_training_range_is_reported_and_clipped(frame):
    encoder = fit_encoder(logs_of(frame, features=("price",)))
    frame.loc[:11, "ads"] = 1e12
    encoded = encoder.encode(logs_of(frame, features=("price",)))
    assert encoded.report == {"log budget": pytest.approx(12 / 240)}
    assert np.all(encoded.values[:12, encoded.names.index("log budget")] == 8)


NUMBERS = st.one_of(
    st.none(),
    st.sampled_from([0.0, -1.0, 1e-30, 1e30, -1e30, 1e-45]),
    st.floats(-1e30, 1e30, allow_subnormal=True),
)


@st.composite
def wild_frames(draw):
    """Holes, constants, huge and tiny values, levels that training lacks, repeated ids, zero and
    tiny spends.
    """
    units, days = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    frame, n = make_frame(units, days), units * days
    for name in ("price", "weight"):
        column = draw(
            st.one_of(
                st.lists(NUMBERS, min_size=n, max_size=n),
                NUMBERS.map(lambda value: [value] * n),
            )
        )
        frame[name] = np.array([np.nan if value is None else value for value in column])
    levels = st.sampled_from(["toys", "books", "garden", "€", None])
    frame["category"] = pd.array(
        draw(st.lists(levels, min_size=n, max_size=n)), dtype="string"
    )
    flags = st.sampled_from([True, False, None])
    frame["promoted"] = pd.array(
        draw(st.lists(flags, min_size=n, max_size=n)), dtype="boolean"
    )
    spends = st.sampled_from([0.0, 1e-300, 0.01, 100.0, 8e13])
    frame["ads"] = draw(st.lists(spends, min_size=n, max_size=n))
    frame["coupon"] = draw(st.lists(st.sampled_from([1e-300, 1.0]), min_size=n, max_size=n))
    frame["orders"] = draw(
        st.lists(st.sampled_from([0.0, 1e-300, 5.0, 1e30, -1e30]), min_size=n, max_size=n)
    )
    return frame


@given(wild_frames(), wild_frames(), st.integers(0, 3))
def test_nothing_but_finite_bounded_numbers_comes_out(first, second, lags):
    features = ("price", "weight", "category", "promoted")
    one, other = (
        logs_of(frame, features=features, categorical=("category",))
        for frame in (first, second)
    )
    encoder = fit_encoder(one, FeatureConfig(lags=lags))
    for encoded in (
        encoder.encode(one),
        encoder.encode(other),
        encoder.remember(other).encode(other),
    ):
        assert np.isfinite(encoded.values).all()
        assert np.abs(encoded.values).max() <= 8
        assert all(0 < part <= 1 for part in encoded.report.values())
    assert encoder.encode(one).report == {}


def test_a_budget_of_zero_in_a_log_made_by_hand_counts_as_missing(frame):
    logs = logs_of(frame, features=("price",))
    encoder = fit_encoder(logs, FeatureConfig(lags=2))
    spent = {
        name: pa.array(np.where(np.arange(len(logs)) == 4, 0.0, logs.table[name]))
        for name in logs.schema.channels
    }
    table = logs.table
    for name, column in spent.items():
        table = table.set_column(table.column_names.index(name), name, column)
    encoded = encoder.encode(replace(logs, table=table))
    assert np.isfinite(encoded.values).all()
    assert encoded.report["log budget"] == pytest.approx(1 / 240)


def test_bad_settings_are_refused():
    with pytest.raises(ConfigError, match="`clip` above 0"):
        FeatureConfig(clip=0.0)
    with pytest.raises(
        ConfigError, match="`calendar` of \\[features\\] to be true or false"
    ):
        FeatureConfig(calendar="yes")
    for lags in (-1, 29):
        with pytest.raises(
            ConfigError, match=f"Expected `lags` from 0 to 28 in \\[features\\], got {lags}"
        ):
            FeatureConfig(lags=lags)
    with pytest.raises(
        ConfigError, match="`lags` of \\[features\\] to be a whole number, got 1.5"
    ):
        FeatureConfig(lags=1.5)


def test_an_empty_log_is_refused(frame):
    logs = logs_of(frame)
    with pytest.raises(LogError, match="rows to fit features on"):
        fit_encoder(logs.take(np.zeros(len(logs), dtype=bool)))
