"""What a column's name gives away: dates, keys, money, outcomes, and things only known after the decision."""

import re

LATER = frozenset(
    "click clicks impression impressions view views pageviews visit visits session sessions traffic "
    "conversion conversions purchase purchases order orders revenue sales sale gmv income profit margin units "
    "discount discounts refund refunds return returns cpa cpc cpm ctr cvr roas roi realized realised actual "
    "result results response redeemed redemption redemptions checkout checkouts addtocart carts installs "
    "signups leads delivered reach engagement".split()
)
EARLIER = frozenset(
    "lag lagged prev previous yesterday last past prior trailing hist history historical rolling before "
    "baseline expected forecast forecasted planned plan target trend recent ma ytd avg7 ema since start "
    "initial d1 d7 d14 d28 7d 14d 28d 30d l7 l14 l28 l30 t1".split()
)
TIME = ("date", "day", "week", "ds", "dt", "month", "time", "timestamp", "period")
UNIT = (
    "unit",
    "item",
    "sku",
    "product",
    "campaign",
    "adgroup",
    "shop",
    "store",
    "geo",
    "region",
    "market",
    "timeseries",
    "id",
)
OUTCOME = ("outcome", "orders", "purchases", "conversions", "sales", "revenue", "gmv", "y", "target", "kpi", "response")
SPEND = ("spend", "cost", "spends", "costs", "expense", "investment")
SHARE = ("share", "shares", "pct", "percent", "proportion", "weight", "mix")
BUDGET = ("budget", "total_budget", "daily_budget", "total_spend", "b")
CURRENCY = ("currency", "ccy")
TOTAL = frozenset("all total totals overall global sum national worldwide everything".split())


def words(name: str) -> list[str]:
    """The words of a column name: `GooglePaid_Search.CLICKS` → google, paid, search, clicks."""
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name)
    return [word for word in re.split(r"[^0-9a-z]+", spaced.lower()) if word]


def looks_later(name: str) -> bool:
    """Named like something that is only known after the decision, and not like its past."""
    return bool(set(words(name)) & LATER) and not looks_earlier(name)


def looks_earlier(name: str) -> bool:
    """Named like a value from the past."""
    parts = words(name)
    return bool({*parts, *(part.rstrip("0123456789") for part in parts)} & EARLIER)


def looks_currency(name: str) -> bool:
    """Named like a currency code."""
    return any(word in CURRENCY for word in words(name))


def rank(name: str, wanted: tuple[str, ...]) -> int:
    """How early in `wanted` a word of the name stands; len(wanted) where none does. Whole names beat parts."""
    parts = words(name)
    if "_".join(parts) in wanted:
        return wanted.index("_".join(parts))
    places = [wanted.index(part) for part in parts if part in wanted]
    return min(places) + len(wanted) if places else 2 * len(wanted)
