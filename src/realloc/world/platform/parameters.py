"""Every number the marketplace is made of, in one value that is also its file format."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, is_dataclass
from datetime import date
from typing import Any, get_type_hints

from realloc.base.errors import ConfigError
from realloc.base.validation import check_types, from_table
from realloc.world.platform.catalogue import CatalogueParameters
from realloc.world.platform.demand import BudgetParameters
from realloc.world.platform.exploration import ExplorationParameters
from realloc.world.platform.items import ItemParameters
from realloc.world.platform.legacy import LegacyParameters
from realloc.world.platform.response import ResponseParameters


@dataclass(frozen=True, kw_only=True)
class MarketplaceParameters:
    """All parameters of the marketplace, one group per file of this folder.

    `docs/platform.md` says why each value.

    >>> MarketplaceParameters(exploration=ExplorationParameters(hold=0.2)).exploration.hold
    0.2
    """

    first_day: str = "2026-01-05"
    catalogue: CatalogueParameters = field(default_factory=CatalogueParameters)
    items: ItemParameters = field(default_factory=ItemParameters)
    budgets: BudgetParameters = field(default_factory=BudgetParameters)
    response: ResponseParameters = field(default_factory=ResponseParameters)
    legacy: LegacyParameters = field(default_factory=LegacyParameters)
    exploration: ExplorationParameters = field(default_factory=ExplorationParameters)

    def __post_init__(self) -> None:
        check_types(self, "the marketplace")
        try:
            date.fromisoformat(self.first_day)
        except ValueError as problem:
            raise ConfigError(
                f"Expected first_day as YYYY-MM-DD, got {self.first_day!r}."
            ) from problem

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return json.loads(json.dumps(asdict(self)))

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> "MarketplaceParameters":
        """The inverse of `to_dict`; unknown keys are refused."""
        values = dict(table)
        for name, part in get_type_hints(cls).items():
            if name in table and is_dataclass(part) and isinstance(part, type):
                values[name] = from_table(part, table[name], f"[{name}]")
        return from_table(cls, values, "the marketplace")

    @property
    def digest(self) -> str:
        """A fingerprint of all values."""
        content = json.dumps(self.to_dict(), sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()[:16]
