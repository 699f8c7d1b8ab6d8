"""Random constraints and rows, and a plain reading of what they ask for that shares no code
with the library.
"""

from dataclasses import dataclass

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, milp

from realloc.base.errors import ConfigError
from realloc.decide.constraints.constraints import Constraints, Group
from realloc.decide.constraints.limits import compile_limits

NAMES = ("coupon", "ads", "tv", "rebate", "mail", "radio", "push", "search")
ERROR = 1e-12


@dataclass(frozen=True)
class Case:
    constraints: Constraints
    channels: tuple[str, ...]
    start: np.ndarray
    budget: np.ndarray
    used: np.ndarray
    seed: int

    def limits(self):
        return compile_limits(
            self.constraints, self.channels, self.start, self.budget, self.used
        )

    def bounds(self, row):
        """Least and most share of each channel of a row."""
        c, budget = self.constraints, self.budget[row]
        low, high = np.zeros(len(self.channels)), np.ones(len(self.channels))
        for k, name in enumerate(self.channels):
            low[k] = max(c.floors.get(name, 0), c.floors_money.get(name, 0) / budget)
            high[k] = min(c.caps.get(name, 1), c.caps_money.get(name, np.inf) / budget)
            if name in c.frozen:
                low[k] = high[k] = self.start[row, k]
            elif (
                not self.used[row, k]
                and self.start[row, k] == 0
                and name not in c.open
                and "*" not in c.open
            ):
                high[k] = 0
        return low, high

    def group_bounds(self, row):
        """(members, least, most) of each group of a row."""
        for group in self.constraints.groups:
            low, high = (
                (0 if group.floor is None else group.floor),
                (1 if group.cap is None else group.cap),
            )
            low = max(low, (group.floor_money or 0) / self.budget[row])
            if group.cap_money is not None:
                high = min(high, group.cap_money / self.budget[row])
            yield [self.channels.index(name) for name in group.channels], low, high

    def largest(self, row):
        c = self.constraints
        money = (
            np.inf
            if c.largest_move_money is None
            else c.largest_move_money / self.budget[row]
        )
        return min(np.inf if c.largest_move is None else c.largest_move, money)

    def broken(self, row, shares, grid_from=None, error=0.0):
        """What the row's shares break: channels by more than `error`, sums by more than float
        error.
        """
        low, high = self.bounds(row)
        moved = np.abs(shares - self.start[row]).sum() / 2
        found = [
            f"floor {name}"
            for k, name in enumerate(self.channels)
            if shares[k] < low[k] - error
        ]
        found += [
            f"cap {name}"
            for k, name in enumerate(self.channels)
            if shares[k] > max(high[k], low[k]) + error
        ]
        found += ["sum"] if abs(shares.sum() - 1) > error + ERROR else []
        for members, least, most in self.group_bounds(row):
            inside = least - error - ERROR <= shares[members].sum() <= most + error + ERROR
            found += [] if inside else ["group"]
        found += ["largest move"] if moved > self.largest(row) + error + ERROR else []
        if self.constraints.grid is not None:
            away = shares - (self.start[row] if grid_from is None else grid_from)
            off = np.abs(
                away - self.constraints.grid * np.rint(away / self.constraints.grid)
            ).max()
            found += ["grid"] if off > 1.1e-9 else []
        return found

    def least_move(self, row, grid=False):
        """The least moved share that keeps the bounds (largest move aside), by a solver; None
        if nothing does.
        """
        K, start = len(self.channels), self.start[row]
        low, high = self.bounds(row)
        step = self.constraints.grid if grid else 1.0
        inside = np.zeros((1 + len(self.constraints.groups), 2 * K))
        inside[0, :K] = step
        least, most = [0.0], [0.0]
        for i, (members, floor, cap) in enumerate(self.group_bounds(row)):
            inside[i + 1, members] = step
            least.append(floor - start[members].sum() - 1e-10)
            most.append(cap - start[members].sum() + 1e-10)
        eye = np.eye(K)
        size = np.block([[step * eye, -eye], [-step * eye, -eye]])
        down, up = (low - start - 1e-10) / step, (high - start + 1e-10) / step
        if grid:  # the solver wants whole bounds for whole numbers
            down, up = np.ceil(down), np.floor(up)
        if np.any(low > high + ERROR) or np.any(down > up):
            return None
        solved = milp(
            np.repeat([0.0, 0.5], K),
            constraints=[
                LinearConstraint(inside, least, most),
                LinearConstraint(size, -np.inf, 0),
            ],
            bounds=Bounds(np.append(down, np.zeros(K)), np.append(up, np.full(K, 2.0))),
            integrality=np.repeat([float(grid), 0.0], K),
        )
        return solved.fun if solved.success else None


