"""What the name of a column says."""

import pytest

from realloc.logs import names

LATER = (
    "EMAIL_CLICKS GooglePmaxImpressions orders all_purchases_units cpa ROAS purchases_7d_click "
    "last_click_orders attributed_gmv_28d new_transactions app_opens add_to_cart"
)
EARLIER = (
    "orders_lag1 prev_clicks clicks_7d trailing_gmv price category border sales_rank "
    "order_deadline discount revenue_28d purchase_frequency_90d units_in_stock "
    "competitor_sales_control"
)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("GooglePaid_Search.CLICKS", ("google", "paid", "search", "clicks")),
        ("orders 7d", ("orders", "7d")),
        ("__", ()),
    ],
)
def test_names_are_cut_into_words(name, words):
    assert names.words(name) == words


@pytest.mark.parametrize(
    ("channels", "short"),
    [
        (("spend_search", "share_social", "tv"), ("search", "social", "tv")),
        (("ads_spend", "spend_"), ("ads_spend", "spend_")),
        (("spend_ads", "share_ads", "spend_tv"), None),
        (("spend_ads", "ads", "spend_tv"), None),
    ],
)
def test_channels_lose_a_leading_spend_or_share_unless_two_would_be_alike(channels, short):
    assert names.short_channels(channels) == (short or channels)


@pytest.mark.parametrize("name", LATER.split())
def test_names_that_look_like_results(name):
    assert names.looks_later(name)


@pytest.mark.parametrize("name", EARLIER.split())
def test_names_that_do_not(name):
    assert not names.looks_later(name)


@pytest.mark.parametrize(
    ("name", "spent"),
    [
        ("tv_spend", True),
        ("CostSearch", True),
        ("total_spend", False),
        ("cost_per_click", False),
        ("spend_lag_7", False),
    ],
)
def test_spends_of_today_are_told_from_totals_and_the_past(name, spent):
    assert names.looks_spent(name) == spent


def test_whole_names_come_before_names_that_hold_the_word():
    listed = ["old_budget", "b", "price", "Daily_Budget", "budget"]
    assert names.mentioning(listed, names.BUDGET) == [
        "budget",
        "Daily_Budget",
        "b",
        "old_budget",
    ]
    assert names.is_exactly("Total Spend", names.BUDGET)
    assert not names.is_exactly("total_spend_tv", names.BUDGET)


def test_long_lists_are_shortened():
    assert names.shortened(["a", "b"], most=2) == "a, b"
    assert names.shortened(["a", "b", "c"], most=2) == "a, b and 1 more"
