"""Rows whose shares were drawn at random with known chances: what an off-policy value may rest on.

Either a finite menu of moves with a probability each (`RandomizedMoves`), or shares drawn from a density
(`RandomizedShares`). Both refuse, when made, what no value can be computed from.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import factorial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from realloc.base.errors import LogError
from realloc.base.simplex import Floats
from realloc.logs import Logs

Rows = NDArray[np.integer[Any]]
Density = Callable[[Floats, Rows], Floats]  # (shares (r, K), row numbers (r,)) → density (r,)
SUM_TOLERANCE = 1e-6
SAME_MOVE = (
    1e-4  # largest difference of a share at which a logged move counts as an arm of the menu
)
REMEDY = "Leave out or repair these rows."


@dataclass(frozen=True, eq=False, kw_only=True)
class RandomizedMoves:
    """n rows, each with one of M moves drawn from a menu; probability 0 says that a row could not get an arm."""

    start: Floats  # (n, K) shares before the move
    moves: Floats  # (M, K) changes of the shares; an arm of zeros holds
    probabilities: Floats  # (n, M)
    drawn: Rows  # (n,) the logged arm
    outcome: Floats  # (n,)
    unit: Rows  # (n,)
    state: Floats  # (n, d) what was known before, for the outcome model
    categorical: tuple[int, ...] = ()  # columns of the state that hold codes
    estimated: bool = False  # probabilities were estimated from these rows

    def __post_init__(self) -> None:
        _check_common(self.start, self.outcome, self.unit, self.state)
        _check_menu(self.start, self.moves, self.probabilities)
        n, arms = self.probabilities.shape
        if self.drawn.shape != (n,) or not np.issubdtype(self.drawn.dtype, np.integer):
            raise LogError(
                f"Expected one logged arm (a whole number) for each of {n} rows, got {self.drawn.shape}."
            )
        _refuse(
            (self.drawn < 0) | (self.drawn >= arms),
            f"logged arms from 0 to {arms - 1}",
            "others",
            REMEDY,
        )
        _refuse(
            self.propensity <= 0,
            "propensities above 0 for logged arms",
            "0",
            "What was drawn was possible.",
        )

    def __len__(self) -> int:
        return len(self.outcome)

    @property
    def logged(self) -> Floats:
        """Shares after the logged move, (n, K)."""
        return self.start + self.moves[self.drawn]

    @property
    def propensity(self) -> Floats:
        """Probability of the logged arm, (n,)."""
        return np.take_along_axis(self.probabilities, self.drawn[:, None], axis=1)[:, 0]

    @property
    def hold(self) -> int | None:
        """The arm that changes nothing, where the menu has one."""
        still = np.flatnonzero(np.abs(self.moves).max(axis=1) <= SAME_MOVE)
        return int(still[0]) if len(still) else None


@dataclass(frozen=True, eq=False, kw_only=True)
class RandomizedShares:
    """n rows whose shares were drawn from a density over the simplex (in its first K − 1 shares, as Dirichlet's is).

    `density_at`, where given, tells the density of other shares too: then support and integral can be checked.
    """

    start: Floats  # (n, K)
    shares: Floats  # (n, K) as drawn
    density: Floats  # (n,) of the drawn shares
    outcome: Floats
    unit: Rows
    state: Floats
    categorical: tuple[int, ...] = ()
    density_at: Density | None = None

    def __post_init__(self) -> None:
        _check_common(self.start, self.outcome, self.unit, self.state)
        check_shares("drawn shares", self.shares, self.start.shape)
        _refuse(
            self.shares.min(axis=1) <= 0,
            "drawn shares above 0, as a density has them",
            "zeros",
            "Leave out channels that are closed, or evaluate moves of a menu (`RandomizedMoves`).",
        )
        _check_density(self)

    def __len__(self) -> int:
        return len(self.outcome)

    @property
    def logged(self) -> Floats:
        """The drawn shares, (n, K)."""
        return self.shares


Randomized = RandomizedMoves | RandomizedShares


def randomized_moves(
    logs: Logs,
    start: Floats,
    moves: Floats,
    probabilities: Floats,
    *,
    outcome: Floats | None = None,
) -> tuple[RandomizedMoves, NDArray[np.bool_]]:
    """The randomized rows of a log (finite probabilities), and which ones they are.

    `start` (n, K) and `probabilities` (n, M) are per log row; NaN probabilities mark rows that were not randomized.
    """
    if probabilities.shape != (len(logs), len(moves)):
        wanted = (len(logs), len(moves))
        raise LogError(
            f"Expected probabilities of shape {wanted}, a row per log row, got {probabilities.shape}."
        )
    picked = np.asarray(~np.isnan(probabilities).all(axis=1))
    if not picked.any():
        raise LogError(
            f"Expected randomized rows, got none among {len(logs):,} rows: no row has propensities. "
            "Log the propensity of every randomized move, or run an exploration first."
        )
    part, values = logs.take(picked), logs.outcome if outcome is None else outcome
    state, categorical = state_of(part)
    drawn = find_arms(np.asarray(part.shares) - start[picked], moves)
    rows = RandomizedMoves(
        start=start[picked],
        moves=moves,
        probabilities=probabilities[picked],
        drawn=drawn,
        outcome=np.asarray(values)[picked],
        unit=part.unit_codes,
        state=state,
        categorical=categorical,
    )
    if part.propensity is not None:
        stated = part.propensity
        _refuse(
            ~(np.abs(stated - rows.propensity) <= SUM_TOLERANCE),
            f"the log's {logs.schema.propensity!r} to equal the menu's probability of the logged arm",
            "others",
            "Check that menu and log belong together.",
        )
    return rows, picked


def state_of(logs: Logs) -> tuple[Floats, tuple[int, ...]]:
    """Budget and features as numbers (n, d) and which columns are codes; missing values stay NaN, as trees take them."""
    columns: list[Floats] = [np.asarray(logs.budget, dtype=np.float64)]
    codes: list[int] = []
    for name in logs.features:
        column = logs.table[name].combine_chunks()
        if pa.types.is_dictionary(column.type):
            codes.append(len(columns))
            column = column.indices
        elif pa.types.is_date(column.type) or pa.types.is_timestamp(column.type):
            column = column.cast(pa.timestamp("us")).cast(pa.int64())
        columns.append(column.cast(pa.float64()).to_numpy(zero_copy_only=False))
    return np.stack(columns, axis=1), tuple(codes)


def find_arms(changes: Floats, moves: Floats) -> NDArray[np.int64]:
    """The arm of each change (n, K) of the shares; −1 where the menu has none."""
    found = np.full(len(changes), -1, dtype=np.int64)
    for arm in range(len(moves) - 1, -1, -1):
        found[np.abs(changes - moves[arm]).max(axis=1) <= SAME_MOVE] = arm
    return found


def observed_menu(
    start: Floats, shares: Floats, digits: int = 3
) -> tuple[Floats, NDArray[np.int64]]:
    """The distinct moves of a log (M, K), rounded, and the arm of each row: for logs that come without a menu."""
    changes = np.round(shares - start, digits) + 0.0  # no negative zeros
    moves, drawn = np.unique(changes, axis=0, return_inverse=True)
    return moves, drawn.reshape(-1).astype(np.int64)


def _check_common(start: Floats, outcome: Floats, unit: Rows, state: Floats) -> None:
    n = len(outcome)
    if n == 0:
        raise LogError(
            "Expected randomized rows, got none. Log propensities, or run an exploration first."
        )
    check_shares("start shares", start, (n, start.shape[-1]))
    for name, values, shape in (
        ("outcome", outcome, (n,)),
        ("unit", unit, (n,)),
        ("state", state, (n, *state.shape[1:])),
    ):
        if values.shape != shape:
            raise LogError(f"Expected {name} of shape {shape} for {n} rows, got {values.shape}.")
    if state.ndim != 2:
        raise LogError(f"Expected a state of shape ({n}, d), got {state.shape}.")
    _refuse(~np.isfinite(outcome), "finite outcomes", "NaN or infinite ones", REMEDY)
    _refuse(
        np.isinf(state).any(axis=1), "states that are finite or missing", "infinite ones", REMEDY
    )


def check_shares(name: str, shares: Floats, shape: tuple[int, ...]) -> None:
    """Refuse what is not a point of the simplex per row."""
    if shares.ndim != 2 or shares.shape != shape or shares.shape[1] < 2:
        raise LogError(
            f"Expected {name} of shape {shape} with at least 2 channels, got {shares.shape}."
        )
    off = ~(
        (np.abs(shares.sum(axis=1) - 1) <= SUM_TOLERANCE) & (shares.min(axis=1) >= -SUM_TOLERANCE)
    )  # NaN too
    _refuse(off, f"{name} of at least 0 that sum to 1", "others", REMEDY)


def _check_menu(start: Floats, moves: Floats, probabilities: Floats) -> None:
    n, channels = start.shape
    if moves.ndim != 2 or moves.shape[1] != channels or len(moves) < 2:
        raise LogError(
            f"Expected a menu of at least 2 moves of {channels} channels each, got {moves.shape}."
        )
    _refuse(
        ~(np.abs(moves.sum(axis=1)) <= SUM_TOLERANCE),
        "moves that sum to 0",
        "others",
        "Check the menu.",
        "moves",
    )
    if probabilities.shape != (n, len(moves)):
        raise LogError(
            f"Expected probabilities of shape {(n, len(moves))}, got {probabilities.shape}."
        )
    where, advice = (
        "probabilities of the menu",
        "Leave out rows that were not randomized, or repair these.",
    )
    _refuse(np.isnan(probabilities).any(axis=1), f"{where} that are numbers", "NaN", advice)
    _refuse((probabilities < 0).any(axis=1), f"{where} of at least 0", "negative ones", advice)
    _refuse(
        (probabilities > 1 + SUM_TOLERANCE).any(axis=1),
        f"{where} of at most 1",
        "larger ones",
        advice,
    )
    total = probabilities.sum(axis=1)
    off = np.abs(total - 1) > SUM_TOLERANCE
    _refuse(
        off,
        f"{where} that sum to 1 in every row",
        f"sums from {total.min():.6g} to {total.max():.6g}",
        advice,
    )
    leaves = (start[:, None, :] + moves).min(axis=2) < -SAME_MOVE  # (n, M)
    overdrawn = (leaves & (probabilities > 0)).any(axis=1)
    _refuse(
        overdrawn,
        "probability 0 for moves that overdraw a channel",
        "more",
        "Check start shares and menu.",
    )


def _check_density(rows: RandomizedShares) -> None:
    n, channels = rows.shares.shape
    if rows.density.shape != (n,):
        raise LogError(f"Expected one density for each of {n} rows, got {rows.density.shape}.")
    _refuse(~np.isfinite(rows.density), "finite densities", "NaN or infinite ones", REMEDY)
    _refuse(
        rows.density <= 0,
        "densities above 0 for drawn shares",
        "0 or negative ones",
        "What was drawn was possible.",
    )
    volume = 1 / factorial(
        channels - 1
    )  # of the simplex in its first K − 1 shares; E[1/f] is the volume of f's support
    inverse = 1 / rows.density
    error = float(inverse.std() / np.sqrt(n))
    if inverse.mean() - 5 * error > volume * (1 + SUM_TOLERANCE):
        raise LogError(
            f"Expected densities that integrate to 1, so that their inverses average at most {volume:.4g}, got "
            f"{inverse.mean():.4g} ± {error:.2g}. State them in the first {channels - 1} shares."
        )
    if rows.density_at is not None:
        _check_integral(rows, rows.density_at, volume)


def _check_integral(
    rows: RandomizedShares, density_at: Density, volume: float, repeats: int = 64
) -> None:
    """One even draw from the simplex per row and repeat: the mean density times the volume must be 1."""
    n, channels = rows.shares.shape
    every = np.arange(n)
    off = ~np.isclose(density_at(rows.shares, every), rows.density, rtol=1e-6)
    _refuse(
        off,
        "`density_at` to give the stated densities",
        "others",
        "Check that both belong together.",
    )
    rng = np.random.default_rng(0)
    found = (
        np.array([density_at(rng.dirichlet(np.ones(channels), n), every) for _ in range(repeats)])
        * volume
    )
    error = float(found.std() / np.sqrt(found.size))
    if abs(found.mean() - 1) > max(0.02, 5 * error):
        raise LogError(
            f"Expected densities that integrate to 1, got {found.mean():.4g} ± {error:.2g}. "
            f"State them in the first {channels - 1} shares."
        )


def _refuse(wrong: Any, expected: str, got: str, advice: str, what: str = "rows") -> None:
    """`wrong` is a flag per row."""
    flags: NDArray[np.bool_] = np.asarray(wrong)
    if flags.any():
        count, first = int(flags.sum()), int(flags.argmax())
        raise LogError(
            f"Expected {expected}, got {got} in {count} of {len(flags)} {what} (first: {first}). {advice}"
        )
