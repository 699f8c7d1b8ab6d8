"""The truth: how an item's orders, GMV and income follow from the shares p, and their gradients.

    orders(p) = d + S·∜(2/K)·[ Σ_k w_k·log(1 + κp_k)/log(1 + κ₀) − ½γ·Σ_{k<l}(p_k − p_l)² ]
    gmv(p)    = orders(p) + log price + v·Σ_k (½ − discount_k)·p_k
    income(p) = gmv(p) + log take rate + log(1 − Σ_k c_k p_k)

d is demand (and what the budget's size adds), w the pull of the channels, κ saturation, γ synergy:
a mix of channels is worth more than its parts. Discounts sell more but smaller orders and are paid
from income. All three are logarithms (of orders and money per day): .018 reads as 1.8 %. Each is
smooth and concave on the whole closed simplex, zeros included.
"""

from dataclasses import dataclass

import numpy as np

from realloc.base.errors import ConfigError, LogError
from realloc.base.simplex import Mask, Rows
from realloc.base.validation import check_range, check_types
from realloc.world.platform.draws import Floats, row_sum

OUTCOMES = ("orders", "gmv", "income")


@dataclass(frozen=True, kw_only=True)
class ResponseParameters:
    """Size and shape of the causal effects, and the noise around them."""

    scale: float = 0.27  # S: sets the sd of a legacy move's effect
    saturation: float = 3.0  # κ₀
    # Rise of log κ per unit of log budget above the standing one.
    saturation_budget: float = 0.4
    # Discounts sell more orders than attention does, in log pull.
    discount_pull: float = 0.15
    price_pull: float = 0.15  # dear items respond to attention, cheap ones to discounts
    weekend_pull: float = 0.15  # discounts pull more on weekends
    synergy: float = 0.35  # γ
    basket: float = 0.40  # v: ads bring dearer baskets, discounts cheaper ones
    # Part of GMV that is the platform's income before channel costs.
    take_rate: float = 0.06
    # Share of income a channel without discount takes at full budget.
    cost_low: float = 0.05
    cost_high: float = 0.30  # … and one that is all discount
    cost_spread: float = 0.4  # costs vary by ± this part between items
    noise_sd: float = 0.28  # of a day's orders
    basket_noise_sd: float = 0.15  # further noise of GMV
    margin_noise_sd: float = 0.10  # further noise of income

    def __post_init__(self) -> None:
        check_types(self, "the response")
        check_range(self, ("scale", "saturation", "take_rate"), "> 0", "the response")
        spreads = ("synergy", "noise_sd", "basket_noise_sd", "margin_noise_sd")
        check_range(self, spreads, ">= 0", "the response")
        highest = self.cost_high * (1 + abs(self.cost_spread))
        if not 0 <= self.cost_low <= self.cost_high or highest >= 1:
            raise ConfigError(
                "Expected 0 <= cost_low <= cost_high and cost_high × (1 + cost_spread) < 1 "
                f"in the response, got {self.cost_low}, {self.cost_high} and {self.cost_spread}."
            )


@dataclass(frozen=True, eq=False)
class MarketState:
    """Everything the response needs besides the shares; one row per item and day."""

    base: Floats  # (n,) expected orders without any channel
    log_price: Floats  # (n,)
    pull: Floats  # (n, K) w
    saturation: Floats  # (n,) κ
    synergy: Floats  # (n,) γ
    basket: Floats  # (n, K) effect on log basket value
    cost: Floats  # (n, K) part of income paid away
    opened: Mask  # (n, K) channels the item has ever used

    def __len__(self) -> int:
        return len(self.base)

    def take(self, rows: Rows | Mask) -> "MarketState":
        """The given rows."""
        return MarketState(**{name: values[rows] for name, values in vars(self).items()})


def response(
    state: MarketState, shares: Floats, parameters: ResponseParameters
) -> dict[str, Floats]:
    """Expected orders, gmv and income at `shares` (n, K), each (n,)."""
    p = check_shares(state, shares)
    mass = np.log1p(state.saturation[:, None] * p) / np.log1p(parameters.saturation)
    effect = row_sum(state.pull * mass) - 0.5 * state.synergy * _spread(p)
    orders = state.base + effect_scale(parameters, p.shape[1]) * effect
    gmv = orders + state.log_price + row_sum(state.basket * p)
    income = gmv + np.log(parameters.take_rate) + np.log1p(-row_sum(state.cost * p))
    return dict(zip(OUTCOMES, (orders, gmv, income), strict=True))


def gradient(
    state: MarketState, shares: Floats, parameters: ResponseParameters
) -> dict[str, Floats]:
    """∂/∂p of the three outcomes at `shares`, each (n, K)."""
    p = check_shares(state, shares)
    kappa = state.saturation[:, None]
    slope = state.pull * kappa / (1 + kappa * p) / np.log1p(parameters.saturation)
    # ∂/∂p_k of ½Σ_{k<l}(p_k − p_l)² is K·p_k − Σp.
    pull_together = p.shape[1] * p - row_sum(p)[:, None]
    orders = effect_scale(parameters, p.shape[1]) * (
        slope - state.synergy[:, None] * pull_together
    )
    gmv = orders + state.basket
    income = gmv - state.cost / (1 - row_sum(state.cost * p)[:, None])
    return dict(zip(OUTCOMES, (orders, gmv, income), strict=True))


def effect_scale(parameters: ResponseParameters, channels: int) -> float:
    """S·∜(2/K): smaller shares lie on steeper parts, so a step's effect would grow with K."""
    return parameters.scale * (2 / channels) ** 0.25


def check_shares(state: MarketState, shares: Floats) -> Floats:
    """The shares as (n, K) float64, or an error that says which shape was expected."""
    p = np.asarray(shares, dtype=np.float64)
    if p.shape != state.pull.shape:
        raise LogError(
            f"Expected shares of shape {state.pull.shape}, one row per row of the state, "
            f"got {p.shape}."
        )
    return p


def _spread(p: Floats) -> Floats:
    """Σ_{k<l}(p_k − p_l)² = K·Σp² − (Σp)²."""
    return p.shape[1] * row_sum(np.square(p)) - np.square(row_sum(p))
