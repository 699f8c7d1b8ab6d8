"""One way to open a version, for batches, the service, the monitor and the audit."""

import json
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from realloc.base.errors import StoreError
from realloc.base.validation import from_table
from realloc.decide.config import DecisionConfig
from realloc.decide.constraints.constraints import Constraints
from realloc.decide.types import Decision, keep
from realloc.logs import Logs, Schema
from realloc.model.config import Config
from realloc.model.publish_limits import PublishLimits
from realloc.model.realloc import ReAlloc
from realloc.storage.store import Store, Version
from realloc.storage.store.frozen import REASON, newest_record


@dataclass(frozen=True)
class ModelRequest:
    """Which version of which store answers, by which rules: plain values for another process."""

    store: Path
    version: int | None = None  # None: the current one
    decision: DecisionConfig | None = None  # None: as it was fitted
    constraints: Constraints | None = None
    frozen: bool = False
    allow_network: bool = False


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """A version that answers; without a model where the store is frozen: then every mix is kept."""

    record: Version
    schema: Schema
    model: ReAlloc | None

    @property
    def money_digits(self) -> int:
        """Of amounts in answers."""
        return self.model.config.money_digits if self.model else self.record.money_digits

    @cached_property
    def settings(self) -> dict[str, Any]:
        """Everything about decisions that can be set, for the run's key and the decision log."""
        return settings_of(self.model.config) if self.model else {"frozen": True}

    @property
    def limits(self) -> PublishLimits:
        """What may be published."""
        return self.model.config.publish if self.model else PublishLimits()

    @property
    def level(self) -> float | None:
        """The support's coverage level; None where nobody asks the support."""
        return self.model.fitted.support.config.level if self.model else None

    @property
    def states(self) -> dict[str, Any] | None:
        """The summary of the training window; None where no model answers."""
        return self.record.fingerprint["states"] if self.model else None

    @property
    def needs_all_rows(self) -> bool:
        """Whether a rule looks at all rows at once."""
        if self.model is None:
            return False
        return self.model.config.constraints.largest_move_per_day is not None

    @property
    def looks_back(self) -> bool:
        """Whether a row's state depends on earlier rows of its unit."""
        return self.model is not None and self.model.fitted.encoder.history is not None

    @property
    def answering(self) -> ReAlloc:
        """The model; refused where the store is frozen."""
        if self.model is None:
            raise StoreError(
                "Expected a model that may move budget, but the store is frozen."
            )
        return self.model

    def decide(self, logs: Logs, pools: dict[str, float] | None = None) -> Decision:
        """The answers to rows, with caps over all of them."""
        if self.model is None:
            return keep(logs, REASON)
        return self.model.decide(logs, pools=pools)


def load_model(request: ModelRequest) -> LoadedModel:
    """Open what was requested; where the store is frozen, no model."""
    store = Store(request.store, allow_network=request.allow_network)
    if request.frozen:
        record = newest_record(store.path)
        return LoadedModel(
            record, from_table(Schema, record.schema, "the version's record"), None
        )
    model, record = store.open(request.version)
    if request.decision is not None and request.constraints is not None:
        model.decide_with(request.decision, request.constraints)
    return LoadedModel(record, model.known_schema, model)


def settings_of(config: Config) -> dict[str, Any]:
    """The tables that decide, as plain values for the decision log, as JSON gives them back."""
    settings = {
        "decision": asdict(config.decision),
        "constraints": asdict(config.constraints),
        "money_digits": config.money_digits,
        "seed": config.seed,
    }
    return json.loads(json.dumps(settings))
