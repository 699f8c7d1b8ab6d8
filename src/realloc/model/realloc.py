"""ReAlloc: the model that users hold.

`fit` is the first round of Algorithm 1, `update` every later one.
"""

from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from realloc.base.errors import LogError
from realloc.base.numerics.blas import one_blas_thread
from realloc.base.progress import Progress, guarded, show_progress, silent
from realloc.base.simplex import Floats, Integers
from realloc.base.tasks import Engine, LocalEngine
from realloc.decide.columns import check_names
from realloc.decide.config import DecisionConfig
from realloc.decide.constraints.constraints import Constraints
from realloc.decide.types import Decision, recommend
from realloc.draw import PagePiece, Paragraph, Shown
from realloc.logs import Logs, Schema, read_logs
from realloc.logs.checks.check import check_logs
from realloc.logs.plain import PlainLogs
from realloc.logs.reading.wanted import read_shares
from realloc.model.advice import advise
from realloc.model.churn import Churn, compare_fields
from realloc.model.config import Config
from realloc.model.curve import Curve, draw_curve
from realloc.model.effects import effects, like
from realloc.model.experiments import (
    Experiments,
    apply_experiments,
    read_experiments,
)
from realloc.model.explain import Explanation, explain_unit
from realloc.model.files import (
    PICKLED,
    SavedModel,
    pack_model,
    read_model,
    unpack_model,
    write_model,
)
from realloc.model.importance import Importance, importance
from realloc.model.known import Knowledge, what_is_known
from realloc.model.last_window import LastWindow, look_back
from realloc.model.outlook import look_ahead
from realloc.model.plots import ModelPlots
from realloc.model.recommend import (
    OfferedBatch,
    offer_rows,
    recommend_rows,
    take_offers,
)
from realloc.model.request import read_constraints, read_today
from realloc.model.sensitivity import Sensitivity, judge_sensitivity
from realloc.model.state import RoundState
from realloc.model.summary import ModelSummary, known_pieces


