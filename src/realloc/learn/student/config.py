"""What can be set about the student: table `[student]`."""

from dataclasses import dataclass

from realloc.base.errors import ConfigError
from realloc.base.validation import Checked, check_types, nearest
from realloc.learn.networks.config import TrainConfig

PAIRS = ("difference", "slope")
WIDEST = 4096


@dataclass(frozen=True, kw_only=True)
class StudentConfig(Checked):
    """The student (table `[student]`)."""

    pair: str = "difference"  # or slope
    lambda_pair: float = 1.0
    lambda_jac: float = 1.0
    ema: float = 0.5  # γ: how much of the former student stays
    width: int = 64
    trunk: int = 32
    epochs: int = 10
    later_epochs: int = 5  # in rounds after the first: it begins where it was
    batch: int = 512
    rate: float = 1e-2
    weight_decay: float = 1e-2
    held_out: float = 0.1
    # However few the rows: targets are exact, so little can be overfit. Half in later rounds.
    least_steps: int = 350

    def __post_init__(self) -> None:
        check_types(self, "[student]")
        if self.pair not in PAIRS:
            raise ConfigError(
                f"Unknown `pair` {self.pair!r} in [student].{nearest(self.pair, PAIRS)}"
            )
        if (
            min(self.lambda_pair, self.lambda_jac) < 0
            or self.lambda_pair + self.lambda_jac == 0
        ):
            raise ConfigError(
                "Expected `lambda_pair` and `lambda_jac` of at least 0, and one of them above 0."
            )
        if not (1 <= self.width <= WIDEST and 1 <= self.trunk <= WIDEST):
            raise ConfigError(
                f"Expected `width` and `trunk` of [student] from 1 to {WIDEST}."
            )
        if not 0 <= self.ema < 1 or not 0 < self.held_out < 1:
            raise ConfigError(
                "Expected `ema` from 0 to below 1 and `held_out` between 0 and 1 in [student]."
            )
        self.training()
        self.training(first=False)

    def training(self, first: bool = True) -> TrainConfig:
        """How it is trained."""
        epochs = self.epochs if first else self.later_epochs
        return TrainConfig(
            epochs=epochs,
            batch=self.batch,
            rate=self.rate,
            weight_decay=self.weight_decay,
            patience=epochs,
            least_steps=self.least_steps if first else self.least_steps // 2,
        )
