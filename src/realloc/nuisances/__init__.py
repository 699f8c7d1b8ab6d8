"""Nuisances: cross-fitted mean outcome and mean shares given the state."""

from realloc.nuisances.config import NuisanceConfig
from realloc.nuisances.crossfit import Nuisances, cross_fit
from realloc.nuisances.diagnostics import Diagnostics

__all__ = ["Diagnostics", "NuisanceConfig", "Nuisances", "cross_fit"]
