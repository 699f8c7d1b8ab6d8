"""State and budget: H = [C, E, S] = item block + the day's shock, B = clip(exp(a_Bᵀ C + ζ))."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from realloc.base.errors import LogError
from realloc.base.simplex import Floats, Integers, Mask, Rows
from realloc.logs import Logs
from realloc.logs.reading.frames import to_arrow
from realloc.world.draws import stream
from realloc.world.regimes import WorldParameters

BLOCKS = ("c", "e", "s")


@dataclass(frozen=True, eq=False)
class State:
    """What is known before the split.

    Arrays are (n, d) in shape and column by column in memory, as the logs store them.
    """

    C: Floats  # (n, d) confounders
    E: Floats  # (n, d) effect modifiers
    S: Floats  # (n, d) channel preferences
    B: Floats  # (n,) budget
    window: int | None = None  # of the temporal rotation, None: not rotated

    def __len__(self) -> int:
        return len(self.B)

    def take(self, rows: Mask | Rows) -> "State":
        """The rows where a mask is true, or at the given positions."""
        return replace(
            self,
            C=np.asfortranarray(self.C[rows]),
            E=np.asfortranarray(self.E[rows]),
            S=np.asfortranarray(self.S[rows]),
            B=self.B[rows],
        )


def apply(W: Floats, X: Floats) -> Floats:
    """The rows of X times Wᵀ, (n, d) → (n, rows of W), column by column in memory."""
    return (W @ X.T).T


def rotate(W: Floats, X: Floats) -> Floats:
    """W times the last axis of X, put first: (..., K) → (rows of W, ...)."""
    return (W @ X.reshape(-1, X.shape[-1]).T).reshape(len(W), *X.shape[:-1])


def row_norms(rng: np.random.Generator, rows: int, columns: int, norm: float) -> Floats:
    """Random weights whose rows have one fixed norm: seeds differ in direction only."""
    weights = rng.standard_normal((rows, columns))
    return norm * weights / np.linalg.norm(weights, axis=1, keepdims=True)


def feature_names(parameters: WorldParameters) -> tuple[str, ...]:
    """c1 … c6, e1 … e6, s1 … s6."""
    return tuple(
        f"{block}{j + 1}" for block in BLOCKS for j in range(parameters.block_size)
    )


def draw_items(
    key: tuple[int | str, ...], items: int, parameters: WorldParameters
) -> NDArray[np.float32]:
    """Persistent item blocks, standard normal: (3d, items)."""
    shape = (items, 3 * parameters.block_size)
    draws = stream(*key, "items").standard_normal(shape, dtype=np.float32)
    return np.ascontiguousarray(draws.T)


def draw_shocks(
    seed: int, days: Integers, parameters: WorldParameters
) -> NDArray[np.float32]:
    """The shock of each day, N(0, σ_t²): (3d, days), the same for all items."""
    size = 3 * parameters.block_size
    streams = [stream(seed, "shock", day) for day in days.tolist()]
    shocks = [random.standard_normal(size, dtype=np.float32) for random in streams]
    return np.float32(parameters.shock_scale) * np.stack(shocks, axis=1)


def state_of_features(
    H: NDArray[np.float32], B: Floats, window: int | None = None
) -> State:
    """The state from features (3d, n) in single precision as stored: logs hold all of the truth."""
    C, E, S = np.split(H.astype(np.float64), 3)
    return State(C.T, E.T, S.T, B, window)


def draw_budget(
    rng: np.random.Generator,
    H: NDArray[np.float32],
    a_B: Floats,
    parameters: WorldParameters,
) -> Floats:
    """B = clip(exp(a_Bᵀ C + ζ), B_min, B_max), (n,)."""
    zeta = parameters.budget_noise * rng.standard_normal(H.shape[1])
    C = H[: parameters.block_size].astype(np.float64)
    return np.clip(np.exp(a_B @ C + zeta), parameters.budget_min, parameters.budget_max)


def read_state(logs: Any, parameters: WorldParameters, window: int | None = None) -> State:
    """The state of logs (or a frame) drawn from a world, exactly as the world computed with it."""
    table = logs.table if isinstance(logs, Logs) else to_arrow(logs)
    names = feature_names(parameters)
    missing = [name for name in (*names, "budget") if name not in table.column_names]
    if missing:
        raise LogError(
            f"Expected logs of this world with the features {names[0]} … {names[-1]} and the "
            f"budget, got none {missing[0]!r}."
        )
    H = np.stack([table[name].to_numpy() for name in names]).astype(np.float32)
    budget = np.array(table["budget"].to_numpy(), dtype=np.float64)
    return state_of_features(H, budget, window)
