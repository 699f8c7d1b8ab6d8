"""What the business asks of every recommendation: floors, caps, frozen channels, groups, moves
(table `[constraints]`).

Shares refer to the unit's budget of the row, money to the same budget in its currency. Moves are
judged from the row's current shares: the moved share is half the L1 distance, the part of the
budget that changes hands.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import Any

from realloc.base.errors import ConfigError
from realloc.base.validation import (
    Checked,
    check_known,
    check_types,
    freeze_tables,
    from_table,
)

WHERE = "[constraints]"
SLACK = 1e-12  # float error of a sum is no conflict
ALL = "*"
FINEST_GRID = 1e-6


@dataclass(frozen=True, kw_only=True)
class Group(Checked):
    """Bounds on what several channels hold together (table `[[constraints.groups]]`)."""

    channels: tuple[str, ...]
    floor: float | None = None
    cap: float | None = None
    floor_money: float | None = None
    cap_money: float | None = None

    def __post_init__(self) -> None:
        _lists_to_tuples(self, "channels")
        check_types(self, "[[constraints.groups]]")
        if len(self.channels) < 2 or len(set(self.channels)) < len(self.channels):
            raise ConfigError(
                f"Expected at least 2 different channels in a group of {WHERE}, got "
                f"{list(self.channels)}. "
                "A single channel's bounds go into `floors` and `caps`."
            )
        _check_shares(self.name, {"floor": self.floor, "cap": self.cap})
        _check_money(
            self.name, {"floor_money": self.floor_money, "cap_money": self.cap_money}
        )
        _check_order(self.name, self.floor, self.cap)
        _check_order(self.name, self.floor_money, self.cap_money)
        if (self.floor, self.cap, self.floor_money, self.cap_money) == (None,) * 4:
            raise ConfigError(
                f"Expected a floor or a cap for {self.name} of {WHERE}, got neither."
            )

    @property
    def name(self) -> str:
        """How messages call it."""
        return "group " + "+".join(self.channels)


@dataclass(frozen=True, kw_only=True)
class Constraints(Checked):
    """Everything a recommendation must keep (table `[constraints]`); checked when made.

    >>> Constraints(floors={"ads": 0.2}, frozen=("tv",), largest_move=0.1).named()
    ['ads', 'tv']
    """

    # least share of the unit's budget
    floors: dict[str, float] = field(default_factory=dict[str, float])
    caps: dict[str, float] = field(default_factory=dict[str, float])
    # the same per unit and row, in money
    floors_money: dict[str, float] = field(default_factory=dict[str, float])
    caps_money: dict[str, float] = field(default_factory=dict[str, float])
    frozen: tuple[str, ...] = ()  # keep their current share to the bit
    groups: tuple[Group, ...] = ()  # apart, or one inside the other
    largest_move: float | None = None  # share of a unit's budget that may change hands
    largest_move_money: float | None = None
    largest_move_per_day: float | None = (
        None  # share of the day's budget over all units; held by the portfolio step
    )
    smallest_move: float | None = (
        None  # a recommendation that moves less is not worth making
    )
    smallest_move_money: float | None = None
    grid: float | None = None  # every channel's share changes by a whole multiple of it
    open: tuple[
        str, ...
    ] = ()  # may be opened although the unit never used them; ("*",) means all

    def __post_init__(self) -> None:
        _lists_to_tuples(self, "frozen", "groups", "open")
        made = (
            tuple(
                from_table(Group, group, "[[constraints.groups]]")
                if isinstance(group, Mapping)
                else group
                for group in self.groups
            )
            if isinstance(self.groups, tuple)
            else self.groups
        )
        object.__setattr__(self, "groups", made)
        check_types(self, WHERE)
        freeze_tables(self)  # later changes of the caller's dict do not leak in
        self._check_numbers()
        self._check_channels()
        self._check_groups()
        self._check_moves()

    @cached_property
    def compiled(self) -> dict[tuple[str, ...], Any]:
        """The rules that `compile_limits` has made and checked for some channels, made once."""
        return {}

    def named(self) -> list[str]:
        """Every channel the constraints name, in order of appearance."""
        names = [
            *self.floors,
            *self.caps,
            *self.floors_money,
            *self.caps_money,
            *self.frozen,
        ]
        names += [channel for group in self.groups for channel in group.channels]
        names += [channel for channel in self.open if channel != ALL]
        return list(dict.fromkeys(names))

    def check_channels(self, channels: tuple[str, ...]) -> None:
        """Refuse names that are no channels of the schema, with the nearest one."""
        for name in self.named():
            check_known("channel", name, channels, WHERE)

    def _check_numbers(self) -> None:
        for kind in ("floors", "caps"):
            _check_shares(f"`{kind}`", getattr(self, kind))
        for kind in ("floors_money", "caps_money"):
            _check_money(f"`{kind}`", getattr(self, kind))
        for name in ("largest_move", "largest_move_per_day", "smallest_move"):
            _check_shares("the moves", {name: getattr(self, name)})
        for name in ("largest_move_money", "smallest_move_money"):
            _check_money("the moves", {name: getattr(self, name)})
        if self.grid is not None and not FINEST_GRID <= self.grid <= 1:
            raise ConfigError(
                f"Expected `grid` of {WHERE} from {FINEST_GRID} to 1, a share of budget, got "
                f"{self.grid}."
            )

    def _check_channels(self) -> None:
        for name, floor in self.floors.items():
            _check_order(name, floor, self.caps.get(name))
        for name, floor in self.floors_money.items():
            _check_order(name, floor, self.caps_money.get(name))
        total = sum(self.floors.values())
        if total > 1 + SLACK:
            terms = " + ".join(f"{name} {floor:g}" for name, floor in self.floors.items())
            raise ConfigError(
                f"Expected `floors` of {WHERE} that sum to at most 1, got {terms} = {total:g}. "
                "Lower one."
            )
        for name in self.frozen:
            for kind in ("floors", "caps", "floors_money", "caps_money"):
                if name in getattr(self, kind):
                    raise ConfigError(
                        f"Expected no `{kind}` for the frozen channel {name!r} of {WHERE}, got "
                        f"{getattr(self, kind)[name]}. "
                        "A frozen channel keeps its current share; take it out of one of the two."
                    )

    def _check_groups(self) -> None:
        for group in self.groups:
            least = sum(self.floors.get(name, 0.0) for name in group.channels)
            most = sum(self.caps.get(name, 1.0) for name in group.channels)
            if group.cap is not None and least > group.cap + SLACK:
                raise ConfigError(
                    f"Expected floors within the cap {group.cap:g} of {group.name} of {WHERE}, "
                    f"got {least:g}."
                )
            if group.floor is not None and most < group.floor - SLACK:
                raise ConfigError(
                    f"Expected caps above the floor {group.floor:g} of {group.name} of "
                    f"{WHERE}, got {most:g}."
                )
        for one, other in combinations(self.groups, 2):
            a = set(one.channels)
            b = set(other.channels)
            if a == b:
                raise ConfigError(
                    f"Expected {one.name} of {WHERE} once, got it twice. Put all its bounds "
                    "into one table."
                )
            if a & b and not (a <= b or b <= a):
                raise ConfigError(
                    f"Expected groups of {WHERE} that are apart or one inside the other, but "
                    f"{one.name} and {other.name} "
                    f"share only {', '.join(sorted(a & b))}."
                )

    def _check_moves(self) -> None:
        pairs = (
            ("smallest_move", "largest_move"),
            ("grid", "largest_move"),
            ("smallest_move_money", "largest_move_money"),
        )
        for name, limit in pairs:
            smaller = getattr(self, name)
            larger = getattr(self, limit)
            if smaller is not None and larger is not None and smaller > larger + SLACK:
                raise ConfigError(
                    f"Expected `{name}` of {WHERE} of at most `{limit}` {larger:g}, got "
                    f"{smaller:g}: "
                    "no move would ever be allowed."
                )


def _lists_to_tuples(instance: Any, *names: str) -> None:
    for name in names:
        if isinstance(getattr(instance, name), list):
            object.__setattr__(instance, name, tuple(getattr(instance, name)))


def _check_shares(what: str, values: Mapping[str, float | None]) -> None:
    for name, value in values.items():
        if value is not None and not 0 <= value <= 1:
            raise ConfigError(
                f"Expected {name!r} in {what} of {WHERE} from 0 to 1, a share of the budget, "
                f"got {value}."
            )


def _check_money(what: str, values: Mapping[str, float | None]) -> None:
    for name, value in values.items():
        if value is not None and value < 0:
            raise ConfigError(
                f"Expected {name!r} in {what} of {WHERE} of at least 0, an amount of money, "
                f"got {value}."
            )


def _check_order(what: str, least: float | None, most: float | None) -> None:
    if least is not None and most is not None and least > most:
        raise ConfigError(
            f"Expected a floor of {what} of {WHERE} of at most its cap {most:g}, got {least:g}."
        )
