"""Logging: keep every historical allocation."""

from realloc.baselines.fitted import Fitted
from realloc.decide.types import Decision, keep
from realloc.logs import Logs


class Logging(Fitted):
    """The old policy: nothing moves."""

    def learn(self, logs: Logs) -> None:
        """Nothing to learn."""

    def decide(self, logs: Logs) -> Decision:
        """Keep the shares."""
        return keep(logs, "no_gain")
