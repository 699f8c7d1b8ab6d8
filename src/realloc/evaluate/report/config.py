"""What the evaluation report can be told beyond what the policy knows: table `[report]`."""

from dataclasses import dataclass, field
from datetime import date, datetime

import numpy as np

from realloc.base.errors import ConfigError
from realloc.base.simplex import Floats
from realloc.base.validation import Checked, check_known, check_types, freeze_tables
from realloc.logs import Schema


@dataclass(frozen=True, kw_only=True)
class ReportConfig(Checked):
    """Where randomized rows are, what they drew from,
    and how rows are matched (table `[report]`).
    """

    # Column that is true where shares were drawn at random; None: rows that have a propensity.
    randomized: str | None = None
    # Columns of probabilities and their moves, see `moves_of`.
    arms: dict[str, dict[str, float]] = field(default_factory=dict[str, dict[str, float]])
    # Moved share between a recommended move and the drawn arm that may stand for it.
    tolerance: float = 0.02
    # Moved share up to which a row counts as one that kept its mix; None: as the log suggests.
    small_move: float | None = None
    # Largest part of the rows, for a launch, whose recommended move was never drawn.
    most_off_menu: float = 0.2
    # What each guardrail may lose a row.
    margins: dict[str, float] = field(default_factory=dict[str, float])
    # Of the replay window; None: first new date, a third of the dates on.
    start: str | date | datetime | None = None
    # Categorical features that matched rows must share, from fine to coarse.
    categories: tuple[str, ...] = ()
    features: tuple[str, ...] = ()  # further numbers to match on

    def __post_init__(self) -> None:
        check_types(self, "[report]")
        freeze_tables(self)
        if not 0 <= self.tolerance < 1 or not 0 <= self.most_off_menu <= 1:
            raise ConfigError(
                "Expected `tolerance` of [report] from 0 to below 1 and `most_off_menu` from 0 to "
                f"1, got {self.tolerance} and {self.most_off_menu}."
            )
        if self.small_move is not None and not 0 <= self.small_move < 1:
            raise ConfigError(
                "Expected `small_move` of [report] from 0 to below 1 (a part of the budget), got "
                f"{self.small_move}."
            )
        if min(self.margins.values(), default=0.0) < 0:
            raise ConfigError(
                "Expected `margins` of [report] of at least 0: what a guardrail may lose."
            )
        if len(self.arms) == 1:
            raise ConfigError(
                "Expected at least 2 arms in `arms` of [report], got 1: nothing was randomized."
            )

    @property
    def columns(self) -> tuple[str, ...]:
        """The log's columns that are named here."""
        return (self.randomized, *self.arms) if self.randomized else tuple(self.arms)

    def moves_of(self, channels: tuple[str, ...]) -> Floats:
        """The moves (M, K) of `arms`: how each column of probabilities changes each channel's
        share.
        """
        moves = np.zeros((len(self.arms), len(channels)))
        for row, (column, changes) in enumerate(self.arms.items()):
            for name, change in changes.items():
                check_known("channel", name, channels, f"the arm `{column}` of [report]")
                moves[row, channels.index(name)] = change
        return moves

    def check_guardrails(self, schema: Schema) -> None:
        """Margins name guardrails of the log."""
        for name in self.margins:
            check_known("guardrail", name, schema.guardrails, "`margins` of [report]")
