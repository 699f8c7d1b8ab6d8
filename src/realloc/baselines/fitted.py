"""What all baselines share: keep the schema, refuse to recommend before a fit, then answer."""

from abc import ABC, abstractmethod
from typing import Any, Self

from realloc.base.errors import LogError
from realloc.decide.types import Decision, recommend
from realloc.logs import Logs, Schema


class Fitted(ABC):
    """A policy whose `decide` looks at logs without outcomes."""

    schema: Schema | None = None

    def fit(self, logs: Logs) -> Self:
        """Learn from logs that pass the check."""
        if not isinstance(logs, Logs):
            raise LogError(
                f"Expected logs (from `read_logs`) to fit on, got {type(logs).__name__}."
            )
        logs.check().require()
        self.schema = logs.pinned_schema
        self.learn(logs)
        return self

    def recommend(self, frame: Any) -> Any:
        """One row of advice per row of `frame`."""
        if self.schema is None:
            raise LogError("Expected a fitted policy, but `fit` was not called yet.")
        return recommend(self.decide, frame, self.schema)

    @abstractmethod
    def learn(self, logs: Logs) -> None:
        """Keep what `decide` needs."""

    @abstractmethod
    def decide(self, logs: Logs) -> Decision:
        """Decide for every row."""
