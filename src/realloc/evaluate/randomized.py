"""Rows whose shares were drawn at random with known chances: what an off-policy value may rest on.

Either a finite menu of moves with a probability each (`RandomizedMoves`), or shares drawn from a
density (`RandomizedShares`). Both refuse, when made, what no value can be computed from.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import factorial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from realloc.base.errors import LogError
from realloc.base.simplex import Floats, Integers, Mask, Rows
from realloc.evaluate.trees import as_numbers
from realloc.logs import Logs

# (shares (r, K), row numbers (r,)) → density (r,)
Density = Callable[[Floats, Rows], Floats]
SUM_TOLERANCE = 1e-6
# Largest difference of a share at which a logged move counts as an arm of the menu.
SAME_MOVE = 1e-4
REPAIR = "Leave out or repair these rows."
POSSIBLE = "What was drawn was possible."


@dataclass(frozen=True, eq=False, kw_only=True)
class RandomizedRows:
    """What n randomized rows have in common, however their shares were drawn."""

    start: Floats  # (n, K) shares before the draw
    outcome: Floats  # (n,)
    unit: Rows  # (n,)
    state: Floats  # (n, d) what was known before, for the outcome model
    categorical: tuple[int, ...] = ()  # columns of the state that hold codes

    def __post_init__(self) -> None:
        n = len(self.outcome)
        if n == 0:
            raise LogError(
                "Expected randomized rows, got none. Log propensities, or run an exploration first."
            )
        check_shares("start shares", self.start, (n, self.start.shape[-1]))
        for name, values in (("outcome", self.outcome), ("unit", self.unit)):
            if values.shape != (n,):
                raise LogError(
                    f"Expected {name} of shape {(n,)} for {n} rows, got {values.shape}."
                )
        if self.state.ndim != 2 or len(self.state) != n:
            raise LogError(f"Expected a state of shape ({n}, d), got {self.state.shape}.")
        _refuse(
            ~np.isfinite(self.outcome), "finite outcomes", "NaN or infinite ones", REPAIR
        )
        infinite = np.isinf(self.state).any(axis=1)
        _refuse(infinite, "states that are finite or missing", "infinite ones", REPAIR)

    def __len__(self) -> int:
        return len(self.outcome)


@dataclass(frozen=True, eq=False, kw_only=True)
class RandomizedMoves(RandomizedRows):
    """Rows that drew one of M moves from a menu;
    probability 0 says that a row could not get an arm.
    """

    moves: Floats  # (M, K) changes of the shares; an arm of zeros holds
    probabilities: Floats  # (n, M)
    drawn: Rows  # (n,) the logged arm
    estimated: bool = False  # probabilities were estimated from these rows

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_menu(self.start, self.moves, self.probabilities)
        n, arms = self.probabilities.shape
        if self.drawn.shape != (n,) or not np.issubdtype(self.drawn.dtype, np.integer):
            raise LogError(
                f"Expected one logged arm (a whole number) for each of {n} rows, got "
                f"{self.drawn.shape}."
            )
        unknown = (self.drawn < 0) | (self.drawn >= arms)
        _refuse(unknown, f"logged arms from 0 to {arms - 1}", "others", REPAIR)
        impossible = self.propensity <= 0
        _refuse(impossible, "propensities above 0 for logged arms", "0", POSSIBLE)

    @property
    def logged(self) -> Floats:
        """Shares after the logged move, (n, K)."""
        return self.start + self.moves[self.drawn]

    @property
    def propensity(self) -> Floats:
        """Probability of the logged arm, (n,)."""
        return self.probabilities[np.arange(len(self)), self.drawn]

    @property
    def hold(self) -> int | None:
        """The arm that changes nothing, where the menu has one."""
        still = np.flatnonzero(np.abs(self.moves).max(axis=1) <= SAME_MOVE)
        return int(still[0]) if len(still) else None


@dataclass(frozen=True, eq=False, kw_only=True)
class RandomizedShares(RandomizedRows):
    """Rows that drew shares from a density over the simplex (in its first K − 1 shares,
    like Dirichlet's).

    `density_at`, where given, tells the density of other shares too: then support and integral can
    be checked.
    """

    shares: Floats  # (n, K) as drawn
    density: Floats  # (n,) of the drawn shares
    density_at: Density | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_shares("drawn shares", self.shares, self.start.shape)
        _refuse(
            self.shares.min(axis=1) <= 0,
            "drawn shares above 0, as a density has them",
            "zeros",
            "Leave out channels that are closed, or evaluate moves of a menu (`RandomizedMoves`).",
        )
        _check_density(self)

    @property
    def logged(self) -> Floats:
        """The drawn shares, (n, K)."""
        return self.shares


Randomized = RandomizedMoves | RandomizedShares


def randomized_moves(
    logs: Logs, start: Floats, moves: Floats, probabilities: Floats
) -> tuple[RandomizedMoves, Mask]:
    """The randomized rows of a log (finite probabilities), and which ones they are.

    `start` (n, K) and `probabilities` (n, M) are per log row; NaN probabilities mark rows that were
    not randomized.
    """
    shape = (len(logs), len(moves))
    if probabilities.shape != shape:
        raise LogError(
            f"Expected probabilities of shape {shape}, a row per log row, got "
            f"{probabilities.shape}."
        )
    picked = np.asarray(~np.isnan(probabilities).all(axis=1))
    if not picked.any():
        raise LogError(
            f"Expected randomized rows, got none among {len(logs):,} rows: no row has "
            "propensities. Log the propensity of every randomized move, or run an exploration "
            "first."
        )
    part = logs.take(picked)
    rows = RandomizedMoves(
        moves=moves,
        probabilities=probabilities[picked],
        drawn=find_arms(part.shares - start[picked], moves),
        **common_fields(part, start[picked]),
    )
    if part.propensity is not None:
        _refuse(
            ~(np.abs(part.propensity - rows.propensity) <= SUM_TOLERANCE),
            f"the log's {logs.schema.propensity!r} to equal the menu's probability of the logged "
            "arm",
            "others",
            "Check that menu and log belong together.",
        )
    return rows, picked


def common_fields(logs: Logs, start: Floats) -> dict[str, Any]:
    """The fields of `RandomizedRows` for rows of a log; budget and features are the state."""
    columns = [np.asarray(logs.budget, dtype=np.float64)]
    columns += [as_numbers(logs.feature(name)) for name in logs.features]
    codes = [1 + logs.features.index(name) for name in logs.pinned_schema.categorical or ()]
    return {
        "start": start,
        "outcome": logs.outcome,
        "unit": logs.unit_codes,
        "state": np.stack(columns, axis=1),
        "categorical": tuple(codes),
    }


def find_arms(changes: Floats, moves: Floats) -> Integers:
    """The arm of each change (n, K) of the shares; −1 where the menu has none."""
    arms = np.full(len(changes), -1, dtype=np.int64)
    for arm in reversed(range(len(moves))):
        arms[np.abs(changes - moves[arm]).max(axis=1) <= SAME_MOVE] = arm
    return arms


def observed_menu(start: Floats, shares: Floats) -> tuple[Floats, Integers]:
    """The distinct moves of a log (M, K), to three digits, and the arm of each row:
    for logs without a menu.
    """
    changes = np.round(shares - start, 3) + 0.0  # no negative zeros
    moves, drawn = np.unique(changes, axis=0, return_inverse=True)
    return moves, drawn.reshape(-1).astype(np.int64)


def check_shares(name: str, shares: Floats, shape: tuple[int, ...]) -> None:
    """Refuse what is not a point of the simplex per row."""
    if shares.ndim != 2 or shares.shape != shape or shares.shape[1] < 2:
        raise LogError(
            f"Expected {name} of shape {shape} with at least 2 channels, got {shares.shape}."
        )
    sums_to_one = np.abs(shares.sum(axis=1) - 1) <= SUM_TOLERANCE
    right = sums_to_one & (shares.min(axis=1) >= -SUM_TOLERANCE)  # false for NaN
    _refuse(~right, f"{name} of at least 0 that sum to 1", "others", REPAIR)


def _check_menu(start: Floats, moves: Floats, probabilities: Floats) -> None:
    n, channels = start.shape
    if moves.ndim != 2 or moves.shape[1] != channels or len(moves) < 2:
        raise LogError(
            f"Expected a menu of at least 2 moves of {channels} channels each, got {moves.shape}."
        )
    unbalanced = ~(np.abs(moves.sum(axis=1)) <= SUM_TOLERANCE)
    _refuse(unbalanced, "moves that sum to 0", "others", "Check the menu.", "moves")
    if probabilities.shape != (n, len(moves)):
        raise LogError(
            f"Expected probabilities of shape {(n, len(moves))}, got {probabilities.shape}."
        )
    total = probabilities.sum(axis=1)
    sums = f"sums from {total.min():.6g} to {total.max():.6g}"
    for wrong, expected, got in (
        (np.isnan(probabilities).any(axis=1), "that are numbers", "NaN"),
        ((probabilities < 0).any(axis=1), "of at least 0", "negative ones"),
        ((probabilities > 1 + SUM_TOLERANCE).any(axis=1), "of at most 1", "larger ones"),
        (np.abs(total - 1) > SUM_TOLERANCE, "that sum to 1 in every row", sums),
    ):
        advice = "Leave out rows that were not randomized, or repair these."
        _refuse(wrong, f"probabilities of the menu {expected}", got, advice)
    leaves = (start[:, None, :] + moves).min(axis=2) < -SAME_MOVE  # (n, M)
    _refuse(
        (leaves & (probabilities > 0)).any(axis=1),
        "probability 0 for moves that overdraw a channel",
        "more",
        "Check start shares and menu.",
    )


def _check_density(rows: RandomizedShares) -> None:
    n, channels = rows.shares.shape
    if rows.density.shape != (n,):
        raise LogError(
            f"Expected one density for each of {n} rows, got {rows.density.shape}."
        )
    _refuse(~np.isfinite(rows.density), "finite densities", "NaN or infinite ones", REPAIR)
    none = rows.density <= 0
    _refuse(none, "densities above 0 for drawn shares", "0 or negative ones", POSSIBLE)
    # The volume of the simplex in its first K − 1 shares; E[1/f] is the volume of f's support.
    volume = 1 / factorial(channels - 1)
    inverse = 1 / rows.density
    error = float(inverse.std() / np.sqrt(n))
    if inverse.mean() - 5 * error > volume * (1 + SUM_TOLERANCE):
        raise LogError(
            "Expected densities that integrate to 1, so that their inverses average at most "
            f"{volume:.4g}, got {inverse.mean():.4g} ± {error:.2g}. State them in the first "
            f"{channels - 1} shares."
        )
    if rows.density_at is None:
        return
    every = np.arange(n)
    _refuse(
        ~np.isclose(rows.density_at(rows.shares, every), rows.density, rtol=1e-6),
        "`density_at` to give the stated densities",
        "others",
        "Check that both belong together.",
    )
    # One even draw from the simplex per row, many times: the mean density times the volume is 1.
    rng = np.random.default_rng(0)
    even = np.ones(channels)
    integral = volume * np.array(
        [rows.density_at(rng.dirichlet(even, n), every) for _ in range(64)]
    )
    error = float(integral.std() / np.sqrt(integral.size))
    if abs(integral.mean() - 1) > max(0.02, 5 * error):
        raise LogError(
            f"Expected densities that integrate to 1, got {integral.mean():.4g} ± {error:.2g}. "
            f"State them in the first {channels - 1} shares."
        )


def _refuse(
    flags: ArrayLike, expected: str, got: str, advice: str, what: str = "rows"
) -> None:
    """`flags` says for each row whether it is wrong."""
    wrong = np.asarray(flags)
    if wrong.any():
        where = f"{int(wrong.sum())} of {len(wrong)} {what} (first: {int(wrong.argmax())})"
        raise LogError(f"Expected {expected}, got {got} in {where}. {advice}")
