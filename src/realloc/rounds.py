"""Algorithm 1 as one function: what a round does, and what it hands to the next."""

import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from realloc.config import Config
from realloc.errors import ConfigError, LogError
from realloc.features import Encoder, fit_encoder
from realloc.logs import Logs, unit_folds
from realloc.nuisances import Diagnostics, cross_fit
from realloc.progress import Progress
from realloc.replay import Labels, label_moves, remember
from realloc.student import Potential
from realloc.student.distill import distill
from realloc.teacher import SurfaceConfigs, Window, fit_teacher
from realloc.teacher.committee import Weighing

Floats = NDArray[np.float64]
LEAST_ROWS, LEAST_UNITS = 200, 10


@dataclass(frozen=True)
class RoundState:
    """Everything that one round hands to the next; its size does not grow with the number of rounds."""

    encoder: Encoder
    replay: Labels
    student: Potential
    rounds: int
    nuisances: Diagnostics  # of the last window
    weighing: Weighing  # of the last teacher's surfaces

    def field(self, logs: Logs) -> Floats:
        """The student's field at the log's own shares, of every member: (M, n, K)."""
        return self.student.field(self.encoder.encode(logs).values, logs.shares[:, None])[:, :, 0]

    def gain(self, logs: Logs, to: Floats) -> Floats:
        """The gain of going to the shares `to` (n, K), by every member: (M, n)."""
        return self.student.gain(self.encoder.encode(logs).values, logs.shares, to)


def run_round(
    state: RoundState | None, window: Logs, config: Config, seed: int, weights: Floats | None, progress: Progress
) -> RoundState:
    """One update round (Algorithm 1): fast teacher on the window, slow student through the replay."""
    check_same(state, config)
    rounds = 0 if state is None else state.rounds
    encoder = fit_encoder(window, config.features) if state is None else state.encoder
    rows = open_window(window, encoder, config, seed, weights)

    # Stage I: fast orthogonal teacher
    nuisances = cross_fit(
        rows.x,
        rows.shares,
        rows.outcome,
        rows.folds,
        config.nuisances,
        draw(seed, "nuisances", rounds),
        weights,
        progress,
    )
    surfaces = SurfaceConfigs(kernel=config.kernel, network=config.network, factual=config.factual)
    teacher = fit_teacher(rows, nuisances, config.teacher, surfaces, draw(seed, "teacher", rounds), progress)

    # Stage II: slow student
    labels = label_moves(teacher, rows, config.moves, rounds, draw(seed, "moves", rounds), progress)
    replay = remember(None if state is None else state.replay, labels, config.replay.capacity)
    former = None if state is None else state.student
    student = distill(replay, teacher.scaling, former, config.student, draw(seed, "student", rounds), progress)
    return RoundState(encoder.remember(window), replay, student, rounds + 1, nuisances.diagnostics, teacher.weighing)


def check_same(state: RoundState | None, config: Config) -> None:
    """What a later round cannot change: the shapes of what is remembered."""
    if state is None:
        return
    members, places = state.student.members, state.replay.shares.shape[1]
    if (members, places) != (config.teacher.members, config.moves.places):
        raise ConfigError(
            f"Expected {members} `members` in [teacher] and {places} `places` in [moves], as in the first round, "
            f"got {config.teacher.members} and {config.moves.places}. Fit a new model to change them."
        )


def open_window(logs: Logs, encoder: Encoder, config: Config, seed: int, weights: Floats | None) -> Window:
    """Encode a log that is large enough to learn from."""
    if len(logs) < LEAST_ROWS or logs.unit_count < max(LEAST_UNITS, config.nuisances.folds):
        raise LogError(
            f"Expected at least {LEAST_ROWS} rows of {max(LEAST_UNITS, config.nuisances.folds)} units to learn from, "
            f"got {len(logs)} rows of {logs.unit_count}. Use a longer window."
        )
    weights = np.ones(len(logs)) if weights is None else check_weights(weights, len(logs))
    return Window(
        x=encoder.encode(logs).values,
        shares=np.array(logs.shares),
        outcome=np.array(logs.outcome),
        folds=unit_folds(logs, config.nuisances.folds, seed),
        units=logs.unit_codes,
        weights=weights / weights.mean(),
    )


def check_weights(weights: Any, rows: int) -> Floats:
    """One weight a row, or a sentence."""
    try:
        found = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        found = np.empty(0)
    if found.shape != (rows,) or not np.all(np.isfinite(found)) or found.min() < 0 or found.sum() == 0:
        raise LogError(f"Expected one finite weight of at least 0 for each of the {rows} rows, not all of them 0.")
    return found


def draw(seed: int, stage: str, rounds: int) -> int:
    """A stage's own seed, by name: adding a stage never shifts another's draws."""
    return int(np.random.SeedSequence([seed, zlib.crc32(stage.encode()), rounds]).generate_state(1)[0] >> 1)
