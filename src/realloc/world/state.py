"""State and budget: H = [C, E, S] = item block + shock of the day, B = clip(exp(a_Bᵀ C + ζ), B_min, B_max)."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from realloc.base.errors import LogError
from realloc.base.simplex import Floats
from realloc.logs import Logs
from realloc.logs.reading.frames import to_arrow
from realloc.world.draws import stream
from realloc.world.regimes import WorldParameters

BLOCKS = ("c", "e", "s")


@dataclass(frozen=True, eq=False)
class State:
    """What is known before the split. C confounders, E effect modifiers, S channel preferences, B budget.

    Arrays are (n, d) in shape and column by column in memory, as the logs store them.
    """

    C: Floats  # (n, d)
    E: Floats  # (n, d)
    S: Floats  # (n, d)
    B: Floats  # (n,)
    window: int | None = None  # of the temporal rotation, None: not rotated

    def __len__(self) -> int:
        return len(self.B)

    def take(self, rows: NDArray[np.bool_] | NDArray[np.integer[Any]]) -> "State":
        """The rows where a mask is true, or at the given positions."""
        C, E, S = (np.asfortranarray(block[rows]) for block in (self.C, self.E, self.S))
        return replace(self, C=C, E=E, S=S, B=self.B[rows])


def apply(W: Floats, X: Floats) -> Floats:
    """The rows of X times Wᵀ, (n, d) → (n, rows of W), column by column in memory."""
    return (W @ X.T).T


def rotate(W: Floats, X: Floats) -> Floats:
    """W times the last axis of X, put first: (..., K) → (rows of W, ...)."""
    return (W @ X.reshape(-1, X.shape[-1]).T).reshape(len(W), *X.shape[:-1])


def row_norms(rng: np.random.Generator, rows: int, columns: int, norm: float) -> Floats:
    """Random weights whose rows point anywhere and have one fixed norm, so that seeds differ in direction only."""
    weights = rng.standard_normal((rows, columns))
    return norm * weights / np.linalg.norm(weights, axis=1, keepdims=True)


def feature_names(parameters: WorldParameters) -> tuple[str, ...]:
    """c1 … c6, e1 … e6, s1 … s6."""
    return tuple(f"{block}{j + 1}" for block in BLOCKS for j in range(parameters.block_size))


def draw_items(
    key: tuple[int | str, ...], items: int, parameters: WorldParameters
) -> NDArray[np.float32]:
    """Persistent item blocks, standard normal: (3d, items)."""
    draws = stream(*key, "items").standard_normal(
        (items, 3 * parameters.block_size), dtype=np.float32
    )
    return np.ascontiguousarray(draws.T)


def draw_shocks(
    seed: int, days: NDArray[np.int64], parameters: WorldParameters
) -> NDArray[np.float32]:
    """The shock of each day, N(0, σ_t²): (3d, days). A day has one shock, whichever items are drawn on it."""
    size = 3 * parameters.block_size
    shocks = np.stack(
        [stream(seed, "shock", int(day)).standard_normal(size, dtype=np.float32) for day in days],
        axis=1,
    )
    return np.float32(parameters.shock_scale) * shocks


def state_of_features(H: NDArray[np.float32], B: Floats, window: int | None = None) -> State:
    """The state from features (3d, n) as stored, in single precision, so that logs hold all of the truth."""
    C, E, S = np.split(H.astype(np.float64), 3)
    return State(C.T, E.T, S.T, B, window)


def draw_budget(
    rng: np.random.Generator, H: NDArray[np.float32], a_B: Floats, parameters: WorldParameters
) -> Floats:
    """B = clip(exp(a_Bᵀ C + ζ), B_min, B_max), (n,)."""
    zeta = parameters.budget_noise * rng.standard_normal(H.shape[1])
    C = H[: parameters.block_size].astype(np.float64)
    return np.clip(np.exp(a_B @ C + zeta), parameters.budget_min, parameters.budget_max)


def read_state(logs: Any, parameters: WorldParameters, window: int | None = None) -> State:
    """The state of logs (or a frame) drawn from a world: exactly what the world itself computed with."""
    table = logs.table if isinstance(logs, Logs) else to_arrow(logs)
    names = feature_names(parameters)
    missing = [name for name in (*names, "budget") if name not in table.column_names]
    if missing:
        raise LogError(
            f"Expected logs of this world with the features {names[0]} … {names[-1]} and the budget, got none {missing[0]!r}."
        )
    H = np.stack([table[name].to_numpy() for name in names]).astype(np.float32)
    return state_of_features(H, np.array(table["budget"].to_numpy(), dtype=np.float64), window)
