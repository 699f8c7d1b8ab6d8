"""What can be set about the teacher: tables `[teacher]`, `[kernel]`, `[network]` and `[factual]`."""

from dataclasses import dataclass
from typing import ClassVar

from realloc.base.errors import ConfigError
from realloc.base.validation import check_types, nearest
from realloc.learn.networks.config import TrainConfig

SURFACES = ("kernel", "network", "factual", "sparse")
FORMS = ("branch", "plain")


@dataclass(frozen=True, kw_only=True)
class TeacherConfig:
    """Which surfaces sit on the committee, and how many members each has (table `[teacher]`)."""

    surfaces: tuple[str, ...] = SURFACES
    members: int = 5
    few_rows: int = 1000  # fewer: the kernel surface and ridge nuisances alone, unless others were chosen; 0: never

    def __post_init__(self) -> None:
        check_types(self, "[teacher]")
        for name in self.surfaces:
            if name not in SURFACES:
                raise ConfigError(
                    f"Unknown surface {name!r} in `surfaces` of [teacher].{nearest(name, SURFACES)}"
                )
        if not self.surfaces or len(set(self.surfaces)) < len(self.surfaces):
            raise ConfigError(
                f"Expected one or more different `surfaces` in [teacher], got {list(self.surfaces)}."
            )
        if self.few_rows < 0:
            raise ConfigError(
                f"Expected `few_rows` of [teacher] of at least 0, got {self.few_rows}."
            )
        if not 1 <= self.members <= 100:
            raise ConfigError(f"Expected `members` of [teacher] from 1 to 100, got {self.members}.")


@dataclass(frozen=True, kw_only=True)
class KernelConfig:
    """Sizes of the Gaussian-process surface (table `[kernel]`)."""

    inducing: int = 1000
    steps: int = 150
    later_steps: int = 40  # in rounds that begin where the last one ended
    rows: int = 800  # per step
    rate: float = 0.1

    def __post_init__(self) -> None:
        check_types(self, "[kernel]")
        if (
            min(self.inducing, self.rows) < 10
            or min(self.steps, self.later_steps) < 1
            or self.rate <= 0
        ):
            raise ConfigError(
                "Expected `inducing` and `rows` of at least 10, `steps` and `later_steps` of at least 1 and `rate` above 0."
            )


@dataclass(frozen=True, kw_only=True)
class NetworkConfig:
    """The network surface (table `[network]`)."""

    TABLE: ClassVar[str] = "[network]"

    form: str = "branch"  # or plain: one network on states and shares, which learns from the factual term only
    factual: float = 1.0  # weight of the first term of the loss
    residual: float = 0.5  # λ_res
    gradient: float = 0.5  # λ_grad
    centred: bool = (
        True  # heads of the state, see `learn/teacher/loss.py`; off: the loss as printed
    )
    width: int = 64
    trunk: int = 32
    epochs: int = 20
    batch: int = 512
    rate: float = 1e-2
    weight_decay: float = 1.5
    patience: int = 20
    least_steps: int = 300  # however few the rows: then there are more epochs

    def __post_init__(self) -> None:
        check_types(self, self.TABLE)
        if self.form not in FORMS:
            raise ConfigError(
                f"Unknown `form` {self.form!r} in {self.TABLE}.{nearest(self.form, FORMS)}"
            )
        if self.form == "plain" and (self.residual or self.gradient):
            raise ConfigError(
                f'Expected `residual` and `gradient` of 0 with `form = "plain"` in {self.TABLE}.'
            )
        if (
            min(self.factual, self.residual, self.gradient) < 0
            or self.factual + self.residual + self.gradient == 0
        ):
            raise ConfigError(
                "Expected `factual`, `residual` and `gradient` of at least 0, and one of them above 0."
            )
        if min(self.width, self.trunk) < 1:
            raise ConfigError(
                f"Expected `width` and `trunk` of at least 1, got {self.width} and {self.trunk}."
            )
        self.training()

    def training(self) -> TrainConfig:
        """How the network is trained."""
        return TrainConfig(
            epochs=self.epochs,
            batch=self.batch,
            rate=self.rate,
            weight_decay=self.weight_decay,
            patience=self.patience,
            least_steps=self.least_steps,
        )


@dataclass(frozen=True, kw_only=True)
class FactualConfig(NetworkConfig):
    """The factual surface (table `[factual]`): an S-learner, wide and loose, for logs that cover much of the simplex."""

    TABLE: ClassVar[str] = "[factual]"

    form: str = "plain"
    residual: float = 0.0
    gradient: float = 0.0
    width: int = 128
    epochs: int = 40
    weight_decay: float = 0.5
    patience: int = 40
