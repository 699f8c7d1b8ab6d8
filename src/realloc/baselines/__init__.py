"""Baselines: one policy per file, the same two verbs as ours."""

from collections.abc import Callable

from realloc.baselines.constant_field import ConstantField
from realloc.baselines.logging import Logging
from realloc.baselines.uniform import Uniform
from realloc.policy import Policy

BASELINES: dict[str, Callable[[], Policy]] = {
    "logging": Logging,
    "uniform": Uniform,
    "constant_field": ConstantField,
}

__all__ = ["BASELINES", "ConstantField", "Logging", "Uniform"]
