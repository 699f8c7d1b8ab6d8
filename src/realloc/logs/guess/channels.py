"""The channels: by their names, by what they sum to, or as a proposal by their values."""

from dataclasses import dataclass

import numpy as np

from realloc.base.errors import LogError
from realloc.base.numerics.nnls import nnls
from realloc.base.simplex import Floats, Integers
from realloc.logs import names
from realloc.logs.guess.sample import MOSTLY, GuessSample
from realloc.logs.reading.arrow import compute as pc

FIT_ROWS = 4000
FEW_VALUES = 12  # a column with no more different values is a rating or a count, not money
CHANGING = 0.5  # part of the units whose amounts must change
WHOLES = (1.0, 100.0, 10_000.0)  # what shares, percents and basis points sum to


@dataclass(frozen=True)
class FoundChannels:
    """The channels, whether they are shares, and why they were taken for channels."""

    channels: tuple[str, ...]
    shares: bool
    why: str


def find_channels(sample: GuessSample, units: Integers, taken: set[str]) -> FoundChannels:
    """The channels by name, else by what sums to 1 or a budget, else amounts that change."""
    amounts = {
        name: values
        for name, values in sample.amounts.items()
        if not names.looks_earlier(name)
    }
    spends = [name for name in amounts if names.looks_spent(name)]
    # Written in a way that most cells do not share: the check says how to write them.
    unread = [name for name in sample.texts if names.looks_spent(name)]
    unread = [name for name in unread if _has_digits(sample, name)]
    if len(spends) + len(unread) >= 2:
        whole = whole_of([amounts[name] for name in spends])
        return FoundChannels((*spends, *unread), whole is not None, "named like a spend")
    shares = [name for name in amounts if not names.SHARE.isdisjoint(names.words(name))]
    if len(shares) >= 2 and whole_of([amounts[name] for name in shares]) is not None:
        return FoundChannels(tuple(shares), True, "named like a share")
    for whole in WHOLES:
        limit = whole * (1 + 1e-6)
        small = {n: v for n, v in amounts.items() if np.nanquantile(v, MOSTLY) <= limit}
        found = _summands(small, np.full(sample.table.num_rows, whole))
        if found:
            return FoundChannels(found, True, f"these columns sum to {whole:g}")
    for budget in names.mentioning(amounts, names.BUDGET):
        others = {name: values for name, values in amounts.items() if name != budget}
        found = _summands(others, amounts[budget])
        if found:
            return FoundChannels(found, False, f"these columns sum to {budget!r}")
    free = [name for name in amounts if name not in taken and not names.looks_later(name)]
    return _propose(sample, units, free)


def _propose(sample: GuessSample, units: Integers, free: list[str]) -> FoundChannels:
    """Amounts that change within units: those named like a medium, or all that are no state."""
    able = [name for name in free if _may_be_spend(sample.amounts[name], units)]
    media = [name for name in able if names.looks_medium(name)]
    if len(media) >= 2:
        why = "named like a medium, changes within units: is it spend?"
        return FoundChannels(tuple(media), False, why)
    able = [name for name in able if not names.looks_state(name)]
    if len(able) >= 2:
        why = "an amount that changes within units, named otherwise: is it spend?"
        return FoundChannels(tuple(able), False, why)
    raise LogError(
        "Expected two or more channel columns (named like `ads_spend` or `share_ads`, summing to 1 "
        "or to a budget, or amounts that change within units), but found none among the numbers: "
        f"{', '.join(list(sample.numbers)[:20]) or 'there are none'}. Name them: realloc init … "
        "--channels ads,coupon; if there is one row per channel, --channel-column channel "
        "--spend-column amount."
    )


def _may_be_spend(values: Floats, units: Integers) -> bool:
    """Whether amounts look like money that somebody decides on again and again."""
    known = np.isfinite(values) & (units >= 0)
    amounts = values[known]
    distinct = np.unique(amounts)
    if len(distinct) <= FEW_VALUES and np.all(distinct == np.rint(distinct)):
        return False
    _, of = np.unique(units[known], return_inverse=True)
    lowest = np.full(of.max(initial=-1) + 1, np.inf)
    highest = np.full(len(lowest), -np.inf)
    np.minimum.at(lowest, of, amounts)
    np.maximum.at(highest, of, amounts)
    return bool(np.mean(highest > lowest) >= CHANGING) if len(lowest) else False


def _has_digits(sample: GuessSample, name: str) -> bool:
    digits = pc.fill_null(pc.match_substring_regex(sample.column(name), r"\d"), False)
    return bool(np.asarray(digits).mean() >= 0.5)


def whole_of(values: list[Floats]) -> float | None:
    """1, 100 or 10,000 where most rows sum to about that."""
    total = np.nansum(values, axis=0)
    for whole in WHOLES:
        if np.mean(np.abs(total / whole - 1) < 0.02) > MOSTLY:
            return whole
    return None


def _summands(candidates: dict[str, Floats], total: Floats) -> tuple[str, ...]:
    """The columns that add up to `total`, or none.

    Non-negative least squares, twice without the worst rows; summands have a weight of 1.
    """
    if len(candidates) < 2:
        return ()
    stride = -(-len(total) // FIT_ROWS)
    sampled = [values[::stride] for values in candidates.values()]
    matrix = np.nan_to_num(np.stack(sampled, axis=1), posinf=0.0)
    goal = np.nan_to_num(total[::stride], posinf=0.0)
    scale = max(float(np.quantile(np.abs(goal), MOSTLY)), 1e-12)
    matrix /= scale
    goal /= scale
    for _ in range(2):
        off = np.abs(matrix @ nnls(matrix, goal) - goal)
        kept = off <= max(float(np.quantile(off, MOSTLY)), 1e-9)
        matrix = matrix[kept]
        goal = goal[kept]
    weights = nnls(matrix, goal)
    residual = float(np.linalg.norm(matrix @ weights - goal))
    near_one = np.abs(weights - 1) < 0.01
    clear = np.all(near_one | (weights < 0.01))
    if not clear or residual >= 0.005 * np.sqrt(len(goal)) or near_one.sum() < 2:
        return ()
    return tuple(name for name, used in zip(candidates, near_one, strict=True) if used)
