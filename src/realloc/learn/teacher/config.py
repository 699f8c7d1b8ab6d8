"""What can be set about the teacher: `[teacher]`, `[kernel]`, `[network]` and `[factual]`."""

from dataclasses import dataclass
from typing import ClassVar

from realloc.base.errors import ConfigError
from realloc.base.validation import Checked, check_types, nearest
from realloc.learn.networks.config import TrainConfig

SURFACES = ("kernel", "network", "factual", "sparse")


@dataclass(frozen=True, kw_only=True)
class TeacherConfig(Checked):
    """Which surfaces sit on the committee, and how many members each has (table `[teacher]`)."""

    surfaces: tuple[str, ...] = SURFACES
    members: int = 5
    # With fewer rows: the kernel surface and ridge nuisances alone, unless others were chosen.
    few_rows: int = 1000
    weighed: bool = True  # by the held-out loss, and shrunk; off: the surfaces' plain mean

    def __post_init__(self) -> None:
        check_types(self, "[teacher]")
        for name in self.surfaces:
            if name not in SURFACES:
                raise ConfigError(
                    f"Unknown surface {name!r} in `surfaces` of [teacher].{nearest(name, SURFACES)}"
                )
        if not self.surfaces or len(set(self.surfaces)) < len(self.surfaces):
            raise ConfigError(
                "Expected one or more different `surfaces` in [teacher], got "
                f"{list(self.surfaces)}."
            )
        if self.few_rows < 0:
            raise ConfigError(
                f"Expected `few_rows` of [teacher] of at least 0, got {self.few_rows}."
            )
        if not 1 <= self.members <= 100:
            raise ConfigError(
                f"Expected `members` of [teacher] from 1 to 100, got {self.members}."
            )


@dataclass(frozen=True, kw_only=True)
class KernelConfig(Checked):
    """Sizes of the Gaussian-process surface (table `[kernel]`)."""

    inducing: int = 1000
    steps: int = 150
    later_steps: int = 40  # in rounds that begin where the last one ended
    rows: int = 800  # per step
    rate: float = 0.1

    def __post_init__(self) -> None:
        check_types(self, "[kernel]")
        sizes_fit = min(self.inducing, self.rows) >= 10
        if not sizes_fit or min(self.steps, self.later_steps) < 1 or self.rate <= 0:
            raise ConfigError(
                "Expected `inducing` and `rows` of [kernel] of at least 10, `steps` and "
                "`later_steps` of at least 1 and `rate` above 0."
            )


@dataclass(frozen=True, kw_only=True)
class SurfaceTraining(Checked):
    """Size and training of a surface that is a network."""

    TABLE: ClassVar[str]

    width: int
    epochs: int
    batch: int = 512
    rate: float = 1e-2
    weight_decay: float
    patience: int
    least_steps: int = 300  # however few the rows: then there are more epochs
    most_steps: int = 2000  # however many the rows: then there are fewer

    def __post_init__(self) -> None:
        check_types(self, self.TABLE)
        if self.width < 1:
            raise ConfigError(
                f"Expected `width` of {self.TABLE} of at least 1, got {self.width}."
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
            most_steps=self.most_steps,
        )


@dataclass(frozen=True, kw_only=True)
class NetworkConfig(SurfaceTraining):
    """The network surface (table `[network]`), trained on the composite loss."""

    TABLE: ClassVar[str] = "[network]"

    factual: float = 1.0  # weight of the first term of the loss
    residual: float = 0.5  # λ_res
    gradient: float = 0.5  # λ_grad
    centred: bool = (
        True  # heads of the state, see `learn/teacher/loss.py`; off: loss as printed
    )
    width: int = 64
    trunk: int = 32
    epochs: int = 20
    weight_decay: float = 1.5
    patience: int = 20

    def __post_init__(self) -> None:
        super().__post_init__()
        weights = (self.factual, self.residual, self.gradient)
        if min(weights) < 0 or sum(weights) == 0:
            raise ConfigError(
                "Expected `factual`, `residual` and `gradient` of [network] of at least 0, "
                f"and one of them above 0, got {list(weights)}."
            )
        if self.trunk < 1:
            raise ConfigError(
                f"Expected `trunk` of [network] of at least 1, got {self.trunk}."
            )


@dataclass(frozen=True, kw_only=True)
class FactualConfig(SurfaceTraining):
    """The factual surface (table `[factual]`): an S-learner on outcomes.

    It is loosely regularised, for logs that cover much of the simplex.
    """

    TABLE: ClassVar[str] = "[factual]"

    width: int = 64
    epochs: int = 20
    weight_decay: float = 0.5
    patience: int = 20
