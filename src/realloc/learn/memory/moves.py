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
from realloc.base.simplex import edges
from realloc.learn.memory.config import MoveConfig
from realloc.learn.teacher.fit import Teacher
from realloc.learn.window import Window

Floats = NDArray[np.float64]

CHUNK = 4096
Singles = NDArray[np.float32]
Stays = Callable[
    [Floats], NDArray[np.int64]
]  # ranks of a window's rows (n,) → the rows that a memory may keep


@dataclass(frozen=True)
class Labels:
    """Targets of n rows × q places for M members.

    A place without any feasible move has step 0 and pair 0.
    """

    x: Singles  # (n, d)
    shares: Singles  # (n, q, K)
    source: NDArray[np.int16]  # (n, q) k
    target: NDArray[np.int16]  # (n, q) l
    step: Singles  # (n, q) δ
    pair: Singles  # (M, n, q) y
    field: Singles  # (M, n, q, K) g
    window: NDArray[np.int64]  # (n,) which round
    rank: NDArray[np.float64]  # (n,) uniform draws that decide who stays in a bounded buffer

    def __len__(self) -> int:
        return len(self.x)

    def take(self, rows: NDArray[np.integer]) -> "Labels":
        """Some of the rows."""
        firsts = {name: getattr(self, name)[rows] for name in FIRSTS}
        return Labels(**firsts, pair=self.pair[:, rows], field=self.field[:, rows])

    def join(self, other: "Labels") -> "Labels":
        """These rows and then the others."""
        firsts = {
            name: np.concatenate([getattr(self, name), getattr(other, name)]) for name in FIRSTS
        }
        pair = np.concatenate([self.pair, other.pair], axis=1)
        return Labels(**firsts, pair=pair, field=np.concatenate([self.field, other.field], axis=1))

    @property
    def nbytes(self) -> int:
        """Memory."""
        return sum(getattr(self, name).nbytes for name in (*FIRSTS, "pair", "field"))


FIRSTS = (
    "x",
    "shares",
    "source",
    "target",
    "step",
    "window",
    "rank",
)  # arrays whose first axis is the row


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
    x, shares = window.x[rows], draw_places(window.shares[rows], config, random)
    source, target, step = draw_moves(shares, config.steps, random)
    rank = random.random(n)
    if stays is not None:
        kept = stays(rank)
        x, shares, rank, n = x[kept], shares[kept], rank[kept], len(kept)
        source, target, step = source[kept], target[kept], step[kept]
    pairs: list[Singles] = []
    fields: list[Singles] = []
    for first in range(0, n, CHUNK):
        part = slice(first, first + CHUNK)
        pair, field = ask(teacher, x[part], shares[part], (source[part], target[part], step[part]))
        pairs.append(pair)
        fields.append(field)
        progress("memory: labels", min(first + CHUNK, n), n)
    return Labels(
        x=x,
        shares=shares.astype(np.float32),
        source=source,
        target=target,
        step=step.astype(np.float32),
        pair=np.concatenate(pairs, axis=1),
        field=np.concatenate(fields, axis=1),
        window=np.full(n, round_),
        rank=rank,
    )


def draw_places(shares: Floats, config: MoveConfig, random: np.random.Generator) -> Floats:
    """(n, q, K): the logged shares (n, K), then places two random transfers away."""
    n, K = shares.shape
    places = [shares]
    for _ in range(config.places - 1):
        p = shares.copy()
        for _ in range(2):
            pair = edges(K)[random.integers(K * (K - 1), size=n)]
            amount = np.minimum(random.random(n) * config.reach, p[np.arange(n), pair[:, 0]])
            p[np.arange(n), pair[:, 0]] -= amount
            p[np.arange(n), pair[:, 1]] += amount
        places.append(p)
    return np.stack(places, axis=1)


def draw_moves(
    shares: Floats, steps: tuple[float, ...], random: np.random.Generator
) -> tuple[NDArray[np.int16], NDArray[np.int16], Floats]:
    """One feasible move k → l of size δ per place (n, q, K); δ = 0 where no step fits."""
    K = shares.shape[-1]
    sizes = np.asarray(steps)
    fits = shares[..., :, None] >= sizes  # (n, q, K, S)
    noise = random.random(fits.shape)
    chosen = np.where(fits, noise, -1.0).reshape(*shares.shape[:-1], -1).argmax(-1)
    source, size = np.divmod(chosen, len(sizes))
    step = np.where(fits.any((-1, -2)), sizes[size], 0.0)
    target = (source + random.integers(1, K, size=source.shape)) % K
    return source.astype(np.int16), target.astype(np.int16), step


def ask(
    teacher: Teacher,
    x: Singles,
    shares: Floats,
    moves: tuple[NDArray[np.int16], NDArray[np.int16], Floats],
) -> tuple[Singles, Singles]:
    """Finite differences (M, n, q) and fields (M, n, q, K) of one batch."""
    source, target, step = moves
    moved = shares.copy()
    at = np.indices(source.shape)
    moved[*at, source] -= step
    moved[*at, target] += step
    states, places = torch.from_numpy(x), torch.from_numpy(shares).float()
    q = places.shape[1]
    values = teacher.values(states, torch.cat([places, torch.from_numpy(moved).float()], dim=1))
    pair = (values[..., q:] - values[..., :q]) / torch.from_numpy(
        np.where(step > 0, step, 1.0)
    ).float()
    return pair.numpy(), teacher.field(states, places).numpy()
