"""What a person wants to know first about a fitted model: `model.summary()`.

What it knows, what it would do today, what limits it, and what would help.
"""

from dataclasses import asdict, dataclass
from typing import Any

from realloc.base.numbers import percent
from realloc.decide.types import MOVED, REASONS
from realloc.draw import (
    Bullets,
    PagePiece,
    Paragraph,
    Part,
    Shown,
    Tile,
    Tiles,
    VerdictBox,
    counts,
)
from realloc.model.known import Knowledge
from realloc.model.outlook import Outlook


@dataclass(frozen=True)
class ModelSummary(Shown):
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

    def pieces(self) -> list[PagePiece]:
        """What was learned, what it would do today, and what would help."""
        pieces = known_pieces(self.known)
        if self.today is None:
            text = "What it would do today: ask `model.summary(today)`."
            pieces.append(Paragraph(text, "missing"))
        else:
            pieces.append(Part("What it would do today", _today_pieces(self.today)))
        if self.advice:
            pieces.append(Part("What would help", [Bullets(self.advice)]))
        return pieces


def known_pieces(known: Knowledge) -> list[PagePiece]:
    """Whether the logs hold enough evidence, and of what it is made."""
    tone = "good" if known.significant else "bad"
    verdict = "The logs hold enough evidence to move budget."
    if not known.significant:
        verdict = "The logs hold too little evidence: every mix is kept."
    explained = "not known" if known.explained is None else percent(max(known.explained, 0))
    tiles = (
        Tile("Learned from", f"{known.rows:,} rows", f"round {known.rounds}"),
        Tile(
            "Evidence that the mix matters",
            f"z = {known.evidence:.1f}",
            f"{known.needed:g} needed",
            tone,
        ),
        Tile(
            f"Explained of {known.outcome!r}",
            explained,
            "of its variance, on units left out",
        ),
    )
    return [VerdictBox(verdict, tone), Tiles(tiles), Bullets(known.lines())]


def _today_pieces(today: Outlook) -> list[PagePiece]:
    named = {REASONS[reason]: rows for reason, rows in today.reasons.items()}
    moved = [REASONS[reason] for reason in MOVED]
    return [Bullets(today.lines()), counts(named, "Rows by reason", highlighted=moved)]
