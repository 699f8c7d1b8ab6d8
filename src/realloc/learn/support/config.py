"""What can be set about the support: table `[support]`."""

from dataclasses import dataclass

from realloc.base.errors import ConfigError
from realloc.base.validation import Checked, check_types, nearest

COORDINATES = ("auto", "log_ratio", "partial", "sphere")
OMEGAS = ("logged", "memory")


@dataclass(frozen=True, kw_only=True)
class SupportConfig(Checked):
    """Where the logs hold evidence (table `[support]`)."""

    level: float = 0.95  # part of the logged actions that lies inside the region
    margin: float = (
        3.0  # standard errors of its own border by which a place has to be inside
    )
    # log_ratio where every logged share is above 0, else partial, or sphere if tails are too heavy
    coordinates: str = "auto"
    members: int = 16  # refits on resampled units that say how sure the border is
    rows: int = 50_000  # logged actions that are remembered, balanced by window
    neighbours: int = 10  # logged actions near a place that count as full evidence
    omega: str = "logged"  # ω by rank among logged actions; or by distance to the memory

    def __post_init__(self) -> None:
        check_types(self, "[support]")
        for name, known in (("coordinates", COORDINATES), ("omega", OMEGAS)):
            value = getattr(self, name)
            if value not in known:
                hint = nearest(value, known)
                raise ConfigError(f"Unknown `{name}` {value!r} in [support].{hint}")
        if not 0.5 <= self.level < 1 or self.margin < 0:
            raise ConfigError(
                "Expected `level` from 0.5 to below 1 and `margin` of at least 0 in [support]."
            )
        if self.members < 2 or self.rows < 200 or self.neighbours < 1:
            raise ConfigError(
                "Expected `members` of at least 2, `rows` of at least 200 and "
                "`neighbours` of at least 1 in [support]."
            )
