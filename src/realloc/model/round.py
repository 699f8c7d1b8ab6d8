"""Algorithm 1 as one function: what a round does, and what it hands to the next."""

import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from realloc.base.errors import ConfigError, LogError
from realloc.base.progress import Progress
from realloc.base.simplex import Floats
from realloc.learn.features.encode import Encoder, fit_encoder
from realloc.learn.memory.buffer import may_stay, remember
from realloc.learn.memory.moves import Labels, label_moves
from realloc.learn.nuisances.config import MODELS
from realloc.learn.nuisances.crossfit import Nuisances, cross_fit
from realloc.learn.nuisances.diagnostics import Diagnostics
from realloc.learn.student import Potential
from realloc.learn.student.distill import distill
from realloc.learn.support import Support, fit_support, remember_logged
from realloc.learn.teacher.committee import CommitteeWeights
from realloc.learn.teacher.config import SURFACES
from realloc.learn.teacher.covariance import Doubt
from realloc.learn.teacher.fit import KernelStart, SurfaceConfigs, Teacher, fit_teacher
from realloc.learn.teacher.repeated_mixes import Places, fit_places
from realloc.learn.window import Window
from realloc.logs import Logs, unit_folds
from realloc.model.config import Config

LEAST_ROWS, LEAST_UNITS = 50, 10
LEAST_LONG, BLOCKS, BLOCK_ROWS = (
    5,
    30,
    30,
)  # fewer units than LEAST_UNITS: so many, cut into blocks of so many rows


@dataclass(frozen=True)
class Learned:
    """What is known about one outcome."""

    replay: Labels
    student: Potential
    nuisances: Diagnostics  # of the last window
    weighing: CommitteeWeights  # of the last teacher's surfaces
    doubt: Doubt | None  # how far gains may be off, by the last teacher
    places: Places | None = None  # what repeated mixes of the last window say beyond the student


@dataclass(frozen=True)
class RoundState:
    """Everything that one round hands to the next; its size does not grow with the number of rounds."""

    encoder: Encoder
    outcomes: dict[str, Learned]  # the outcome first, then its guardrails
    support: Support
    rounds: int

    @property
    def main(self) -> Learned:
        """Of the outcome itself."""
        return next(iter(self.outcomes.values()))

    def field(self, logs: Logs) -> Floats:
        """The student's field at the log's own shares, of every member: (M, n, K)."""
        return self.main.student.field(self.encoder.encode(logs).values, logs.shares[:, None])[
            :, :, 0
        ]

    def gain(self, logs: Logs, to: Floats) -> Floats:
        """The gain of going to the shares `to` (n, K), by every member: (M, n)."""
        found = self.main.student.gain(self.encoder.encode(logs).values, logs.shares, to)
        places = self.main.places
        return (
            found
            if places is None
            else found + places.gain(np.array(logs.shares), to[:, None])[:, 0]
        )


def run_round(
    state: RoundState | None,
    window: Logs,
    config: Config,
    seed: int,
    weights: Floats | None,
    progress: Progress,
    learner: "Learner | None" = None,
) -> RoundState:
    """One update round (Algorithm 1): fast teacher on the window, slow student through the replay, support.

    `learner` in the place of `learn` makes another method that differs in Stages I and II alone.
    """
    check_same(state, window, config)
    rounds = 0 if state is None else state.rounds
    encoder = fit_encoder(window, config.features) if state is None else state.encoder
    rows = open_window(window, encoder, config, seed, weights)
    outcomes = {
        name: (learner or learn)(
            None if state is None else state.outcomes[name],
            own,
            config,
            rounds,
            outcome_seed,
            progress,
        )
        for name, own, outcome_seed in each_outcome(window, rows, seed)
    }

    # Stage III: where the logs hold evidence
    former = None if state is None else state.support.logged
    logged = remember_logged(
        former, window, rows.x, rounds, config.support.rows, draw(seed, "logged", rounds)
    )
    support = fit_support(logged, config.support, draw(seed, "support", rounds), progress)
    return RoundState(encoder.remember(window), outcomes, support, rounds + 1)


