"""States as numbers: scaled values, log budget, categories, missing flags, calendar and lags.

Fitted on training rows only and kept as plain values, so that an encoder is its own file format.
Columns are found by name, so neither their order nor further columns matter; channels in another
order are refused.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from realloc.base.errors import ConfigError, LogError
from realloc.base.validation import Checked, check_types, from_table
from realloc.learn.features import calendar, category, lags, number
from realloc.logs import Logs

Floats = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class FeatureConfig(Checked):
    """How states are encoded (table `[features]`)."""

    clip: float = (
        8.0  # robust standard deviations beyond which a number counts as that many
    )
    one_hot: int = 24  # categories with up to so many levels get a column each
    hash_width: int = 8  # columns of a category with more levels
    calendar: bool = (
        True  # day of the week and of the year, where the log spans enough of them
    )
    lags: int = 0  # earlier rows of the same unit to look back at; 0: none

    def __post_init__(self) -> None:
        check_types(self, "[features]")
        if self.clip <= 0 or self.one_hot < 2 or self.hash_width < 1:
            raise ConfigError(
                "Expected `clip` above 0, `one_hot` of at least 2 and `hash_width` of at least 1 "
                "in [features]."
            )
        if not 0 <= self.lags <= lags.MOST_LAGS:
            raise ConfigError(
                f"Expected `lags` from 0 to {lags.MOST_LAGS} in [features], got {self.lags}."
            )


@dataclass(frozen=True)
class Encoded:
    """The state of n rows: X (n, d) in float32, with a name for every column."""

    values: Floats
    names: tuple[str, ...]
    # per feature: part of the rows that training never saw
    report: dict[str, float] = field(default_factory=dict)
    owners: tuple[str, ...] = ()  # the feature that each column belongs to


@dataclass(frozen=True)
class Encoder:
    """What was learned about each feature.

    `encode` gives float32 columns of mean about 0 and spread about 1.
    """

    channels: tuple[str, ...]
    budget: number.Scale
    numbers: dict[str, number.Scale]
    categories: dict[str, category.Levels]
    cycles: tuple[str, ...]
    clip: float
    history: lags.Lags | None = None

    @property
    def features(self) -> tuple[str, ...]:
        """The log's columns that are used."""
        return (*self.numbers, *self.categories)

    def encode(self, logs: Logs) -> Encoded:
        """The states of `logs`; values that training never saw are handled and counted.

        Lags look back within `logs` and the memory, so hand in a whole log and take rows of the
        result.
        """
        self._check_channels(logs)
        self._check_features(logs)
        features = ("log budget", *self.numbers)
        numbers = np.empty((len(logs), len(features)))
        numbers[:, 0] = number.log(logs.budget)
        for place, name in enumerate(self.numbers, 1):
            numbers[:, place] = logs.floats(name)
        scaled, unseen = self._columns.encode(numbers, self.clip)
        report = dict(zip(features, unseen.tolist(), strict=True))
        blocks: list[tuple[str, number.Block]] = []
        for name, levels in self.categories.items():
            blocks.append((name, category.encode(logs.words(name), levels)))
        for cycle in self.cycles:
            blocks.append(("", calendar.encode(logs.times, cycle)))
        if self.history:
            blocks.extend(lags.encode(logs, self.history, self.clip))
        return Encoded(
            values=np.concatenate([scaled, *(block.values for _, block in blocks)], axis=1),
            names=self._number_names
            + tuple(
                f"{name}{suffix}" for name, block in blocks for suffix in block.suffixes
            ),
            report={name: part for name, part in report.items() if part}
            | {name: block.unseen for name, block in blocks if block.unseen},
            owners=self._number_owners
            + tuple(name or "calendar" for name, block in blocks for _ in block.suffixes),
        )

    def remember(self, logs: Logs) -> "Encoder":
        """The same scales and levels, with a further window of rows to look back at."""
        self._check_channels(logs)
        return replace(self, history=self.history.remember(logs)) if self.history else self

    def to_parts(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """As plain values for JSON, and arrays of what is remembered (none without lags)."""
        table = asdict(replace(self, history=None))
        # Lists, because a writer may sort a table's keys and so swap columns.
        for kind in ("numbers", "categories"):
            table[kind] = list(table[kind].items())
        if self.history is None:
            return table, {}
        table["history"], arrays = self.history.to_parts()
        return table, arrays

    @classmethod
    def from_parts(
        cls, table: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
    ) -> "Encoder":
        """The encoder that `to_parts` gave."""

        def scale(part: Mapping[str, Any]) -> number.Scale:
            return from_table(number.Scale, part, "the encoder")

        def levels(part: Mapping[str, Any]) -> category.Levels:
            return from_table(category.Levels, part, "the encoder")

        return cls(
            channels=tuple(table["channels"]),
            budget=scale(table["budget"]),
            numbers={name: scale(part) for name, part in table["numbers"]},
            categories={name: levels(part) for name, part in table["categories"]},
            cycles=tuple(table["cycles"]),
            clip=table["clip"],
            history=lags.Lags.from_parts(table["history"], arrays)
            if table["history"]
            else None,
        )

    @cached_property
    def _columns(self) -> number.Columns:
        return number.Columns([self.budget, *self.numbers.values()])

    @cached_property
    def _number_names(self) -> tuple[str, ...]:
        return self._columns.names(("log budget", *self.numbers))

    @cached_property
    def _number_owners(self) -> tuple[str, ...]:
        features = ("log budget", *self.numbers)
        return tuple(features[place // 2] for place in self._columns.kept)

    def _check_features(self, logs: Logs) -> None:
        """Each as in training: a number, flag or date, or a category."""
        for name in self.features:
            if name not in logs.features:
                raise LogError(
                    f"Expected the feature {name!r} that the model was fitted with, but the log "
                    "has none."
                )
            if logs.is_category(name) != (name in self.categories):
                kinds = ("categories", "numbers")
                wanted, got = kinds if name in self.categories else kinds[::-1]
                raise LogError(
                    f"Expected {wanted} in the feature {name!r} as in training, got {got}."
                )

    def _check_channels(self, logs: Logs) -> None:
        if logs.schema.channels != self.channels:
            raise LogError(
                f"Expected the channels {list(self.channels)} in this order as in training, "
                f"got {list(logs.schema.channels)}. Read the log with the schema of the model."
            )


def fit_encoder(logs: Logs, config: FeatureConfig | None = None) -> Encoder:
    """Learn scales and levels from training rows."""
    config = config or FeatureConfig()
    if not len(logs):
        raise LogError(
            "Expected rows to fit features on, but this part of the log is empty."
        )
    numbers: dict[str, number.Scale] = {}
    categories: dict[str, category.Levels] = {}
    for name in logs.features:
        if logs.is_category(name):
            words = logs.words(name)
            categories[name] = category.fit(words, config.one_hot, config.hash_width)
        else:
            numbers[name] = number.fit(logs.floats(name))
    return Encoder(
        channels=logs.schema.channels,
        budget=number.fit(number.log(logs.budget)),
        numbers=numbers,
        categories=categories,
        cycles=calendar.fit(logs.times) if config.calendar else (),
        clip=config.clip,
        history=lags.fit(logs, config.lags) if config.lags else None,
    )
