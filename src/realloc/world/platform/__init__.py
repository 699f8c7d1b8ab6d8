"""The marketplace: a second synthetic world, close to a real platform, with a known truth."""

from realloc.world.platform.catalogue import CatalogueParameters
from realloc.world.platform.demand import BudgetParameters
from realloc.world.platform.exploration import ExplorationParameters
from realloc.world.platform.items import ItemParameters
from realloc.world.platform.legacy import LegacyParameters
from realloc.world.platform.marketplace import Marketplace
from realloc.world.platform.parameters import MarketplaceParameters
from realloc.world.platform.response import MarketState, ResponseParameters

__all__ = [
    "BudgetParameters",
    "CatalogueParameters",
    "ExplorationParameters",
    "ItemParameters",
    "LegacyParameters",
    "MarketState",
    "Marketplace",
    "MarketplaceParameters",
    "ResponseParameters",
]
