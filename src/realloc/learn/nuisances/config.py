"""What can be set about the nuisances (table `[nuisances]`)."""

from dataclasses import dataclass

from realloc.base.errors import ConfigError
from realloc.base.validation import Checked, check_types, nearest
from realloc.learn.networks.config import TrainConfig
from realloc.learn.nuisances.regressor_call import parse_regressor

MODELS = ("ridge", "network", "boosting")
SKLEARN = "sklearn."  # further models: calls such as sklearn.svm.SVR(C=2.0)
OUTCOMES = ("real", "positive", "count")
MOST_STEPS = 2000  # of a network: a million rows need not be seen twenty times


@dataclass(frozen=True, kw_only=True)
class NuisanceConfig(Checked):
    """How m(H,B) and e(H,B) are learned.

    >>> NuisanceConfig(outcome="count").models
    ('ridge', 'network', 'boosting')
    """

    folds: int = 5
    # candidates that are stacked; also regressors of scikit-learn (nuisances/regressor.py)
    models: tuple[str, ...] = MODELS
    # real | positive (zeros allowed) | count; the last two are learned on the log scale
    outcome: str = "real"
    periods: bool = True  # take off what outcomes and mixes of one period share
    level: bool = True  # where units differ in size, learn outcomes relative to that size
    repeats: int = 2  # fits per fold and model, each stopped by another fold, then averaged
    width: int = 64
    depth: int = 2
    epochs: int = 20
    batch: int = 512
    rate: float = 1e-2
    weight_decay: float = 1.0
    trees: int = 600  # at most; rounds stop by held-out error
    leaves: int = 8
    shrinkage: float = 0.05  # learning rate of the trees

    @property
    def takes_off_periods(self) -> bool:
        """Whether period effects leave the outcome, too; counts stay counts."""
        return self.periods and self.outcome == "real"

    def __post_init__(self) -> None:
        where = "[nuisances]"
        check_types(self, where)
        if self.folds < 2:
            raise ConfigError(
                f"Expected `folds` of at least 2 for cross-fitting, got {self.folds}."
            )
        if not self.models or len(set(self.models)) < len(self.models):
            raise ConfigError(
                f"Expected one or more different `models` in {where}, got {list(self.models)}."
            )
        for name in self.models:
            if name.startswith(SKLEARN):
                parse_regressor(name)
            elif name not in MODELS:
                raise ConfigError(
                    f"Unknown model {name!r} in `models` of {where}.{nearest(name, MODELS)}"
                )
        if self.outcome not in OUTCOMES:
            raise ConfigError(
                f"Unknown `outcome` {self.outcome!r} in {where}.{nearest(self.outcome, OUTCOMES)}"
            )
        if min(self.repeats, self.width, self.depth, self.trees) < 1 or self.leaves < 2:
            raise ConfigError(
                "Expected `repeats`, `width`, `depth` and `trees` of at least 1 and `leaves` of "
                f"at least 2 in {where}."
            )
        if not 0 < self.shrinkage <= 1:
            raise ConfigError(
                f"Expected `shrinkage` above 0 and up to 1 in {where}, got {self.shrinkage}."
            )
        self.training(self.batch)

    def training(self, batch: int) -> TrainConfig:
        """How networks are trained.

        All epochs always run. Training stops once *all* members are stale, so with patience one
        member's length would depend on another's rows.
        """
        return TrainConfig(
            epochs=self.epochs,
            batch=batch,
            rate=self.rate,
            weight_decay=self.weight_decay,
            patience=self.epochs,
            most_steps=MOST_STEPS,
        )
