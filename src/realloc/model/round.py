"""Algorithm 1 as one function: what a round does, and what it hands to the next."""

import zlib
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch

from realloc.base.errors import ConfigError, LogError
from realloc.base.numerics.blas import one_blas_thread
from realloc.base.progress import Progress, silent
from realloc.base.simplex import Floats, Integers, Rows
from realloc.base.tasks import Engine, LocalEngine
from realloc.decide.model import GainModel
from realloc.learn.features.encode import Encoder, fit_encoder
from realloc.learn.hidden_cause import HiddenCauses, measure_hidden
from realloc.learn.level import fit_level
from realloc.learn.memory.buffer import may_stay, remember
from realloc.learn.memory.moves import label_moves
from realloc.learn.nuisances.config import MODELS
from realloc.learn.nuisances.crossfit import Nuisances, cross_fit
from realloc.learn.periods import period_effects, without_periods
from realloc.learn.student.distill import distill
from realloc.learn.student.potential import Potential
from realloc.learn.support.logged import remember_logged
from realloc.learn.support.support import fit_support
from realloc.learn.teacher.committee import CommitteeWeights
from realloc.learn.teacher.config import SURFACES
from realloc.learn.teacher.fit import KernelStart, SurfaceConfigs, Teacher, fit_teacher
from realloc.learn.teacher.posterior import to_kernel
from realloc.learn.teacher.repeated_mixes import RepeatedMixes, fit_mixes
from realloc.learn.window import Window
from realloc.logs import Logs, unit_folds
from realloc.logs.split import LEAST_LONG, LEAST_UNITS, cut_blocks
from realloc.model.config import Config
from realloc.model.state import Learned, RoundState

ALONE = LocalEngine()
LEAST_ROWS = 50


def run_round(
    state: RoundState | None,
    window: Logs,
    config: Config,
    seed: int,
    weights: Floats | None,
    progress: Progress,
    learner: "Learner | None" = None,
    engine: Engine = ALONE,
) -> RoundState:
    """One update round (Algorithm 1).

    Fast teacher on the window, slow student through the memory, support.

    `learner` in the place of `learn` makes another method that differs in Stages I and II alone.
    Outcomes and the support are tasks of the `engine`.
    """
    check_same(state, window, config)
    rounds = 0 if state is None else state.rounds
    encoder = fit_encoder(window, config.features) if state is None else state.encoder
    rows = open_window(window, encoder, config, seed, weights)
    names: list[str] = []
    tasks: list[Callable[[Progress], Any]] = []
    for name, own, outcome_seed in each_outcome(window, rows, seed):
        former = None if state is None else state.outcomes[name]
        names.append(name)
        tasks.append(partial(learner or learn, former, own, config, rounds, outcome_seed))

    # Stage III: where the logs hold evidence
    remembered = None if state is None else state.support.logged
    logged = remember_logged(
        remembered,
        window,
        rows.x,
        rounds,
        config.support.rows,
        draw(seed, "logged", rounds),
    )
    support_seed = draw(seed, "support", rounds)
    tasks.append(partial(fit_support, logged, config.support, support_seed))
    threads = torch.get_num_threads()
    try:
        *learned, support = engine.map(_on_one_thread, None, tasks, progress)
    finally:
        torch.set_num_threads(threads)
    outcomes = dict(zip(names, learned, strict=True))
    return RoundState(encoder.remember(window), outcomes, support, rounds + 1)


def _on_one_thread(_: None, task: Callable[[Progress], Any], progress: Progress) -> Any:
    """Run a task: products are small, and threads that wait for each other only cost CPU."""
    torch.set_num_threads(1)
    with one_blas_thread:
        return task(progress)