def learn(
    former: Learned | None, rows: Window, config: Config, rounds: int, seed: int, progress: Progress
) -> Learned:
    """Stages I and II for one outcome."""
    asked, config = config.teacher.surfaces, for_size(config, len(rows.x))
    nuisances, teacher = teach(former, rows, config, rounds, seed, progress)

    # Stage II: slow student
    known = None if former is None else former.replay
    stays = partial(may_stay, known, config.memory.capacity)
    labels = label_moves(
        teacher, rows, config.moves, rounds, draw(seed, "moves", rounds), progress, stays
    )
    replay = remember(known, labels, config.memory.capacity)
    student = None if former is None else former.student
    student = distill(
        replay, teacher.scaling, student, config.student, draw(seed, "student", rounds), progress
    )
    weighing = of_all(teacher.weighing, config.teacher.surfaces, asked)
    places = repeated_places(student, rows, nuisances)
    return Learned(replay, student, nuisances.diagnostics, weighing, teacher.doubt, places)


Learner = Callable[[Learned | None, Window, Config, int, int, Progress], Learned]


def teach(
    former: Learned | None, rows: Window, config: Config, rounds: int, seed: int, progress: Progress
) -> tuple[Nuisances, Teacher]:
    """Stage I: the fast orthogonal teacher of one window."""
    nuisances = cross_fit(
        rows.x,
        rows.shares,
        rows.outcome,
        rows.folds,
        config.nuisances,
        draw(seed, "nuisances", rounds),
        rows.weights,
        progress,
    )
    surfaces = SurfaceConfigs(kernel=config.kernel, network=config.network, factual=config.factual)
    start = (
        KernelStart(former.doubt.kernel)
        if former is not None and former.doubt is not None
        else None
    )
    seed = draw(seed, "teacher", rounds)
    return nuisances, fit_teacher(rows, nuisances, config.teacher, surfaces, seed, progress, start)


def repeated_places(student: Potential, rows: Window, nuisances: Nuisances) -> Places | None:
    """What mixes that several units repeat are worth beyond the student."""
    owners = rows.units if rows.owners is None else rows.owners
    return fit_places(rows.shares, owners, rows.weights, lambda: beyond(student, rows, nuisances))


def of_all(
    weighing: CommitteeWeights, fitted: tuple[str, ...], asked: tuple[str, ...]
) -> CommitteeWeights:
    """The same for every surface that was asked for: those not fitted have no weight, and the error of nothing."""
    weights, alone = (
        dict(zip(fitted, part, strict=True)) for part in (weighing.weights, weighing.alone)
    )
    return replace(
        weighing,
        weights=tuple(weights.get(name, 0.0) for name in asked),
        alone=tuple(alone.get(name, weighing.nothing) for name in asked),
    )


def beyond(student: Potential, rows: Window, nuisances: Nuisances) -> Floats:
    """What the student leaves unexplained, y − m̂ − [s(p) − s(ê)], without the folds' offsets: (n,).

    m̂ − s(ê) + s(p̄) is a function of the state, but every fold's models place it a little higher or lower. Readings of two
    mixes in two folds would differ by that; a regression on the state with one constant per fold finds it.
    """
    usual = np.tile(np.average(rows.shares, axis=0, weights=rows.weights), (len(rows.x), 1))
    baseline = nuisances.outcome - student.gain(rows.x, usual, nuisances.shares).mean(axis=0)
    fold = np.eye(int(rows.folds.max()) + 1)[rows.folds]
    offset = np.linalg.lstsq(np.hstack([fold, rows.x.astype(np.float64)]), baseline)[0][
        : fold.shape[1]
    ]
    level = baseline - (fold - fold.mean(axis=0)) @ offset
    return rows.outcome - level - student.gain(rows.x, usual, rows.shares).mean(axis=0)


def for_size(config: Config, rows: int) -> Config:
    """Few rows teach neither networks nor trees: the kernel surface and ridge nuisances alone, unless others were chosen."""
    if rows >= config.teacher.few_rows:
        return config
    surfaces = ("kernel",) if config.teacher.surfaces == SURFACES else config.teacher.surfaces
    models = ("ridge",) if config.nuisances.models == MODELS else config.nuisances.models
    return replace(
        config,
        teacher=replace(config.teacher, surfaces=surfaces),
        nuisances=replace(config.nuisances, models=models),
    )


