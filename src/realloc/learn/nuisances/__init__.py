"""Nuisances: cross-fitted mean outcome and mean shares given the state."""

from typing import TYPE_CHECKING

from realloc.base.imports import load_when_used

if TYPE_CHECKING:
    from realloc.learn.nuisances.config import NuisanceConfig
    from realloc.learn.nuisances.crossfit import Nuisances, cross_fit
    from realloc.learn.nuisances.diagnostics import Diagnostics

__all__ = ["Diagnostics", "NuisanceConfig", "Nuisances", "cross_fit"]

__getattr__ = load_when_used(
    __name__,
    {
        "Diagnostics": "diagnostics",
        "NuisanceConfig": "config",
        "Nuisances": "crossfit",
        "cross_fit": "crossfit",
    },
)
