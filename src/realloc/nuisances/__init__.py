"""Nuisances: cross-fitted mean outcome and mean shares given the state."""

from typing import TYPE_CHECKING

from realloc.lazy import load_when_used

if TYPE_CHECKING:
    from realloc.nuisances.config import NuisanceConfig
    from realloc.nuisances.crossfit import Nuisances, cross_fit
    from realloc.nuisances.diagnostics import Diagnostics

__all__ = ["Diagnostics", "NuisanceConfig", "Nuisances", "cross_fit"]

__getattr__ = load_when_used(
    __name__,
    {"Diagnostics": "diagnostics", "NuisanceConfig": "config", "Nuisances": "crossfit", "cross_fit": "crossfit"},
)