def learn(
    former: Learned | None,
    rows: Window,
    config: Config,
    rounds: int,
    seed: int,
    progress: Progress,
) -> Learned:
    """Stages I and II for one outcome."""
    surfaces = config.teacher.surfaces
    config = for_size(config, len(rows.x))
    level = None if former is None else former.level
    if former is None and config.nuisances.level:
        level = fit_level(rows, draw(seed, "level", 0))
    size = np.ones(len(rows.x)) if level is None else level(rows.x)
    rows = replace(rows, outcome=rows.outcome / size)
    if config.nuisances.takes_off_periods:
        rows = without_periods(rows)
    start = None
    if former is not None and former.covariance is not None:
        start = KernelStart(to_kernel(former.covariance))
    nuisances, teacher = teach(rows, config, rounds, seed, progress, start)

    # Stage II: slow student
    memory = None if former is None else former.memory
    stays = partial(may_stay, memory, config.memory.capacity)
    move_seed = draw(seed, "moves", rounds)
    labels = label_moves(teacher, rows, config.moves, rounds, move_seed, progress, stays)
    tested = None if former is None else former.tested
    if tested is not None:
        labels = tested.correct_labels(labels)
    memory = remember(memory, labels, config.memory.capacity)
    student = former.student if former is not None else None
    student = distill(
        memory,
        teacher.scaling.numpy(),
        student if isinstance(student, Potential) else None,
        config.student,
        draw(seed, "student", rounds),
        progress,
    )
    covariance = teacher.covariance
    return Learned(
        memory=memory,
        student=replace(student, level=level),
        nuisances=nuisances.diagnostics,
        committee=of_all(teacher.weighing, config.teacher.surfaces, surfaces),
        covariance=None if covariance is None else replace(covariance, level=level),
        mixes=repeated_mixes(student, rows, nuisances, size),
        level=level,
        hidden=hidden_causes(rows, nuisances, teacher, size),
        tested=tested,
    )


def hidden_causes(
    rows: Window, nuisances: Nuisances, teacher: Teacher, size: Floats
) -> HiddenCauses:
    """What a hidden cause could do, by what held-out rows leave unexplained."""
    left = teacher.weighing.together**0.5 * teacher.scaling.outcome
    return measure_hidden(rows, nuisances.shares, left, size)


Learner = Callable[[Learned | None, Window, Config, int, int, Progress], Learned]


def teach(
    rows: Window,
    config: Config,
    rounds: int,
    seed: int,
    progress: Progress = silent,
    start: KernelStart | None = None,
) -> tuple[Nuisances, Teacher]:
    """Stage I: the fast orthogonal teacher of one window, which may go on from a former one."""
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
    if config.nuisances.periods:
        shift = period_effects(
            rows.x, rows.shares - nuisances.shares, rows.periods, rows.weights
        )
        usual = np.maximum(nuisances.shares + shift, 0.0)
        nuisances = replace(nuisances, shares=usual / usual.sum(axis=1, keepdims=True))
    surfaces = SurfaceConfigs(
        kernel=config.kernel, network=config.network, factual=config.factual
    )
    seed = draw(seed, "teacher", rounds)
    return nuisances, fit_teacher(
        rows, nuisances, config.teacher, surfaces, seed, progress, start
    )


def repeated_mixes(
    student: GainModel, rows: Window, nuisances: Nuisances, size: Floats | float = 1.0
) -> RepeatedMixes | None:
    """What mixes that several units repeat are worth beyond the student; rows are relative to
    their `size`.
    """
    owners = rows.units if rows.owners is None else rows.owners
    return fit_mixes(
        rows.shares, owners, rows.weights, lambda: size * beyond(student, rows, nuisances)
    )


def of_all(
    committee: CommitteeWeights, fitted: tuple[str, ...], configured: tuple[str, ...]
) -> CommitteeWeights:
    """The same for every configured surface.

    One that was not fitted has no weight, and the error of nothing.
    """
    present = [name for name in fitted if name not in committee.failed]
    weights = dict(zip(present, committee.weights, strict=True))
    alone = dict(zip(present, committee.alone, strict=True))
    slopes = dict(zip(present, committee.slopes, strict=True))
    return replace(
        committee,
        weights=tuple(weights.get(name, 0.0) for name in configured),
        alone=tuple(alone.get(name, committee.nothing) for name in configured),
        slopes=tuple(slopes.get(name, 0.0) for name in configured),
    )