def _some(draw, names, values, most=3):
    picked = draw(st.lists(st.sampled_from(names), max_size=most, unique=True))
    return {name: draw(values) for name in picked}


# Not finer than what a solver can tell apart.
FOUR = st.integers(0, 10_000).map(lambda i: i / 10_000)
SHARES = st.one_of(st.sampled_from([0.0, 0.05, 0.1, 0.2, 0.3, 1 / 3, 0.5, 0.7, 1.0]), FOUR)
SMALL = st.one_of(st.sampled_from([0.0, 0.05, 0.1, 0.2]), FOUR.map(lambda x: 0.4 * x))
MONEY = st.one_of(
    st.sampled_from([0.0, 0.01, 1.0, 12.34, 33.33]),
    st.floats(0, 60).map(lambda x: round(x, 2)),
)
MOVES = st.one_of(st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.5, 1.0]), st.floats(0.05, 1))


def _starts(draw, K, n):
    kind = st.sampled_from(["vertex", "sparse", "even", "cents", "inner"])
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    rows = []
    for _ in range(n):
        picked = draw(kind)
        row = rng.dirichlet(np.ones(K))
        if picked == "vertex":
            row = np.eye(K)[rng.integers(K)]
        elif picked == "sparse":
            row = row * (rng.random(K) < 0.5) + np.eye(K)[rng.integers(K)] * 0.1
        elif picked == "even":
            row = np.ones(K)
        elif picked == "cents":
            row = rng.integers(0, 2000, K) / 100 + np.eye(K)[0] * 0.01
        rows.append(row / row.sum())
    return np.array(rows)


@st.composite
def cases(draw, largest=8, grid=True, moves=True, most_rows=4):
    K, n = draw(st.integers(2, largest)), draw(st.integers(1, most_rows))
    channels = NAMES[:K]
    frozen = tuple(draw(st.lists(st.sampled_from(channels), max_size=1, unique=True)))
    free = [name for name in channels if name not in frozen]
    groups = []
    if K >= 3 and draw(st.booleans()):
        cut = draw(st.integers(2, K - 1))
        bounds = draw(
            st.sampled_from(
                [("floor",), ("cap",), ("floor", "cap"), ("cap_money",), ("floor_money",)]
            )
        )
        values = sorted(draw(MONEY if "money" in bounds[0] else SHARES) for _ in bounds)
        groups.append(
            Group(channels=channels[:cut], **dict(zip(bounds, values, strict=True)))
        )
        if cut >= 3 and draw(st.booleans()):
            groups.append(Group(channels=channels[1:cut], cap=draw(SHARES)))
        elif K - cut >= 2 and draw(st.booleans()):
            groups.append(Group(channels=channels[cut:], floor=draw(SMALL)))
    try:
        constraints = Constraints(
            floors=_some(draw, free, SMALL),
            caps=_some(draw, free, SHARES),
            floors_money=_some(draw, free, MONEY, 1),
            caps_money=_some(draw, free, MONEY, 1),
            frozen=frozen,
            groups=tuple(groups),
            largest_move=draw(st.none() | MOVES) if moves else None,
            largest_move_money=draw(st.none() | st.sampled_from([0.5, 12.34, 40.0]))
            if moves
            else None,
            grid=draw(st.none() | st.sampled_from([0.01, 0.05, 0.1])) if grid else None,
            open=tuple(
                draw(st.lists(st.sampled_from([*channels, "*"]), max_size=2, unique=True))
            ),
        )
        case = Case(
            constraints,
            channels,
            _starts(draw, K, n),
            np.array(
                draw(
                    st.lists(
                        st.sampled_from([100.0, 333.33, 0.07, 33.33, 250.5, 1e6]),
                        min_size=n,
                        max_size=n,
                    )
                )
            ),
            np.random.default_rng(draw(st.integers(0, 99))).random((n, K)) < 0.7,
            draw(st.integers(0, 10**6)),
        )
        case.limits()
    except ConfigError:
        assume(False)
    return case
