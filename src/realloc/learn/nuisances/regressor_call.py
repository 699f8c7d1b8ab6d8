"""A regressor of scikit-learn, written in the config like a call.

    models = ["ridge", "sklearn.ensemble.ExtraTreesRegressor(min_samples_leaf=20)"]

Only classes of scikit-learn with literal arguments are made, so a config holds no code to run.
"""

import ast
import importlib
import inspect
from dataclasses import dataclass
from typing import Any

from realloc.base.errors import ConfigError
from realloc.base.imports import need

FORM = "a call such as `sklearn.ensemble.ExtraTreesRegressor(min_samples_leaf=20)`"


@dataclass(frozen=True)
class RegressorCall:
    """A class of scikit-learn by its module and name, and the arguments to make it with."""

    module: str
    name: str
    arguments: dict[str, Any]

    def make(self, seed: int) -> Any:
        """A regressor that has not learned yet; what draws at random gets the seed."""
        base = need("sklearn.base", "learners")
        try:
            made = getattr(importlib.import_module(self.module), self.name)
        except (ImportError, AttributeError):
            made = None
        if not (inspect.isclass(made) and issubclass(made, base.RegressorMixin)):
            raise ConfigError(
                "Expected a regressor of scikit-learn in `models` of [nuisances], but "
                f"'{self.module}.{self.name}' is none. "
                "sklearn.utils.all_estimators('regressor') lists them."
            )
        known = inspect.signature(made).parameters
        drawn = {"random_state": seed % 2**31} if "random_state" in known else {}
        try:
            return made(**{**drawn, **self.arguments})
        except TypeError as problem:
            raise ConfigError(
                f"Expected arguments of '{self.name}' in `models` of [nuisances], but "
                f"scikit-learn says: {problem}."
            ) from problem


def parse_regressor(text: str) -> RegressorCall:
    """Read a call without running it."""
    try:
        call = ast.parse(text.strip(), mode="eval").body
        target = call.func if isinstance(call, ast.Call) else call
        *modules, name = ast.unparse(target).split(".")
        if isinstance(call, ast.Call) and call.args:
            raise ValueError("arguments go by name")
        keywords = call.keywords if isinstance(call, ast.Call) else []
        arguments = {word.arg or "": ast.literal_eval(word.value) for word in keywords}
    except (SyntaxError, ValueError, RecursionError, MemoryError) as problem:
        raise ConfigError(
            f"Expected {FORM} in `models` of [nuisances], got {text!r}: {problem}."
        ) from problem
    parts = [*modules, name]
    plain = all(part.isidentifier() and not part.startswith("_") for part in parts)
    if not plain or len(parts) < 3 or parts[0] != "sklearn" or "" in arguments:
        raise ConfigError(f"Expected {FORM} in `models` of [nuisances], got {text!r}.")
    return RegressorCall(".".join(modules), name, arguments)
