"""What a column's name says: dates, keys, money, outcomes, and things only known afterwards."""

import re
from collections.abc import Iterable
from functools import lru_cache

# Results of a day. Plural counts and ratios: `order_deadline` or `click_price` are no results.
LATER = frozenset(
    "clicks impression impressions views pageviews visits sessions conversions purchases orders "
    "transactions bookings buyers revenue sales gmv income profit refunds redemptions checkouts "
    "carts cart installs signups leads subscriptions opens plays cpa cpc cpm ctr cvr roas roi "
    "redeemed converted purchased".split()
)
EARLIER = frozenset(
    "lag lagged prev previous yesterday last past prior trailing hist history historical rolling "
    "before baseline expected forecast forecasted planned plan trend recent ma ytd ema since "
    "initial".split()
)
# 7d, l28, t1, 4w: a window that ends before today …
WINDOW = re.compile(r"\d+d|[lt]\d+|\d+w|\d+m|avg\d+")
# … or not
AFTER = frozenset(
    "click view touch attributed attribution actual actuals result results realized "
    "realised".split()
)
HARMLESS = frozenset(
    "rank competitor competitors control tier window deadline stock policy limit".split()
)
# In order of preference:
TIME = tuple(
    "date day week ds dt month time timestamp period datum woche monat tag".split()
)
UNIT = tuple(
    "unit item sku product campaign adgroup shop store geo region market timeseries filiale "
    "id".split()
)
OUTCOME = tuple(
    "outcome orders purchases conversions sales revenue gmv y target kpi response bestellungen "
    "umsatz bookings transactions signups leads subscriptions installs buchungen".split()
)
BUDGET = ("budget", "total_budget", "daily_budget", "total_spend", "b")
CHANNEL = tuple("channel medium platform source network placement kanal".split())
SPEND = frozenset("spend cost spends costs expense investment ausgaben kosten".split())
# A spend where another column says the channel.
AMOUNT = ("amount", "money", "betrag", "value", "eur", "usd", "gbp")
# What money is spent on, where the name does not say that it is money.
MEDIUM = frozenset(
    "ads adwords affiliate affiliates audio banner billboard bing cinema coupon coupons criteo "
    "direct display email emails facebook google influencer influencers instagram linkedin mail "
    "media meta native newsletter ooh outdoor pinterest podcast podcasts press print programmatic "
    "promo promos push radio rebate rebates retargeting sea search sem shopping sms snapchat "
    "social streaming television tiktok tv twitter video voucher vouchers youtube fernsehen "
    "gutschein gutscheine kino suche werbung".split()
)
# What describes a unit or a period, and is no spend.
STATE = frozenset(
    "age area count customers days discount distance households hour humidity idx index inventory "
    "items lat latitude lon longitude margin number population price quantity rain rate rating "
    "score size staff stock tax temp temperature weather width year".split()
)
SHARE = frozenset("share shares pct percent proportion weight mix".split())
CURRENCY = frozenset(("currency", "ccy"))
TOTAL = frozenset(
    "summe gesamt all total totals overall global sum national worldwide everything".split()
)


@lru_cache(maxsize=4096)
def words(name: str) -> tuple[str, ...]:
    """The words of a column name: `GooglePaid_Search.CLICKS` → google, paid, search, clicks."""
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name)
    return tuple(re.findall("[0-9a-z]+", spaced.lower()))


def looks_later(name: str) -> bool:
    """Named like something that is only known after the decision, and not like its past.

    >>> [looks_later(name) for name in ("EMAIL_CLICKS", "clicks_7d", "purchases_7d_click")]
    [True, False, True]
    """
    parts = set(words(name))
    if not parts & LATER or parts & HARMLESS:
        return False
    return bool(parts & AFTER) or not looks_earlier(name)


def looks_earlier(name: str) -> bool:
    """Named like a value from the past."""
    parts = words(name)
    return any(
        part in EARLIER or part.rstrip("0123456789") in EARLIER or WINDOW.fullmatch(part)
        for part in parts
    )


def looks_currency(name: str) -> bool:
    """Named like a currency code."""
    return not CURRENCY.isdisjoint(words(name))


def looks_spent(name: str) -> bool:
    """Named like the spend of a channel: of today, and not a total."""
    parts = set(words(name))
    other = parts & (TOTAL | {"budget", "per"})
    return bool(parts & SPEND) and not other and not looks_earlier(name)


def looks_medium(name: str) -> bool:
    """Named like something that ad money is spent on."""
    return not MEDIUM.isdisjoint(words(name))


def looks_state(name: str) -> bool:
    """Named like what describes a unit or a period."""
    return not STATE.isdisjoint(words(name))


def rank(name: str, wanted: tuple[str, ...]) -> int:
    """How early in `wanted` the name stands, whole names before names with such a word."""
    parts = words(name)
    if is_exactly(name, wanted):
        return wanted.index("_".join(parts))
    places = [wanted.index(part) for part in parts if part in wanted]
    return len(wanted) + min(places, default=len(wanted))


def is_exactly(name: str, wanted: tuple[str, ...]) -> bool:
    """Whether the whole name is wanted."""
    return "_".join(words(name)) in wanted


def mentioning(listed: Iterable[str], wanted: tuple[str, ...]) -> list[str]:
    """The names that are wanted, or hold a wanted word, the best first."""
    ranked = sorted(listed, key=lambda name: rank(name, wanted))
    return [name for name in ranked if rank(name, wanted) < 2 * len(wanted)]


def short_channels(channels: tuple[str, ...]) -> tuple[str, ...]:
    """Channels without a leading `spend_` or `share_`; as they are, if two would be alike.

    >>> short_channels(("spend_search", "social")), short_channels(("spend_ads", "ads"))
    (('search', 'social'), ('spend_ads', 'ads'))
    """
    short = tuple(re.sub("^(spend|share)_(?=.)", "", name) for name in channels)
    return short if len(set(short)) == len(short) else channels


def shortened(listed: list[str], most: int = 12) -> str:
    """A list for a sentence: the first ones, and how many more."""
    more = f" and {len(listed) - most} more" if len(listed) > most else ""
    return ", ".join(listed[:most]) + more
