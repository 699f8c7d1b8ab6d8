import json

import pytest

from realloc.base.errors import ConfigError
from realloc.world.platform import (
    BudgetParameters,
    CatalogueParameters,
    ExplorationParameters,
    ItemParameters,
    LegacyParameters,
    MarketplaceParameters,
    ResponseParameters,
)

FROZEN = "81c1604592105fa3"

BAD = [
    (
        lambda: CatalogueParameters(categories=0),
        "Expected categories >= 1 in the catalogue, got 0",
    ),
    (
        lambda: CatalogueParameters(shock_sd=-0.1),
        "Expected `shock_sd` >= 0 in the catalogue, got -0.1",
    ),
    (
        lambda: ItemParameters(never_used=1.5),
        "Expected `never_used` from 0 to 1 in the items, got 1.5",
    ),
    (
        lambda: ItemParameters(explored=-0.1),
        "Expected `explored` from 0 to 1 in the items, got -0.1",
    ),
    (
        lambda: ItemParameters(wave_days_min=60.0),
        "Expected 0 < wave_days_min <= wave_days_max in the items, got 60.0",
    ),
    (
        lambda: ItemParameters(taste_sd=-1.0),
        "Expected `taste_sd` >= 0 in the items, got -1.0",
    ),
    (
        lambda: BudgetParameters(noise_sd=-1.0),
        "Expected `noise_sd` >= 0 in the budgets, got -1.0",
    ),
    (
        lambda: BudgetParameters(chase=20.0),
        "Expected chase × elasticity from 0 to below 1 in the budgets",
    ),
    (
        lambda: ResponseParameters(scale=0.0),
        "Expected `scale` > 0 in the response, got 0.0",
    ),
    (
        lambda: ResponseParameters(synergy=-1.0),
        "Expected `synergy` >= 0 in the response, got -1.0",
    ),
    (
        lambda: ResponseParameters(cost_high=0.9),
        "Expected 0 <= cost_low <= cost_high and cost_high × (1 + cost_spread) < 1",
    ),
    (
        lambda: LegacyParameters(steps=()),
        "Expected steps in thousandths from 1 to 1000 in the legacy policy, got ()",
    ),
    (
        lambda: LegacyParameters(weights=(1.0,)),
        "Expected 6 positive weights, one per step, in the legacy policy",
    ),
    (
        lambda: ExplorationParameters(steps=(0, 1, 2)),
        "Expected steps in thousandths from 1 to 1000 in the exploration",
    ),
    (
        lambda: ExplorationParameters(hold=2.0),
        "Expected `hold` from 0 to 1 in the exploration, got 2.0",
    ),
    (
        lambda: ExplorationParameters(weights=(1.0, 0.0, 1.0)),
        "Expected 3 positive weights, one per step",
    ),
    (
        lambda: ResponseParameters(scale="big"),
        "Expected `scale` of the response to be a number, got 'big' (text)",
    ),
    (
        lambda: MarketplaceParameters(first_day="5 January"),
        "Expected first_day as YYYY-MM-DD, got '5 January'",
    ),
    (
        lambda: MarketplaceParameters.from_dict({"legcy": {}}),
        "Unknown key `legcy` in the marketplace. Did you mean 'legacy'?",
    ),
    (
        lambda: MarketplaceParameters.from_dict({"legacy": {"rat": 1.0}}),
        "Unknown key `rat` in [legacy]. Did you mean 'rate'?",
    ),
]


@pytest.mark.parametrize(("make", "text"), BAD)
def test_bad_parameters_say_what_was_expected(make, text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        make()
    assert text in str(caught.value)


def test_parameters_survive_json() -> None:
    changed = MarketplaceParameters(
        legacy=LegacyParameters(steps=(10, 50), weights=(0.5, 0.5)), first_day="2027-02-01"
    )
    again = MarketplaceParameters.from_dict(json.loads(json.dumps(changed.to_dict())))
    assert again == changed
    assert again.digest == changed.digest != MarketplaceParameters().digest


def test_the_default_marketplace_is_frozen() -> None:
    """Figures in docs/platform.md and experiments hold for these values: change them together."""
    assert MarketplaceParameters().digest == FROZEN
