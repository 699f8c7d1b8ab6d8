"""Categories: columns for few levels, hashed directions for many, flags for what is unseen."""

import numpy as np
import pytest

from realloc.learn.features.encode import fit_encoder
from tests.conftest import make_frame
from tests.learn.features.rows import logs_of


def test_few_levels_get_columns_and_many_are_hashed(rich):
    names = fit_encoder(rich).encode(rich).names
    assert {"category = toys", "category = books", "category = food"} <= set(names)
    assert sum(name.startswith("brand #") for name in names) == 8
    assert "brand frequency" in names


def test_the_same_level_has_the_same_direction_in_every_fit(frame):
    frame["brand"] = [f"brand {i % 60}" for i in range(len(frame))]
    whole, half = (
        logs_of(frame, features=("brand",)),
        logs_of(frame.head(120), features=("brand",)),
    )
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
