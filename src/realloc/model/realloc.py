"""ReAlloc: the model that users hold. `fit` is the first round of Algorithm 1, `update` every later one."""

from dataclasses import replace
from os import PathLike
from typing import Any, Self

import numpy as np

from realloc.base.errors import LogError
from realloc.base.progress import Progress, guarded, show_progress
from realloc.base.simplex import Floats
from realloc.decide.config import DecisionConfig
from realloc.decide.constraints.constraints import Constraints
from realloc.decide.types import Decision, recommend
from realloc.logs import Logs, Schema, read_logs
from realloc.logs.checks.check import check_logs
from realloc.logs.reading.wanted import read_shares
from realloc.model.churn import Churn, compare_fields
from realloc.model.config import Config
from realloc.model.explain import Explanation, explain_unit
from realloc.model.files import read_model, write_model
from realloc.model.recommend import recommend_rows
from realloc.model.request import read_constraints, read_today
from realloc.model.round import RoundState, run_round


class ReAlloc:
    """Learn the value of moving budget between channels; `fit` is the first round, `update` every later one."""

    def __init__(
        self, config: Config | None = None, schema: Schema | None = None, quiet: bool = False
    ) -> None:
        self.config, self.schema, self.quiet = config or Config(), schema, quiet
        self.asked = schema  # what a further `fit` reads with; `schema` also holds the features that were chosen
        self.state: RoundState | None = None
        self.churn: Churn | None = None

    def fit(
        self, logs: Any, weights: Floats | None = None, progress: Progress | None = None
    ) -> Self:
        """Learn from a first window: logs, or a frame or path where `schema` was given."""
        window = self._read(logs, weights, self.asked or self.schema)
        state = self._round(None, window, weights, progress)
        self.schema, self.state, self.churn = window.pinned_schema, state, None
        return self

    def update(
        self,
        window: Any,
        weights: Floats | None = None,
        progress: Progress | None = None,
        churn: bool = False,
    ) -> Self:
        """One more round. With `churn` the round runs twice, to tell new data from refit noise (see `.churn`)."""
        former, rows = self.fitted, self._read(window, weights, self.schema)
        state = self._round(former, rows, weights, progress)
        again = (
            self._round(former, rows, weights, progress, self.config.seed + 1) if churn else None
        )
        fields = [s.field(rows).mean(axis=0) for s in (former, state, again) if s is not None]
        self.state, self.churn = state, compare_fields(*fields)
        return self

    def field(self, today: Any, members: bool = False) -> Floats:
        """Projected marginal utility per channel at the current shares, (n, K); of each member, (M, n, K)."""
        state = self.fitted
        logs, order = read_today(today, self.known_schema)
        found = state.field(logs)[:, order]
        return found if members else found.mean(axis=0)

    def gain(self, today: Any, to: Any, members: bool = False) -> Floats:
        """What moving each row to the shares `to` (n, K) is worth, (n,); of each member, (M, n)."""
        state = self.fitted
        logs, order = read_today(today, self.known_schema)
        wanted = read_shares(to, self.known_schema.channels, len(logs))
        found = state.gain(logs, wanted[np.argsort(order)])[:, order]
        return found if members else found.mean(axis=0)

    def recommend(
        self, today: Any, constraints: Any = None, pools: dict[str, float] | None = None
    ) -> Any:
        """One row of advice per row of `today`: shares and money, gain and its lower bound, support, and why.

        `constraints`: a `Constraints` or a mapping with its keys, instead of the config's. `pools`: most money per channel
        over all rows.
        """
        state, wanted = self.fitted, read_constraints(constraints, self.config)

        def decide(logs: Logs) -> Decision:
            with show_progress(self.quiet) as shown:
                return recommend_rows(state, logs, self.config, wanted, pools, shown)

        return recommend(decide, today, self.known_schema, self.config.money_digits)

    def explain(self, today: Any, unit: Any, constraints: Any = None) -> Explanation:
        """Why one unit of `today` is moved or kept: step by step, with the evidence."""
        logs, wanted = (
            read_today(today, self.known_schema)[0],
            read_constraints(constraints, self.config),
        )
        return explain_unit(self.fitted, logs, unit, self.config, wanted)

    def decide_with(self, decision: DecisionConfig, constraints: Constraints) -> Self:
        """The same model with other rules of decision; what it learned stays."""
        self.config = replace(self.config, decision=decision, constraints=constraints)
        return self

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to a folder, whole or not at all."""
        write_model(path, self.fitted, self.config, self.known_schema)

    def _round(
        self,
        former: RoundState | None,
        window: Logs,
        weights: Floats | None,
        progress: Progress | None,
        seed: int | None = None,
    ) -> RoundState:
        check_logs(window, self.config.check).require()
        seed = self.config.seed if seed is None else seed
        if progress is not None:
            return run_round(former, window, self.config, seed, weights, guarded(progress))
        with show_progress(self.quiet) as shown:
            return run_round(former, window, self.config, seed, weights, shown)

    def _read(self, source: Any, weights: Floats | None, schema: Schema | None) -> Logs:
        if isinstance(source, Logs):
            return source
        if weights is not None:
            raise LogError(
                f"Expected logs (from `read_logs`) together with `weights`, got {type(source).__name__}: reading sorts rows "
                "and sets some aside, so weights in the order of a frame would belong to others."
            )
        if schema is None:
            raise LogError(
                f"Expected logs (from `read_logs`), or `ReAlloc(schema=...)` to read them, got {type(source).__name__}."
            )
        return read_logs(source, schema)

    @property
    def fitted(self) -> RoundState:
        """What was learned so far."""
        if self.state is None:
            raise LogError("Expected a fitted model, but `fit` was not called yet.")
        return self.state

    @property
    def known_schema(self) -> Schema:
        """The schema that later rows are read with."""
        if self.schema is None:
            raise LogError("Expected a fitted model, but `fit` was not called yet.")
        return self.schema


def load(path: str | PathLike[str]) -> ReAlloc:
    """The model that `save` wrote; refused if a single byte has changed since."""
    state, config, schema = read_model(path)
    model = ReAlloc(config, schema)
    model.state = state
    return model
