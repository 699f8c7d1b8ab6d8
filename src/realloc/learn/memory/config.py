"""What can be set about labelled moves and their memory: tables `[moves]` and `[memory]`."""

from dataclasses import dataclass

from realloc.base.errors import ConfigError
from realloc.base.validation import Checked, check_types


@dataclass(frozen=True, kw_only=True)
class MoveConfig(Checked):
    """Which moves are labelled (table `[moves]`)."""

    steps: tuple[float, ...] = (0.01, 0.02, 0.05)
    places: int = 2  # per row: the logged shares, and so many less one on a walk from them
    reach: float = 0.1  # largest share that one transfer of the walk moves; two transfers
    rows: int = 20_000  # at most so many rows of a window are labelled

    def __post_init__(self) -> None:
        check_types(self, "[moves]")
        if not self.steps or min(self.steps) <= 0 or max(self.steps) >= 1:
            raise ConfigError(
                f"Expected `steps` of [moves] between 0 and 1, got {list(self.steps)}."
            )
        if self.places < 1 or self.rows < 1 or not 0 <= self.reach < 1:
            raise ConfigError(
                "Expected `places` and `rows` of [moves] of at least 1 and `reach` between 0 and 1."
            )


@dataclass(frozen=True, kw_only=True)
class MemoryConfig(Checked):
    """The size of the memory (table `[memory]`)."""

    capacity: int = 20_000

    def __post_init__(self) -> None:
        check_types(self, "[memory]")
        if self.capacity < 100:
            raise ConfigError(
                f"Expected `capacity` of [memory] of at least 100 rows, got {self.capacity}."
            )
