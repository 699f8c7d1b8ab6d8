"""How networks are trained; without torch, so that a config can be read before anything heavy loads."""

from dataclasses import dataclass

from realloc.base.errors import ConfigError
from realloc.base.validation import check_types


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """How long and how fast."""

    epochs: int = 40
    batch: int = 512
    rate: float = 3e-3
    weight_decay: float = 1e-3
    patience: int = 8
    least_steps: int = (
        0  # where rows are few, more epochs until so many steps; patience grows alike
    )
    most_steps: int = (
        6000  # where rows are many, fewer epochs: a million rows need not be seen forty times
    )

    def __post_init__(self) -> None:
        check_types(self, "the training config")
        if (
            min(self.epochs, self.batch, self.patience) < 1
            or self.least_steps < 0
            or self.most_steps < 1
            or self.rate <= 0
            or self.weight_decay < 0
        ):
            raise ConfigError(
                "Expected epochs, batch, patience and most_steps of at least 1, rate above 0, weight_decay and least_steps of at "
                "least 0."
            )
