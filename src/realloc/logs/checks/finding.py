"""One thing that a check of logs found."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Literal

Level = Literal["error", "warning", "info"]


@dataclass(frozen=True)
class Finding:
    """What was found, where, in how many rows, what it means and what to do.

    An `error` means that no policy may be learned from the log. With `stops_reading` the rows
    themselves are wrong, so the log is not read at all; without it the log is sound but not enough
    to learn from, and only a fit is refused.
    """

    code: str
    level: Level
    what: str
    meaning: str
    advice: str
    _: KW_ONLY
    column: str | None = None
    unit: str | None = None
    date: str | None = None
    where: str | None = None  # file:line, or row n of a frame, of the first case
    rows: int = 0
    stops_reading: bool = False

    @property
    def sentence(self) -> str:
        """All of it in one line."""
        place = f" ({self.place})" if self.place else ""
        return f"{self.what}{place}. {self.meaning} {self.advice}".strip()

    @property
    def place(self) -> str:
        """Where the first case is, and how many rows there are."""
        parts = [f"{self.rows:,} row{'s' if self.rows != 1 else ''}"] if self.rows else []
        if self.where or self.unit:
            unit = self.unit and f"unit {self.unit!r}"
            date = self.date and f"date {self.date}"
            first = ", ".join(filter(None, (self.where, unit, date)))
            parts.append(f"first: {first}" if self.rows > 1 and self.where else first)
        return "; ".join(parts)


def listed(problems: Sequence[str]) -> str:
    """One problem as it is, several as a numbered list."""
    if len(problems) == 1:
        return problems[0]
    numbered = [f"  {i}. {text}" for i, text in enumerate(problems, 1)]
    return "\n".join([f"{len(problems)} problems in the log:", *numbered])
