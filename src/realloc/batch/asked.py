"""What a run was asked to do, in plain values that another process can be handed, and the decider that follows from it."""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from realloc.base.errors import ArtifactError, StoreError
from realloc.base.progress import Progress, silent
from realloc.base.validation import from_table
from realloc.batch.score import Decider
from realloc.decide.config import DecisionConfig
from realloc.decide.constraints.constraints import Constraints
from realloc.decide.types import Decision, keep
from realloc.logs import Logs, Schema
from realloc.model.config import Config
from realloc.model.publish_limits import PublishLimits
from realloc.serve.canary import check
from realloc.serve.scorer import open_model, settings_of
from realloc.storage.store import Store, Version
from realloc.storage.store.frozen import REASON, newest_record
from realloc.storage.store.versions import MODEL, check_model


@dataclass(frozen=True)
class Asked:
    """Which version of which store answers, by which rules."""

    store: Path
    version: int | None  # None: the store is frozen, so no model answers
    decision: DecisionConfig | None = None  # None: as it was fitted
    constraints: Constraints | None = None
    frozen: bool = False
    allow_network: bool = False


@dataclass(frozen=True)
class Opened:
    """A decider, and what a run has to know about it."""

    decider: Decider
    record: Version
    settings: dict[
        str, Any
    ]  # everything about decisions that could be set, for the key and the log
    limits: PublishLimits
    state: Any = None  # what a model has learned; None: frozen
    config: Config | None = None

    @property
    def together(self) -> bool:
        """Whether a rule looks at all rows at once."""
        return self.config is not None and self.config.constraints.largest_move_per_day is not None

    @property
    def remembers(self) -> bool:
        """Whether a row's state looks back at earlier rows of its unit."""
        return self.state is not None and self.state.encoder.history is not None

    def decide(
        self, logs: Logs, pools: dict[str, float] | None = None, progress: Progress = silent
    ) -> Decision:
        """The answers to rows, with caps over all of them."""
        if self.state is None or self.config is None:
            return keep(logs, REASON)
        return _decide(self.state, self.config, logs, pools, progress)


def open_asked(asked: Asked) -> Opened:
    """Load what was asked for; where the store is frozen, no model."""
    store = Store(asked.store, allow_network=asked.allow_network)
    return _frozen(store) if asked.frozen else _model(store, asked)


def _frozen(store: Store) -> Opened:
    record = newest_record(store.path)
    schema = from_table(Schema, record.schema, "the version's record")
    decider = Decider(schema, partial(keep, reason=REASON), record.money_digits, None, None)
    return Opened(decider, record, {"frozen": True}, PublishLimits())


def _model(store: Store, asked: Asked) -> Opened:
    state, config, schema, record = _fetch(store, asked.version)
    if asked.decision is not None and asked.constraints is not None:
        config = replace(config, decision=asked.decision, constraints=asked.constraints)
    states = record.fingerprint["states"]
    decide = partial(_decide, state, config)
    decider = Decider(schema, decide, config.money_digits, state.support.config.level, states)
    return Opened(decider, record, settings_of(config), config.publish, state, config)


def _fetch(store: Store, number: int | None) -> tuple[Any, Config, Schema, Version]:
    """A version, checked to the last byte and by its canary: the scorer of the service, so that both decide alike.

    A model that cannot be served (a student of the plain form, dropout) is asked itself; then answers may differ in the last
    digits with the rows they are asked together with, which a fixed cut keeps the same from run to run.
    """
    try:
        kept = store.kept(number)
        check_model(kept)
        scorer = open_model(kept.folder / MODEL)
        check(scorer, kept.canary)
        return scorer.state, scorer.config, scorer.schema, kept.version
    except (ArtifactError, StoreError):
        model = store.load(number)  # says what is wrong, or can be asked
        return model.fitted, model.config, model.known_schema, store.kept(number).version


def _decide(
    state: Any,
    config: Config,
    logs: Logs,
    pools: dict[str, float] | None = None,
    progress: Progress = silent,
) -> Decision:
    from realloc.model.recommend import recommend_rows

    return recommend_rows(state, logs, config, config.constraints, pools, progress)


def with_rules(asked: Asked, config: Config | None) -> Asked:
    """The same with the rules of another config."""
    return (
        asked
        if config is None
        else replace(asked, decision=config.decision, constraints=config.constraints)
    )
