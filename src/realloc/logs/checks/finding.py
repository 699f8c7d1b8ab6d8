"""One thing the check has to say."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

Level = Literal["error", "warning", "info"]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What was found, where, in how many rows, what it means and what to do.

    An `error` means that no policy may be learned from the log. With `stops_reading` the rows themselves are wrong, so
    the log is not read at all; without it the log is sound but not enough to learn from, and only a fit is refused.
    """

    code: str
    level: Level
    what: str
    meaning: str
    advice: str
    column: str | None = None
    unit: str | None = None
    date: str | None = None
    where: str | None = None  # file:line, or row n of a frame, of the first case
    rows: int = 0
    stops_reading: bool = False

    @property
    def sentence(self) -> str:
        """All of it in one line."""
        place = self.place
        return f"{self.what}{f' ({place})' if place else ''}. {self.meaning} {self.advice}".strip()

    @property
    def place(self) -> str:
        """Where the first case is, and how many rows there are."""
        parts: list[str] = []
        if self.rows:
            parts.append(f"{self.rows:,} row{'s' if self.rows != 1 else ''}")
        if self.where or self.unit:
            first = ", ".join(
                part
                for part in (
                    self.where,
                    f"unit {self.unit!r}" if self.unit is not None else None,
                    f"date {self.date}" if self.date is not None else None,
                )
                if part
            )
            parts.append(f"first: {first}" if self.rows > 1 and self.where else first)
        return "; ".join(parts)

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)
