"""How networks are trained. Imports no torch, so that reading a config stays fast."""

from dataclasses import dataclass

from realloc.base.errors import ConfigError
from realloc.base.validation import check_types


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """How long and how fast a network learns."""

    epochs: int = 40
    batch: int = 512
    rate: float = 3e-3
    weight_decay: float = 1e-3
    patience: int = 8
    # Where rows are few, more epochs until so many steps; patience grows alike.
    least_steps: int = 0
    # Where rows are many, fewer epochs: a million rows need not be seen forty times.
    most_steps: int = 6000

    def __post_init__(self) -> None:
        check_types(self, "the training config")
        counts = (self.epochs, self.batch, self.patience, self.most_steps)
        if (
            min(counts) < 1
            or self.rate <= 0
            or min(self.weight_decay, self.least_steps) < 0
        ):
            raise ConfigError(
                "Expected epochs, batch, patience and most_steps of at least 1, rate above 0, "
                "weight_decay and least_steps of at least 0."
            )