def each_outcome(window: Logs, rows: Window, seed: int) -> list[tuple[str, Window, int]]:
    """The outcome and every guardrail: name, rows with that outcome, and a seed of its own."""
    schema = window.schema
    found = [(schema.outcome, rows, seed)]
    for name in schema.guardrails:
        found.append(
            (name, replace(rows, outcome=np.array(window.guardrail(name))), draw(seed, name, 0))
        )
    return found


def check_same(state: RoundState | None, window: Logs, config: Config) -> None:
    """What a later round cannot change: the shapes of what is remembered."""
    if state is None:
        return
    if not len(state.main.replay):
        raise ConfigError(
            "Expected a model with its replay to learn further, got an exported one, which only answers. "
            "Update the store that it came from, and export again."
        )
    members, places = state.main.student.members, state.main.replay.shares.shape[1]
    if (members, places) != (config.teacher.members, config.moves.places):
        raise ConfigError(
            f"Expected {members} `members` in [teacher] and {places} `places` in [moves], as in the first round, "
            f"got {config.teacher.members} and {config.moves.places}. Fit a new model to change them."
        )
    named = [window.schema.outcome, *window.schema.guardrails]
    if named != list(state.outcomes):
        raise ConfigError(
            f"Expected the outcome and guardrails {list(state.outcomes)} as in the first round, got {named}. "
            "Fit a new model to change them."
        )


def open_window(
    logs: Logs, encoder: Encoder, config: Config, seed: int, weights: Floats | None
) -> Window:
    """Encode a log that is large enough to learn from."""
    units, folds = set_apart(logs, config.nuisances.folds, seed)
    weights = np.ones(len(logs)) if weights is None else check_weights(weights, len(logs))
    return Window(
        x=encoder.encode(logs).values,
        shares=np.array(logs.shares),
        outcome=np.array(logs.outcome),
        folds=folds,
        units=units,
        owners=logs.unit_codes,
        weights=weights / weights.mean(),
    )


def set_apart(
    logs: Logs, folds: int, seed: int
) -> tuple[NDArray[np.integer[Any]], NDArray[np.int64]]:
    """What counts as independent (n,), and its fold (n,): units, or blocks of time where a few units have long histories."""
    least = max(LEAST_UNITS, folds)
    if len(logs) >= LEAST_ROWS and logs.unit_count >= least:
        return logs.unit_codes, unit_folds(logs, folds, seed)
    blocks = cut_blocks(logs)
    count = int(blocks.max(initial=-1)) + 1
    if logs.unit_count < min(LEAST_LONG, least) or len(logs) < LEAST_ROWS or count < least:
        raise LogError(
            f"Expected at least {LEAST_ROWS} rows of {least} units to learn from, got {len(logs)} rows of "
            f"{logs.unit_count}. Use a longer window."
        )
    rank = np.random.default_rng(draw(seed, "blocks", 0)).permutation(count)
    return blocks, (rank % folds)[blocks]


def cut_blocks(logs: Logs) -> NDArray[np.int64]:
    """A block number per row: every unit's history in up to BLOCKS / units equal parts, none below BLOCK_ROWS if it can be."""
    blocks, first = np.zeros(len(logs), np.int64), 0
    for unit in np.unique(logs.unit_codes):
        rows = np.flatnonzero(logs.unit_codes == unit)
        rows = rows[np.argsort(logs.times[rows], kind="stable")]
        parts = max(1, min(-(-BLOCKS // logs.unit_count), len(rows) // BLOCK_ROWS))
        blocks[rows] = first + np.arange(len(rows)) * parts // len(rows)
        first += parts
    return blocks


def check_weights(weights: Any, rows: int) -> Floats:
    """One weight a row, or a sentence."""
    try:
        found = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        found = np.empty(0)
    if (
        found.shape != (rows,)
        or not np.all(np.isfinite(found))
        or found.min() < 0
        or found.sum() == 0
    ):
        raise LogError(
            f"Expected one finite weight of at least 0 for each of the {rows} rows, not all of them 0."
        )
    return found


def draw(seed: int, stage: str, rounds: int) -> int:
    """A stage's own seed, by name: adding a stage never shifts another's draws."""
    return int(
        np.random.SeedSequence([seed, zlib.crc32(stage.encode()), rounds]).generate_state(1)[0] >> 1
    )