def beyond(student: GainModel, rows: Window, nuisances: Nuisances) -> Floats:
    """What the student leaves unexplained, y − m̂ − [s(p) − s(ê)], without the folds' offsets.

    m̂ − s(ê) + s(p̄) is a function of the state, but every fold's models place it a little higher
    or lower. Readings of two mixes in two folds would differ by that; a regression on the state
    with one constant per fold finds it.
    """
    usual = np.tile(np.average(rows.shares, axis=0, weights=rows.weights), (len(rows.x), 1))
    every = np.arange(len(rows.x))
    ends = np.stack([nuisances.shares, rows.shares], axis=1)
    gains = student.read(rows.x).mean_gain(every, usual, ends)  # (n, 2)
    baseline = nuisances.outcome - gains[:, 0]
    fold = np.eye(int(rows.folds.max()) + 1)[rows.folds]
    design = np.hstack([fold, rows.x.astype(np.float64)])
    offset = np.linalg.lstsq(design, baseline)[0][: fold.shape[1]]
    level = baseline - (fold - fold.mean(axis=0)) @ offset
    return rows.outcome - level - gains[:, 1]


def for_size(config: Config, rows: int) -> Config:
    """Few rows teach neither networks nor trees.

    The kernel surface and ridge nuisances alone, unless others were chosen.
    """
    if rows >= config.teacher.few_rows:
        return config
    surfaces = (
        ("kernel",) if config.teacher.surfaces == SURFACES else config.teacher.surfaces
    )
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
            (
                name,
                replace(rows, outcome=np.array(window.guardrail(name))),
                draw(seed, name, 0),
            )
        )
    return found


def check_same(state: RoundState | None, window: Logs, config: Config) -> None:
    """What a later round cannot change: the shapes of what is remembered."""
    if state is None:
        return
    memory = state.main.memory
    if not len(memory):
        raise ConfigError(
            "Expected a model with its memory to learn further, got an exported one, "
            "which only answers. "
            "Update the store that it came from, and export again."
        )
    members = len(memory.pair)
    places = memory.shares.shape[1]
    if (members, places) != (config.teacher.members, config.moves.places):
        raise ConfigError(
            f"Expected {members} `members` in [teacher] and {places} `places` in [moves], "
            "as in the first round, "
            f"got {config.teacher.members} and {config.moves.places}. Fit a new model to "
            "change them."
        )
    named = [window.schema.outcome, *window.schema.guardrails]
    if named != list(state.outcomes):
        raise ConfigError(
            f"Expected the outcome and guardrails {list(state.outcomes)} as in the first "
            f"round, got {named}. "
            "Fit a new model to change them."
        )


def open_window(
    logs: Logs, encoder: Encoder, config: Config, seed: int, weights: Floats | None
) -> Window:
    """Encode a log that is large enough to learn from."""
    units, folds = set_apart(logs, config.nuisances.folds, seed)
    weights = np.ones(len(logs)) if weights is None else check_weights(weights, len(logs))
    encoded = encoder.encode(logs)
    return Window(
        x=encoded.values,
        shares=np.array(logs.shares),
        outcome=np.array(logs.outcome),
        folds=folds,
        units=units,
        owners=logs.unit_codes,
        periods=np.unique(logs.times, return_inverse=True)[1],
        weights=weights / weights.mean(),
        columns=encoded.owners,
    )


def set_apart(logs: Logs, folds: int, seed: int) -> tuple[Rows, Integers]:
    """What counts as independent (n,), and its fold (n,).

    Units, or blocks of time where a few units have long histories.
    """
    least = max(LEAST_UNITS, folds)
    if len(logs) >= LEAST_ROWS and logs.unit_count >= least:
        return logs.unit_codes, unit_folds(logs, folds, seed)
    blocks = cut_blocks(logs)
    count = int(blocks.max(initial=-1)) + 1
    if logs.unit_count < min(LEAST_LONG, least) or len(logs) < LEAST_ROWS or count < least:
        raise LogError(
            f"Expected at least {LEAST_ROWS} rows of {least} units to learn from, got "
            f"{len(logs)} rows of "
            f"{logs.unit_count}. Use a longer window."
        )
    rank = np.random.default_rng(draw(seed, "blocks", 0)).permutation(count)
    return blocks, (rank % folds)[blocks]


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
            f"Expected one finite weight of at least 0 for each of the {rows} rows, not "
            "all of them 0."
        )
    return found


def draw(seed: int, stage: str, rounds: int) -> int:
    """A stage's own seed, by name: adding a stage never shifts another's draws."""
    return int(
        np.random.SeedSequence([seed, zlib.crc32(stage.encode()), rounds]).generate_state(
            1
        )[0]
        >> 1
    )
