"""Which rows of a run to show: filters, order and place, as they stand in the address."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from realloc.base.errors import ConfigError
from realloc.base.validation import check_known
from realloc.decide.types import REASONS

ORDERS = {
    "money": "money moved",
    "gain": "expected gain",
    "gain_lower": "lower bound of the gain",
    "budget": "budget",
    "support": "support",
    "unit": "unit",
}
SIGNS = {"up": "gets more", "down": "gives", "same": "stays"}
SIZES = (50, 100, 200)
LONGEST = 200  # characters of a text in the address


@dataclass(frozen=True, kw_only=True)
class RowSelection:
    """Filters and order; empty texts filter nothing."""

    prefix: str = ""  # of the unit
    reason: str = ""
    limit: str = ""  # the rule that bound the row
    channel: str = ""
    sign: str = ""  # what happens to the channel
    column: str = ""  # a category of the log
    value: str = ""
    order: str = "money"
    up: bool = False  # the smallest first
    after: int | None = None  # the row that the page before ended with
    before: int | None = None  # the row that the page after begins with
    size: int = SIZES[0]

    @classmethod
    def read(cls, given: Mapping[str, str], columns: Sequence[str]) -> "RowSelection":
        """Read an address; a filter that does not exist is refused."""
        known = {name: given.get(name, "")[:LONGEST] for name in TEXTS}
        for name, choices in (("reason", REASONS), ("sign", SIGNS)):
            if known[name]:
                check_known(f"`{name}`", known[name], tuple(choices), "the address")
        order = given.get("order") or "money"
        check_known("`order`", order, tuple(ORDERS), "the address")
        if known["column"]:
            check_known("`column`", known["column"], tuple(columns), "the address")
        return cls(
            **known,
            order=order,
            up=given.get("up") == "1",
            after=_number(given, "after"),
            before=_number(given, "before"),
            size=_number(given, "size") or SIZES[0],
        )

    def __post_init__(self) -> None:
        if not 1 <= self.size <= SIZES[-1]:
            raise ConfigError(
                f"Expected `size` in the address from 1 to {SIZES[-1]}, got {self.size}."
            )

    @property
    def filtered(self) -> bool:
        """Whether any filter is set."""
        return any(getattr(self, name) for name in TEXTS)

    def at(self, **changes: Any) -> "RowSelection":
        """The same selection elsewhere."""
        return replace(self, **changes)

    def address(self, **changes: Any) -> str:
        """The same selection with changes, as the part of an address after the question mark."""
        values = vars(self.at(**changes))
        given = {name: values[name] for name in TEXTS if values[name]}
        if values["order"] != "money":
            given["order"] = values["order"]
        if values["up"]:
            given["up"] = "1"
        if values["size"] != SIZES[0]:
            given["size"] = values["size"]
        for name in ("after", "before"):
            if values[name] is not None:
                given[name] = values[name]
        return urlencode(given)


TEXTS = ("prefix", "reason", "limit", "channel", "sign", "column", "value")


def _number(given: Mapping[str, str], name: str) -> int | None:
    text = given.get(name, "")
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 12):
        raise ConfigError(
            f"Expected a whole number as `{name}` in the address, got {text[:40]!r}."
        )
    return int(text)
