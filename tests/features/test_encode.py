"""The encoder: fitted on training rows, blind to order, honest about what it never saw."""

import json
from dataclasses import replace
from datetime import date

import numpy as np
import pandas as pd
import pytest

from realloc import ConfigError, LogError, read_logs
from realloc.features import Encoder, FeatureConfig, fit_encoder
from tests.conftest import SPENDS, make_frame


def logs_of(frame, **changes):
    return read_logs(frame, replace(SPENDS, **changes), today=date(2100, 1, 1))


@pytest.fixture
def rich(frame):
    """Numbers with an outlier and holes, a flag, a date, few and many categories."""
    frame.loc[3, "price"] = 1e9
    frame.loc[5:9, "price"] = np.nan
    frame["launched"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(len(frame)) % 50, unit="D")
    frame["brand"] = [f"brand {i % 60}" for i in range(len(frame))]
    return logs_of(frame, features=("price", "category", "promoted", "launched", "brand"))


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


def test_few_levels_get_columns_and_many_are_hashed(rich):
    names = fit_encoder(rich).encode(rich).names
    assert {"category = toys", "category = books", "category = food"} <= set(names)
    assert sum(name.startswith("brand #") for name in names) == 8
    assert "brand frequency" in names


def test_the_same_level_has_the_same_direction_in_every_fit(frame):
    frame["brand"] = [f"brand {i % 60}" for i in range(len(frame))]
    whole, half = logs_of(frame, features=("brand",)), logs_of(frame.head(120), features=("brand",))
    one, other = fit_encoder(whole).encode(half), fit_encoder(half).encode(half)
    hashed = [i for i, name in enumerate(one.names) if "#" in name]
    assert np.array_equal(one.values[:, hashed], other.values[:, hashed])


def test_unseen_levels_and_ranges_are_handled_and_reported(frame):
    encoder = fit_encoder(logs_of(frame, features=("price", "category", "promoted")))
    odd = make_frame(seed=1)
    odd.loc[:23, "category"] = "gardening"
    odd.loc[:11, "price"] = 1e6
    odd["category"] = odd["category"].where(odd.index != 30, None)
    encoded = encoder.encode(logs_of(odd, features=("price", "category", "promoted")))
    assert encoded.report["category"] == pytest.approx(24 / 240)
    assert encoded.report["price"] >= 12 / 240
    unseen = encoded.values[:24, encoded.names.index("category unseen")]
    assert np.all(unseen == 1)
    assert encoded.values[30, encoded.names.index("category missing")] == 1


def test_values_missing_for_the_first_time_are_reported(frame):
    encoder = fit_encoder(logs_of(frame, features=("price",)))
    frame.loc[:11, "price"] = np.nan
    assert encoder.encode(logs_of(frame, features=("price",))).report["price"] == pytest.approx(12 / 240)


def test_order_of_columns_and_further_columns_do_not_matter(frame):
    logs = logs_of(frame, features=("price", "category"))
    swapped = logs_of(frame[frame.columns[::-1]], features=("category", "promoted", "price"))
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
    with pytest.raises(LogError, match="Expected the feature 'price' that the model was fitted with"):
        encoder.encode(logs_of(frame, features=("category",)))
    with pytest.raises(LogError, match="Expected the categorical feature 'category'"):
        encoder.encode(logs_of(frame.assign(category=np.arange(240.0)), features=("price", "category")))
    with pytest.raises(LogError, match="Expected numbers in the feature 'price'"):
        encoder.encode(logs_of(frame.assign(price=frame["category"]), features=("price", "category")))


def test_an_encoder_is_its_own_file_format(rich):
    encoder = fit_encoder(rich)
    again = Encoder.from_json(json.loads(json.dumps(encoder.to_json())))
    assert again == encoder
    assert np.array_equal(again.encode(rich).values, encoder.encode(rich).values)


def test_the_calendar_is_used_where_the_log_spans_it(frame):
    short = fit_encoder(logs_of(frame, features=("price",)))
    assert short.cycles == ()
    long = logs_of(make_frame(units=3, days=800), features=("price",))
    encoder = fit_encoder(long)
    assert encoder.cycles == ("week", "year")
    encoded = encoder.encode(long)
    week = encoded.values[:, [encoded.names.index("sine of the week"), encoded.names.index("cosine of the week")]]
    assert np.allclose(week[0], week[7], atol=1e-3)
    assert not np.allclose(week[0], week[3], atol=0.1)
    assert fit_encoder(long, FeatureConfig(calendar=False)).cycles == ()


def test_bad_settings_are_refused():
    with pytest.raises(ConfigError, match="`clip` above 0"):
        FeatureConfig(clip=0.0)
    with pytest.raises(ConfigError, match="`calendar` of \\[features\\] to be true or false"):
        FeatureConfig(calendar="yes")


def test_an_empty_log_is_refused(frame):
    logs = logs_of(frame)
    with pytest.raises(LogError, match="rows to fit features on"):
        fit_encoder(logs.take(np.zeros(len(logs), dtype=bool)))