class ReAlloc(Shown):
    """Learn the value of moving budget between channels, and recommend moves.

    Deciding needs numpy alone; torch is imported by `fit` and `update`.
    """

    def __init__(
        self,
        config: Config | None = None,
        schema: Schema | None = None,
        quiet: bool = False,
        jobs: int = 1,
    ) -> None:
        """`jobs`: outcomes and the support that a fit learns at the same time, a core each."""
        self.config = config or Config()
        self.engine: Engine = LocalEngine(jobs)
        self.given_schema = schema  # what a further `fit` reads with
        self.schema = schema  # after `fit` also with the features that were chosen
        self.quiet = quiet
        self.state: RoundState | None = None
        self.churn: Churn | None = None
        self.last_window: LastWindow | None = None  # of this process's last round

    def __repr__(self) -> str:
        return f"<ReAlloc {self.known.sentence if self.state else 'not fitted yet'}>"

    def pieces(self) -> list[PagePiece]:
        """What was learned; `summary()` also says what the model would do."""
        if self.state is None:
            return [Paragraph("Not fitted yet: call `fit`.", "missing")]
        text = "What it would do, and what would help: `model.summary(today)`."
        return [*known_pieces(self.known), Paragraph(text, "note")]

    @property
    def plot(self) -> ModelPlots:
        """Figures: `plot.gains()`, `plot.flows(today)`, `plot.reasons(today)`, `plot.unit(…)`."""
        return ModelPlots(self)

    def __copy__(self) -> "ReAlloc":
        """A model of its own; what was learned is shared, since nothing changes it in place."""
        model = ReAlloc()
        vars(model).update(vars(self))
        return model

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles and deep copies hold what `save` writes, and are checked alike."""
        settings = {"given_schema": self.given_schema, "quiet": self.quiet}
        if self.state is None:
            return ReAlloc, (self.config, self.schema), settings
        return _unpickle, (pack_model(PICKLED, self.saved),), settings

    def fit(
        self,
        logs: Any,
        weights: Floats | None = None,
        progress: Progress | None = None,
        experiments: Experiments | None = None,
    ) -> Self:
        """Learn from a first window: logs, or a frame or path where `schema` was given.

        `experiments`: a TOML file with `[[test]]` tables, or values with the same keys, whose
        effects correct the gains.
        """
        tests = () if experiments is None else read_experiments(experiments)
        window = self._read(logs, weights, self.given_schema or self.schema)
        state = self._round(None, window, weights, progress)
        if tests:
            state = apply_experiments(state, window, tests, self.config.decision)
        self.state = state
        self.schema = window.pinned_schema
        self.churn = None
        self.last_window = look_back(window)
        return self

    def update(
        self,
        window: Any,
        weights: Floats | None = None,
        progress: Progress | None = None,
        churn: bool = False,
    ) -> Self:
        """Learn from one more window.

        With `churn` the round runs twice, to tell new data from refit noise (see `.churn`).
        """
        former = self.fitted
        rows = self._read(window, weights, self.schema)
        states = [former, self._round(former, rows, weights, progress)]
        if churn:
            states.append(
                self._round(former, rows, weights, progress, self.config.seed + 1)
            )
        self.churn = compare_fields(*(state.field(rows).mean(axis=0) for state in states))
        self.state = states[1]
        self.last_window = look_back(rows)
        return self

    def field(self, today: Any, members: bool = False) -> Floats:
        """Projected marginal utility per channel at the current shares, (n, K).

        With `members` that of each member, (M, n, K).
        """
        state = self.fitted
        logs, order = read_today(today, self.known_schema)
        fields = state.field(logs)[:, order]
        return fields if members else fields.mean(axis=0)

    def gain(self, today: Any, to: Any, members: bool = False) -> Floats:
        """What moving each row to the shares `to` (n, K) is worth, (n,); of each member, (M, n)."""
        state = self.fitted
        logs, order = read_today(today, self.known_schema)
        ends = read_shares(to, self.known_schema.channels, len(logs))
        gains = state.gain(logs, ends[np.argsort(order)])[:, order]
        return gains if members else gains.mean(axis=0)

    def recommend(
        self, today: Any, constraints: Any = None, pools: dict[str, float] | None = None
    ) -> Any:
        """One row of advice per row of `today`: shares, money, gain, lower bound, support, reason.

        `constraints`: a `Constraints` or a mapping with its keys, instead of the config's. `pools`:
        most money per channel over all rows. Without them no row's answer depends on another's.
        A row may also be a dictionary, and rows a list of them: the quickest way to ask about one.
        """
        state = self.fitted  # or the sentence that says so, before anything is read
        rules = read_constraints(constraints, self.config)

        def decide(logs: Logs) -> Decision:
            if isinstance(logs, PlainLogs):  # a few rows
                return self.decide(logs, rules)
            with show_progress(self.quiet) as progress:
                return self.decide(logs, rules, pools, progress)

        by_itself = not (pools or rules.largest_move_per_day or state.looks_back)
        digits = self.config.money_digits
        return recommend(decide, today, self.known_schema, digits, one_by_one=by_itself)

    def decide(
        self,
        logs: Logs,
        constraints: Constraints | None = None,
        pools: dict[str, float] | None = None,
        progress: Progress = silent,
    ) -> Decision:
        """The decisions on rows that have been read; by default with the config's constraints."""
        constraints = constraints or self.config.constraints
        with one_blas_thread:
            return recommend_rows(
                self.fitted, logs, self.config, constraints, pools, progress
            )

    def offer(self, logs: Logs, pools: dict[str, float]) -> list[OfferedBatch]:
        """What rows that have been read could do, for a choice over more rows than these."""
        with one_blas_thread:
            rules = self.config.constraints
            return list(offer_rows(self.fitted, logs, self.config, rules, pools))

    def take(
        self, logs: Logs, kept: list[dict[str, NDArray[Any]]], option: Integers
    ) -> Decision:
        """The decisions on rows with the offers that were chosen for them."""
        with one_blas_thread:
            rules = self.config.constraints
            return take_offers(self.fitted, logs, self.config, rules, kept, option)

    def explain(self, today: Any, unit: Any, constraints: Any = None) -> Explanation:
        """Why one unit of `today` is moved or kept: step by step, with the evidence."""
        logs, _ = read_today(today, self.known_schema)
        rules = read_constraints(constraints, self.config)
        return explain_unit(self.fitted, logs, unit, self.config, rules)

    def summary(self, today: Any = None) -> ModelSummary:
        """What was learned, what the model would do on `today`, and what would help.

        Without `today` each unit's last row of the last window, or a sample of them, stands for it.
        """
        known = self.known
        window = self.last_window
        logs = window.today if window else None
        if today is not None:
            logs, _ = read_today(today, self.known_schema)
        outlook = None
        if logs:
            single = not self.config.decision.weights
            outlook = look_ahead(logs, self.decide(logs), single)
        return ModelSummary(known, outlook, advise(known, outlook, self.config, window))

    def effects(self, today: Any, by: Sequence[str] = ()) -> Any:
        """What moving one point of the budget (0.01) from one channel to another is worth.

        One row per pair of channels and segment: mean gain per row with its 95 % interval. `by`:
        columns that make the segments, such as a category; without them all rows are one.
        """
        logs, _ = read_today(today, self.known_schema)
        names = (by,) if isinstance(by, str) else tuple(by)
        return like(effects(self.fitted, logs, names, self.config.decision), today)

    def sensitivity(self, today: Any) -> Sensitivity:
        """How strong a cause that nobody recorded would have to be to undo the gain on `today`."""
        logs, _ = read_today(today, self.known_schema)
        return judge_sensitivity(self.decide(logs), self.fitted.main.hidden)

    def importance(self, today: Any) -> Importance:
        """Which features make gains differ between rows, best asked about rows not learned from."""
        logs, _ = read_today(today, self.known_schema)
        return importance(self.fitted, logs, self.config.decision)

    def curve(self, today: Any, unit: Any, channel: str) -> Curve:
        """What other shares of a channel would be worth to a unit, and how far the logs reach.

        The other channels keep their proportions; the unit stands as in its last row of `today`.
        """
        logs, _ = read_today(today, self.known_schema)
        return draw_curve(self.fitted, logs, unit, channel, self.config.decision)

    def decide_with(self, decision: DecisionConfig, constraints: Constraints) -> Self:
        """The same model with other rules of decision; what it learned stays."""
        self.config = replace(self.config, decision=decision, constraints=constraints)
        return self

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to a folder, whole or not at all."""
        write_model(path, self.saved)

    @property
    def saved(self) -> SavedModel:
        """Everything that is saved: what was learned, the config, the schema."""
        return SavedModel(self.fitted, self.config, self.known_schema)

    def _round(
        self,
        former: RoundState | None,
        window: Logs,
        weights: Floats | None,
        progress: Progress | None,
        seed: int | None = None,
    ) -> RoundState:
        check_names(window.schema)
        check_logs(window, self.config.check).require()
        self.config.constraints.check_channels(window.schema.channels)
        seed = self.config.seed if seed is None else seed
        if progress is not None:
            return self._run(former, window, seed, weights, guarded(progress))
        with show_progress(self.quiet) as shown:
            return self._run(former, window, seed, weights, shown)

    def _run(
        self,
        former: RoundState | None,
        window: Logs,
        seed: int,
        weights: Floats | None,
        progress: Progress,
    ) -> RoundState:
        from realloc.model.round import run_round

        return run_round(
            former, window, self.config, seed, weights, progress, engine=self.engine
        )

    def _read(self, source: Any, weights: Floats | None, schema: Schema | None) -> Logs:
        if isinstance(source, Logs):
            return source
        kind = type(source).__name__
        if weights is not None:
            raise LogError(
                f"Expected logs (from `read_logs`) together with `weights`, got {kind}: reading "
                "sorts rows and sets some aside, so weights in the order of a frame would belong "
                "to others."
            )
        if schema is None:
            raise LogError(
                "Expected logs (from `read_logs`), or `ReAlloc(schema=...)` to read them, "
                f"got {kind}."
            )
        return read_logs(source, schema)

    @property
    def known(self) -> Knowledge:
        """What was learned, in a few numbers."""
        channels = self.known_schema.channels
        return what_is_known(self.fitted, channels, self.config.decision, self.last_window)

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
    return open_saved(read_model(path))


def open_saved(saved: SavedModel) -> ReAlloc:
    """A model that answers, from what was saved of it."""
    model = ReAlloc(saved.config, saved.schema)
    model.state = saved.state
    return model


def _unpickle(files: dict[str, bytes]) -> ReAlloc:
    return open_saved(unpack_model(files))
