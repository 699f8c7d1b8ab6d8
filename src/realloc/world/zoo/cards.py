"""The cards of the zoo: what each world is like, and which half it belongs to.

Worlds of the half "tuning" are there to choose by; worlds of the half "evaluation" to report on.
"""

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Card:
    """One world. Effects have a standard deviation of 1 per unit of size along logged mixes."""

    name: str
    story: str
    half: str  # tuning or evaluation
    units: int  # of an ordinary log
    periods: int
    channels: int
    response: str = "hill"  # ces, threshold, linear, none, or paper
    regime: str = ""  # of the paper's world, where the response is the paper's
    days_apart: int = 1  # 7: weekly
    noise: str = "normal"  # student, or counts
    noise_scale: float = (
        2.0  # standard deviation per unit of size; counts: of a unit of size 1
    )
    noise_tilt: float = 0.0  # how much the log of the noise depends on the state
    size_spread: float = 0.0  # standard deviation of the log of a unit's size
    confounding: float = 0.7  # how much the policy follows what drives sales
    hidden: float = 0.0  # how much of both an unrecorded driver adds
    season: float = 0.5  # how much sales follow the calendar and promotions
    spread: float = 0.5  # standard deviation of logged log-ratios around the policy
    exploration: float = 0.05  # share of rows that were logged widely
    exploration_scale: float = 2.5  # how much more widely
    never_used: float = 0.0  # probability that a unit does not have a channel
    not_today: float = 0.0  # probability that a channel rests in a period
    new_mix: float = 1.0  # probability that a unit's mix is drawn anew in a period
    carry_over: float = 0.0  # part of yesterday's mix in today's effect
    segment: float = 1.0  # share of the units that react at all

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return asdict(self)


_TUNING = (
    Card(
        name="quiet_paper",
        story="The paper's hard world with a fifth of its noise",
        half="tuning",
        units=2000,
        periods=10,
        channels=3,
        response="paper",
        regime="hard",
        noise_scale=0.5,
    ),
    Card(
        name="campaign_orders",
        story="Campaigns of very different size with orders as counts, seasons and own channels",
        half="tuning",
        units=300,
        periods=66,
        channels=5,
        noise="counts",
        noise_scale=4.0,
        size_spread=1.2,
        season=1.0,
        never_used=0.2,
    ),
    Card(
        name="region_weeks",
        story="Forty regions over two years of weeks, whose effects carry over",
        half="tuning",
        units=40,
        periods=104,
        channels=5,
        days_apart=7,
        noise_scale=1.5,
        season=1.5,
        carry_over=0.3,
    ),
    Card(
        name="nine_channels",
        story="Nine channels that replace each other, some of which rest on some days",
        half="tuning",
        units=2000,
        periods=10,
        channels=9,
        response="ces",
        not_today=0.15,
    ),
    Card(
        name="one_segment",
        story="One unit in five reacts, and noise depends on the state",
        half="tuning",
        units=2000,
        periods=10,
        channels=3,
        response="ces",
        noise_tilt=0.7,
        segment=0.2,
    ),
    Card(
        name="thresholds",
        story="Channels work above a threshold only, and outcomes have heavy tails",
        half="tuning",
        units=2000,
        periods=10,
        channels=3,
        response="threshold",
        noise="student",
    ),
    Card(
        name="promotions_alone",
        story="No effect at all: promotions drive both the mix and sales",
        half="tuning",
        units=1000,
        periods=10,
        channels=4,
        response="none",
        confounding=1.5,
        season=2.0,
    ),
    Card(
        name="one_day_each",
        story="Many units with one day each, two channels, effects that add up, loud noise",
        half="tuning",
        units=20000,
        periods=1,
        channels=2,
        response="linear",
        noise_scale=5.0,
    ),
    Card(
        name="rare_exploration",
        story="A tight policy and two rows in a hundred that explore widely",
        half="tuning",
        units=2000,
        periods=10,
        channels=4,
        spread=0.2,
        exploration=0.02,
        exploration_scale=5.0,
        noise_scale=1.0,
    ),
    Card(
        name="sticky_orders",
        story="Mixes that change once a month, orders as counts",
        half="tuning",
        units=400,
        periods=50,
        channels=4,
        noise="counts",
        noise_scale=3.0,
        size_spread=0.8,
        new_mix=0.03,
    ),
    Card(
        name="unseen_demand",
        story="Demand that nobody recorded drives both the mix and sales",
        half="tuning",
        units=2000,
        periods=10,
        channels=3,
        hidden=1.0,
    ),
)
_EVALUATION = (
    Card(
        name="loud_paper",
        story="The paper's medium world with twice its noise, and four channels",
        half="evaluation",
        units=2000,
        periods=10,
        channels=4,
        response="paper",
        regime="medium",
        noise_scale=5.0,
    ),
    Card(
        name="shop_sizes",
        story="Shops whose sales, effects and noise span two orders of magnitude",
        half="evaluation",
        units=1000,
        periods=20,
        channels=4,
        response="ces",
        size_spread=1.2,
        season=1.0,
    ),
    Card(
        name="weekly_panel",
        story="Sixty markets over a hundred weeks, six channels, orders, carry-over",
        half="evaluation",
        units=60,
        periods=100,
        channels=6,
        days_apart=7,
        noise="counts",
        noise_scale=3.0,
        size_spread=0.6,
        season=1.5,
        carry_over=0.2,
    ),
    Card(
        name="twelve_channels",
        story="Twelve saturating channels, a third of which a unit never uses",
        half="evaluation",
        units=2000,
        periods=10,
        channels=12,
        never_used=0.33,
    ),
    Card(
        name="new_customers",
        story="One customer group in four reacts; orders are counts",
        half="evaluation",
        units=1500,
        periods=14,
        channels=4,
        noise="counts",
        noise_scale=3.0,
        size_spread=0.7,
        segment=0.25,
    ),
    Card(
        name="plateaus",
        story="Two channels with thresholds and plateaus; noise depends on the state",
        half="evaluation",
        units=1000,
        periods=20,
        channels=2,
        response="threshold",
        noise_scale=1.0,
        noise_tilt=1.0,
    ),
    Card(
        name="seasons_alone",
        story="No effect at all: seasons drive the mix and orders of units of all sizes",
        half="evaluation",
        units=500,
        periods=40,
        channels=3,
        response="none",
        noise="counts",
        size_spread=1.0,
        confounding=1.5,
        season=2.0,
    ),
    Card(
        name="two_days_each",
        story="Many units with two days each, effects that add up, heavy tails, loud noise",
        half="evaluation",
        units=10000,
        periods=2,
        channels=3,
        response="linear",
        noise="student",
        noise_scale=4.0,
    ),
    Card(
        name="five_in_a_hundred",
        story="A tight policy, six channels, and five rows in a hundred that explore widely",
        half="evaluation",
        units=2000,
        periods=10,
        channels=6,
        response="ces",
        spread=0.25,
        exploration=0.05,
        exploration_scale=4.0,
        noise_scale=1.0,
    ),
    Card(
        name="sticky_mixes",
        story="Mixes that change every three weeks, channels that replace each other",
        half="evaluation",
        units=700,
        periods=30,
        channels=3,
        response="ces",
        new_mix=0.05,
    ),
    Card(
        name="unseen_quality",
        story="Quality that nobody recorded drives both the mix and sales of many sizes",
        half="evaluation",
        units=2000,
        periods=10,
        channels=4,
        size_spread=0.8,
        hidden=0.8,
    ),
)
CARDS: dict[str, Card] = {card.name: card for card in (*_TUNING, *_EVALUATION)}
