"""The best shares anywhere on the simplex by L-BFGS over softmax logits: p = softmax(θ).

All rows and starts climb at once, each with a memory and a step length of its own, so that no row's
answer depends on another. A step tries several lengths in one evaluation and takes the best.
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from realloc.base.simplex import Floats

# (rows (a,), shares (a, q, K)) → (a, q), differentiable in the shares
Climbable = Callable[[Tensor, Tensor], Tensor]
# shares (b, q, K) → (b, q)
Objective = Callable[[Tensor], Tensor]
Pair = tuple[Tensor, Tensor]

TURNS = 40
MEMORY = 6
LENGTHS = (4.0, 1.0, 0.25, 0.06, 0.015, 0.001)  # of a step, tried at once
LONGEST = 3.0  # step in logits
TILT = 0.8  # share of the channel that a start is tilted to
LEAST = 1e-3  # smallest share of a start


def search_lbfgs(worth: Climbable, start: Floats) -> Floats:
    """The best end found for every row of `start` (n, K); a row that no end is better for stays."""
    n, K = start.shape
    factual = torch.from_numpy(np.array(start, dtype=np.float64))
    begun = starts(factual)  # (n, S, K)
    rows = torch.arange(n).repeat_interleave(begun.shape[1])
    logits = climb(lambda p: worth(rows, p), begun.flatten(0, 1).log())
    ends = torch.cat([factual[:, None], torch.softmax(logits, -1).view(n, -1, K)], dim=1)
    with torch.no_grad():
        best = worth(torch.arange(n), ends).argmax(1)  # the first of equals: the start
    return ends[torch.arange(n), best].numpy()


def starts(shares: Tensor) -> Tensor:
    """Where to climb from: factual shares (n, K), uniform ones, one per channel: (n, K+2, K)."""
    n, K = shares.shape
    factual = shares.clamp(min=LEAST)
    uniform = torch.full((1, K), 1 / K, dtype=shares.dtype)
    tilted = (1 - TILT) / K + TILT * torch.eye(K, dtype=shares.dtype)
    fixed = torch.cat([uniform, tilted]).expand(n, -1, -1)
    return torch.cat([(factual / factual.sum(-1, keepdim=True))[:, None], fixed], dim=1)


def climb(worth: Objective, logits: Tensor) -> Tensor:
    """Logits (b, K) of local maxima; no row ends lower than it began."""
    held, slope = _look(worth, logits)
    stuck = torch.zeros(len(logits), 1, dtype=torch.bool)
    lengths = torch.tensor(LENGTHS, dtype=logits.dtype)[:, None]
    every = torch.arange(len(logits))
    pairs: list[Pair] = []
    for _ in range(TURNS):
        way = _direction(slope, pairs)
        way = torch.where(((way * slope).sum(-1, keepdim=True) > 0) & ~stuck, way, slope)
        way = way * (LONGEST / way.norm(dim=-1, keepdim=True).clamp(min=1e-300)).clamp(
            max=1
        )
        tried = logits[:, None] + lengths * way[:, None]  # (b, T, K)
        with torch.no_grad():
            values = worth(torch.softmax(tried, -1))
        best = values.argmax(1)
        better = (values[every, best] > held)[:, None]
        if bool((stuck & ~better).all()):
            break
        new = torch.where(better, tried[every, best], logits)
        held, fresh = _look(worth, new)
        pairs = [*pairs, (new - logits, slope - fresh)][-MEMORY:]
        logits = new
        slope = fresh
        stuck = ~better
    return logits


def _look(worth: Objective, logits: Tensor) -> tuple[Tensor, Tensor]:
    """Worth (b,) and its slope in the logits (b, K)."""
    with torch.enable_grad():
        at = logits.detach().requires_grad_()
        values = worth(torch.softmax(at, -1)[:, None])[:, 0]
        return values.detach(), torch.autograd.grad(values.sum(), at)[0]


def _direction(slope: Tensor, pairs: list[Pair]) -> Tensor:
    """The two-loop recursion, row by row; pairs without positive curvature count for nothing."""
    way = slope
    size = 1 / slope.norm(dim=-1, keepdim=True).clamp(min=1e-12)
    kept: list[tuple[Tensor, Tensor, Tensor, Tensor]] = []
    for s, y in pairs:
        curve = (s * y).sum(-1, keepdim=True)
        square = y.square().sum(-1, keepdim=True)
        sound = curve > 1e-10 * square
        rho = torch.where(sound, 1 / curve.where(sound, 1), 0)
        size = torch.where(sound, curve / square.where(sound, 1), size)
        kept.append((s, y, rho, torch.zeros_like(rho)))
    for i, (s, y, rho, _) in reversed(list(enumerate(kept))):
        part = rho * (s * way).sum(-1, keepdim=True)
        way = way - part * y
        kept[i] = (s, y, rho, part)
    way = way * size
    for s, y, rho, part in kept:
        way = way + (part - rho * (y * way).sum(-1, keepdim=True)) * s
    return way
