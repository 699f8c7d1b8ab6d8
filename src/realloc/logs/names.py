"""What a column's name gives away: dates, keys, money, outcomes, and things only known after the decision."""

import re
from functools import lru_cache

# Results of a day. Plural counts and ratios: `order_deadline` or `click_price` are no results.
LATER = frozenset(
    "clicks impression impressions views pageviews visits sessions conversions purchases orders transactions bookings buyers "
    "revenue sales gmv income profit refunds redemptions checkouts carts cart installs signups leads subscriptions "
    "opens plays cpa cpc cpm ctr cvr roas roi redeemed converted purchased".split()
)
EARLIER = frozenset(
    "lag lagged prev previous yesterday last past prior trailing hist history historical rolling before baseline expected "
    "forecast forecasted planned plan trend recent ma ytd ema since initial".split()
)
WINDOW = re.compile(
    r"\d+d|[lt]\d+|\d+w|\d+m|avg\d+"
)  # 7d, l28, t1, 4w: a window that ends before today …
AFTER = frozenset(
    "click view touch attributed attribution actual actuals result results realized realised".split()
)  # … or not
HARMLESS = frozenset(
    "rank competitor competitors control tier window deadline stock policy limit".split()
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
OUTCOME = (
    "outcome",
    "orders",
    "purchases",
    "conversions",
    "sales",
    "revenue",
    "gmv",
    "y",
    "target",
    "kpi",
    "response",
)
SPEND = ("spend", "cost", "spends", "costs", "expense", "investment")
SHARE = ("share", "shares", "pct", "percent", "proportion", "weight", "mix")
BUDGET = ("budget", "total_budget", "daily_budget", "total_spend", "b")
CURRENCY = ("currency", "ccy")
CHANNEL = ("channel", "medium", "platform", "source", "network", "placement")
TOTAL = frozenset("all total totals overall global sum national worldwide everything".split())


@lru_cache(maxsize=4096)
def words(name: str) -> tuple[str, ...]:
    """The words of a column name: `GooglePaid_Search.CLICKS` → google, paid, search, clicks."""
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name)
    return tuple(word for word in re.split(r"[^0-9a-z]+", spaced.lower()) if word)


def looks_later(name: str) -> bool:
    """Named like something that is only known after the decision, and not like its past.

    >>> looks_later("EMAIL_CLICKS"), looks_later("clicks_7d"), looks_later("purchases_7d_click"), looks_later("sales_rank")
    (True, False, True, False)
    """
    parts = set(words(name))
    if not parts & LATER or parts & HARMLESS:
        return False
    return bool(parts & AFTER) or not looks_earlier(name)


def looks_earlier(name: str) -> bool:
    """Named like a value from the past."""
    parts = words(name)
    past = {*parts, *(part.rstrip("0123456789") for part in parts)} & EARLIER
    return bool(past) or any(WINDOW.fullmatch(part) for part in parts)


def looks_currency(name: str) -> bool:
    """Named like a currency code."""
    return any(word in CURRENCY for word in words(name))


def looks_spent(name: str) -> bool:
    """Named like the spend of a channel: of today, and not a total."""
    parts = set(words(name))
    return (
        bool(parts & set(SPEND))
        and not parts & (TOTAL | {"budget", "per"})
        and not looks_earlier(name)
    )


def rank(name: str, wanted: tuple[str, ...]) -> int:
    """How early in `wanted` a word of the name stands; 2·len(wanted) where none does. Whole names beat parts."""
    parts = words(name)
    if "_".join(parts) in wanted:
        return wanted.index("_".join(parts))
    places = [wanted.index(part) for part in parts if part in wanted]
    return min(places) + len(wanted) if places else 2 * len(wanted)


def shortened(listed: list[str], most: int = 12) -> str:
    """A list for a sentence: the first ones, and how many more."""
    more = f" and {len(listed) - most} more" if len(listed) > most else ""
    return ", ".join(listed[:most]) + more
