"""What the teacher tells the student: the worth of feasible moves, and the field, at places near
logged shares.

y_{k→l,δ} = [μ(x, p + δ(e_l − e_k)) − μ(x, p)] / δ,  g = P₀∇_p μ(x, p)

Places are the logged shares themselves and points that a random walk of feasible transfers reaches
from them: the student is asked along whole traces, so it must know more than where they start.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from realloc.base.progress import Progress, silent
from realloc.base.simplex import Floats, Integers, edges
from realloc.learn.memory.config import MoveConfig
from realloc.learn.memory.labels import Labels, Singles
from realloc.learn.row_arrays import RowArrays
from realloc.learn.teacher.fit import Teacher
from realloc.learn.window import Window

CHUNK = 4096
# ranks of a window's rows (n,) → the rows that a memory may keep
Stays = Callable[[Floats], Integers]


@dataclass(frozen=True)
class DrawnMoves(RowArrays):
    """A move k → l of size δ for each place, all (n, q); δ is 0 where no step fits."""

    source: NDArray[np.int16]
    target: NDArray[np.int16]
    step: Floats


def label_moves(
    teacher: Teacher,
    window: Window,
    config: MoveConfig,
    round_: int,
    seed: int,
    progress: Progress = silent,
    stays: Stays | None = None,
) -> Labels:
    """Draw places and moves and ask the teacher, only about rows that a memory may keep if `stays`
    knows them.
    """
    random = np.random.default_rng(seed)
    n = min(len(window.x), config.rows)
    rows = np.sort(random.permutation(len(window.x))[:n])
    shares = draw_places(window.shares[rows], config, random)
    moves = draw_moves(shares, config.steps, random)
    rank = random.random(n)
    kept = np.arange(n) if stays is None else stays(rank)
    x = window.x[rows[kept]]
    shares = shares[kept]
    moves = moves.take(kept)
    pairs: list[Singles] = []
    fields: list[Singles] = []
    for first in range(0, len(kept), CHUNK):
        part = slice(first, first + CHUNK)
        pair, field = ask(teacher, x[part], shares[part], moves.take(part))
        pairs.append(pair)
        fields.append(field)
        progress("memory: labels", min(first + CHUNK, len(kept)), len(kept))
    return Labels(
        x=x,
        shares=shares.astype(np.float32),
        source=moves.source,
        target=moves.target,
        step=moves.step.astype(np.float32),
        pair=np.concatenate(pairs, axis=1),
        field=np.concatenate(fields, axis=1),
        window=np.full(len(kept), round_),
        rank=rank[kept],
    )


def draw_places(
    shares: Floats,
    config: MoveConfig,
    random: np.random.Generator,
) -> Floats:
    """(n, q, K): the logged shares (n, K), then places two random transfers away."""
    n, K = shares.shape
    rows = np.arange(n)
    places = [shares]
    for _ in range(config.places - 1):
        p = shares.copy()
        for _ in range(2):
            source, target = edges(K)[random.integers(K * (K - 1), size=n)].T
            amount = np.minimum(random.random(n) * config.reach, p[rows, source])
            p[rows, source] -= amount
            p[rows, target] += amount
        places.append(p)
    return np.stack(places, axis=1)


def draw_moves(
    shares: Floats,
    steps: tuple[float, ...],
    random: np.random.Generator,
) -> DrawnMoves:
    """One feasible move per place (n, q, K)."""
    K = shares.shape[-1]
    sizes = np.asarray(steps)
    fits = shares[..., :, None] >= sizes  # (n, q, K, S)
    noise = random.random(fits.shape)
    chosen = np.where(fits, noise, -1.0).reshape(*shares.shape[:-1], -1).argmax(-1)
    source, size = np.divmod(chosen, len(sizes))
    step = np.where(fits.any((-1, -2)), sizes[size], 0.0)
    target = (source + random.integers(1, K, size=source.shape)) % K
    return DrawnMoves(source.astype(np.int16), target.astype(np.int16), step)


def ask(
    teacher: Teacher,
    x: Singles,
    shares: Floats,
    moves: DrawnMoves,
) -> tuple[Singles, Singles]:
    """Finite differences (M, n, q) and fields (M, n, q, K) of one batch."""
    step = moves.step
    moved = shares.copy()
    at = np.indices(step.shape)
    moved[*at, moves.source] -= step
    moved[*at, moves.target] += step
    states = torch.from_numpy(x)
    places = torch.from_numpy(shares).float()
    both = torch.cat([places, torch.from_numpy(moved).float()], dim=1)
    before, after = teacher.values(states, both).split(places.shape[1], dim=-1)
    sizes = torch.from_numpy(np.where(step > 0, step, 1.0)).float()
    return ((after - before) / sizes).numpy(), teacher.field(states, places).numpy()
