"""The schema: every column plays one part, and a mistake is named."""

import pytest

from realloc import ConfigError, Schema
from tests.conftest import SPENDS

PARTS = {"unit": "item", "time": "date", "outcome": "orders", "channels": ["ads", "coupon"]}
LONG = {"channel_column": "channel", "spend_column": "spend"}


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        (
            {"channels": "ads"},
            "`channels` to be a list of column names, got the text 'ads'",
        ),
        (
            {"channels": ["ads"]},
            r"at least 2 channels to move budget between, got \['ads'\]",
        ),
        (
            {"channels": ["ads", ""]},
            "a column name in `channels` of the schema, got an empty text",
        ),
        ({"unit": 3}, "`unit` of the schema"),
        ({"channel_column": "channel"}, "both `channel_column` and `spend_column`"),
        (LONG | {"spend_column": "ads"}, "but 'ads' is named twice"),
        ({"outcome": "ads"}, "one part, but 'ads' is named twice in the schema"),
        (
            {"features": ["price", "orders"]},
            "not also a channel, budget, outcome or key.*'orders'",
        ),
        (
            {"features": ["price", "price"]},
            "each feature once, but 'price' is listed twice",
        ),
        (
            {"features": ["price"], "categorical": ["brand"]},
            "among `features`, but 'brand' is not",
        ),
    ],
)
def test_a_mistake_is_named(changes, text):
    with pytest.raises(ConfigError, match=text):
        Schema(**PARTS | changes)


def test_lists_are_kept_as_tuples_so_that_schemas_compare_and_hash():
    assert Schema(**PARTS).channels == ("ads", "coupon")
    assert hash(Schema(**PARTS)) == hash(Schema(**PARTS | {"channels": ("ads", "coupon")}))


def test_a_currency_may_be_a_feature_too():
    assert Schema(**PARTS, currency="code", features=["code"]).features == ("code",)


def test_fixed_columns_are_those_with_a_part_of_their_own():
    assert SPENDS.fixed_columns == ("item", "date", "orders", "ads", "coupon", "rebate")
    assert Schema(**PARTS | LONG).long
    assert Schema(**PARTS | LONG, budget="total").long
