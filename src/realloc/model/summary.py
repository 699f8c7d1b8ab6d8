"""What a person wants to know first about a fitted model: `model.summary()`.

What it knows, what it would do today, what limits it, and what would help.
"""

from dataclasses import asdict, dataclass
from typing import Any

from realloc.model.known import Knowledge
from realloc.model.outlook import Outlook


@dataclass(frozen=True)
class ModelSummary:
    """A fitted model in a few numbers; `print` shows sentences."""

    known: Knowledge
    today: Outlook | None  # None: there are no rows to decide on
    advice: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)

    def lines(self) -> list[str]:
        """As sentences."""
        lines = self.known.lines()
        if self.today:
            lines += [*self.today.lines(), *self.today.why_kept()]
        else:
            lines.append("What it would do today: ask `model.summary(today)`.")
        if self.advice:
            lines += ["What would help:", *(f"- {text}" for text in self.advice)]
        return lines
