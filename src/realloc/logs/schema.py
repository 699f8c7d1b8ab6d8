"""Which column plays which part in a log."""

from collections import Counter
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field, fields
from typing import cast

from realloc.base.errors import ConfigError
from realloc.base.validation import Checked, check_types, from_table
from realloc.logs.names import short_channels
from realloc.logs.reading.options import PLAIN, ReadOptions


@dataclass(frozen=True, kw_only=True)
class Schema(Checked):
    """Names of a log's columns by the part they play. Lists are kept as tuples.

    >>> Schema(unit="item_id", time="date", outcome="orders", channels=["ads", "coupon"]).channels
    ('ads', 'coupon')
    """

    unit: str
    time: str
    outcome: str
    channels: tuple[str, ...]
    # None: channels are spends; a name: channels are shares of it.
    budget: str | None = None
    features: tuple[str, ...] | None = None  # None: every other column that is safe to use
    categorical: tuple[str, ...] | None = None  # None: by dtype
    guardrails: tuple[str, ...] = ()
    propensity: str | None = None
    currency: str | None = None  # None: a column named like one
    # Long layout: the column that holds the channel's name …
    channel_column: str | None = None
    spend_column: str | None = None  # … and the one with its spend, or its share
    known_before: tuple[
        str, ...
    ] = ()  # columns that look post-decision but were known before it
    drop_units: tuple[str, ...] = ()  # units to leave out, such as a total of the others
    read: ReadOptions = PLAIN  # how text files are written: the table [read]
    # Of a guessed schema: why each column got its part.
    notes: dict[str, str] = field(default_factory=dict[str, str], compare=False, repr=False)

    def __post_init__(self) -> None:
        for part in fields(self):
            value = getattr(self, part.name)
            if isinstance(value, Iterable) and not isinstance(
                value, str | tuple | Set | Mapping
            ):
                object.__setattr__(self, part.name, tuple(value))
        if isinstance(cast("object", self.read), Mapping):  # from a file
            object.__setattr__(self, "read", from_table(ReadOptions, self.read, "[read]"))
        if isinstance(self.channels, str):
            raise ConfigError(
                f"Expected `channels` to be a list of column names, got the text {self.channels!r}."
            )
        check_types(self, "the schema")
        if len(self.channels) < 2:
            raise ConfigError(
                f"Expected at least 2 channels to move budget between, got {list(self.channels)}."
            )
        if (self.channel_column is None) != (self.spend_column is None):
            raise ConfigError(
                "Expected both `channel_column` and `spend_column` for the long layout, "
                "got only one."
            )
        for part in fields(self):
            value = getattr(self, part.name)
            if value == "" or (isinstance(value, tuple) and "" in value):
                raise ConfigError(
                    f"Expected a column name in `{part.name}` of the schema, got an empty text."
                )
        self._check_one_part_each()

    @property
    def long(self) -> bool:
        """Whether logs may have one row per unit, date and channel; they may also be wide."""
        return self.channel_column is not None

    @property
    def fixed_columns(self) -> tuple[str, ...]:
        """Columns with a part of their own in the wide layout; others may be features."""
        single = (
            self.unit,
            self.time,
            self.budget,
            self.outcome,
            self.propensity,
            self.currency,
        )
        return tuple(name for name in single if name) + self.channels + self.guardrails

    @property
    def share_columns(self) -> tuple[str, ...]:
        """Columns of recommended shares, one per channel: `share_search` for `spend_search`."""
        return tuple(f"share_{name}" for name in short_channels(self.channels))

    @property
    def spend_columns(self) -> tuple[str, ...]:
        """Columns of recommended money, one per channel: `spend_search` for `spend_search`."""
        return tuple(f"spend_{name}" for name in short_channels(self.channels))

    @property
    def columns(self) -> set[str]:
        """Every column that the schema names."""
        extra = (self.channel_column, self.spend_column, *self.known_before)
        named = {*self.fixed_columns, *(self.features or ()), *filter(None, extra)}
        return named - set(self.channels) if self.long else named

    def _check_one_part_each(self) -> None:
        # In the long layout channels are values, but they become columns, so they may not clash.
        extra = filter(None, (self.channel_column, self.spend_column))
        twice = _repeated((*self.fixed_columns, *extra))
        if twice:
            raise ConfigError(
                f"Expected every column to play one part, but {twice!r} is named twice in the "
                "schema."
            )
        if self.features is None:
            return
        clash = sorted(set(self.features) & (set(self.fixed_columns) - {self.currency}))
        if clash:
            raise ConfigError(
                "Expected features that are not also a channel, budget, outcome or key, "
                f"got {clash[0]!r}. The budget is part of the state by itself; leave it out of "
                "`features`."
            )
        repeated = _repeated(self.features)
        if repeated:
            raise ConfigError(
                f"Expected each feature once, but {repeated!r} is listed twice."
            )
        unknown = sorted(set(self.categorical or ()) - set(self.features))
        if unknown:
            raise ConfigError(
                f"Expected every `categorical` column among `features`, but {unknown[0]!r} is not."
            )


def _repeated(listed: tuple[str, ...]) -> str | None:
    return next((name for name, count in Counter(listed).items() if count > 1), None)
