"""Matched controls: for every event its nearest no-move rows of the same date and category.

Covariates are standardised, and the distance of two rows is √(mean_j z_j²): a caliper of 0.2 means
that covariates differ by a fifth of a standard deviation, taken together. One tree per stratum
answers for all calipers and numbers of neighbours at once, because a stricter setting keeps a part
of what a looser one found.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree

from realloc.base.errors import LogError
from realloc.base.simplex import Floats, Rows
from realloc.base.validation import check_range, check_types
from realloc.evaluate.result import group_codes

Strata = NDArray[np.integer]
Units = NDArray[np.integer]

NOBODY = -1
TINY = 1e-300
ROUNDING = 1e-9  # spread relative to the values below which a covariate counts as constant


@dataclass(frozen=True, kw_only=True)
class MatchSetting:
    """How strictly to match: largest distance, most controls per event,
    and their common category.
    """

    caliper: float
    neighbours: int
    category: str | None = None  # None: any

    def __post_init__(self) -> None:
        check_types(self, "the matching setting")
        check_range(self, ("caliper",), "> 0", "the matching setting")
        check_range(self, ("neighbours",), ">= 1", "the matching setting")

    def __str__(self) -> str:
        where = "any category" if self.category is None else f"the same {self.category}"
        return f"caliper {self.caliper:g}, up to {self.neighbours} controls of {where}"


@dataclass(frozen=True, eq=False)
class Matches:
    """Events and their controls as row positions, nearest first;
    −1 where there are fewer than k.
    """

    events: Rows  # (m,)
    controls: Rows  # (m, k)
    distance: Floats  # (m, k), infinite where there is nobody

    def __len__(self) -> int:
        return len(self.events)

    @property
    def weights(self) -> Floats:
        """w_ec: the same for all controls of an event, (m, k), summing to 1."""
        present = self.controls != NOBODY
        return present / np.maximum(present.sum(axis=1, keepdims=True), 1)

    def within(self, caliper: float, neighbours: int) -> "Matches":
        """What a stricter caliper and fewer neighbours leave;
        events without controls are left out.
        """
        return self.first(np.minimum((self.distance <= caliper).sum(axis=1), neighbours))

    def first(self, counts: Rows) -> "Matches":
        """Only the `counts` (m,) nearest controls of each event;
        events that keep none are left out.
        """
        width = max(int(counts.max(initial=0)), 1)
        kept = np.arange(width) < counts[:, None]
        controls = np.where(kept, self.controls[:, :width], NOBODY)
        distance = np.where(kept, self.distance[:, :width], np.inf)
        some = counts > 0
        return Matches(self.events[some], controls[some], distance[some])

    def at(self, rows: Rows) -> "Matches":
        """The same with positions in a table of which these were picked as `rows`."""
        controls = np.where(self.controls == NOBODY, NOBODY, rows[self.controls])
        return Matches(rows[self.events], controls, self.distance)

    def contrast(self, values: Floats) -> Floats:
        """v_e − Σ_c w_ec v_c for every event; `values` (n,) or (n, d) by row position."""
        total = np.zeros((len(self), *values.shape[1:]))
        # One gather per neighbour: memory stays that of the events.
        for near in self.controls.T:
            known = np.flatnonzero(near != NOBODY)
            total[known] += values[near[known]]
        count = np.maximum((self.controls != NOBODY).sum(axis=1), 1)
        return values[self.events] - (total.T / count).T

    def sharing(self, leverage: Floats, values: Floats, units: Units) -> float:
        """How much wider an interval of Σ_e a_e R_e must be because events share controls:
        at least 1.

        The sum is linear in rows, Σ_i b_i v_i with b = a on events and b_c = −Σ_e a_e w_ec on
        controls, and rows of different units are independent once v has lost what a stratum has in
        common. So κ² = Σ_units (Σ b_i v_i)² / Σ_units (Σ a_e R_e)², where the lower sum is what
        events alone tell. `leverage` a (m,); `values` v and `units` (n,) by row position.
        """
        present = self.controls != NOBODY
        weights = self.weights[present]
        lent = (leverage[:, None] * self.weights)[present]
        events = self.events
        controls = self.controls[present]
        codes = group_codes(units[np.append(events, controls)])
        event_units = codes[: len(events)]
        size = codes.max(initial=0) + 1
        response = self.contrast(values)
        alone = np.bincount(event_units, leverage * (response - response.mean()), size)
        own = leverage * (values[events] - values[events].mean())
        shared = lent * (values[controls] - np.average(values[controls], weights=weights))
        whole = np.bincount(event_units, own, size)
        whole -= np.bincount(codes[len(events) :], shared, size)
        return float(
            np.sqrt(max(1.0, np.square(whole).sum() / max(np.square(alone).sum(), TINY)))
        )


def standardise(values: Floats) -> Floats:
    """Covariates (n, d) as coordinates whose Euclidean distance is √(mean_j z_j²).

    What never varies adds nothing.
    """
    centred = values - values.mean(axis=0)
    spread = centred.std(axis=0)
    kept = spread > ROUNDING * (1 + np.abs(values).max(axis=0))
    return centred[:, kept] / spread[kept] / np.sqrt(max(kept.sum(), 1))


def match_events(
    z: Floats, events: Rows, controls: Rows, strata: Strata, setting: MatchSetting
) -> Matches:
    """The nearest controls of every event in its stratum.

    z (n, d) from `standardise`, strata (n,), rows as positions. An event that is itself among the
    controls (a placebo) is never its own control.
    """
    nearest = _nearest(z, events, controls, strata, setting)
    return nearest.within(setting.caliper, setting.neighbours)


def match_placebos(
    z: Floats, matches: Matches, controls: Rows, strata: Strata, setting: MatchSetting
) -> tuple[Matches, Matches]:
    """Events, and in their place the nearest control of each, matched as if it had moved.

    Both have the same number of controls row by row, because a mean over fewer is noisier. Events
    whose placebo has no control of its own are left out on both sides.
    """
    placebos = _nearest(z, matches.controls[:, 0], controls, strata, setting)
    count = (matches.distance <= setting.caliper).sum(axis=1)
    common = np.minimum(count, (placebos.distance <= setting.caliper).sum(axis=1))
    return matches.first(common), placebos.first(common)


def _nearest(
    z: Floats, events: Rows, controls: Rows, strata: Strata, setting: MatchSetting
) -> Matches:
    """All events with their controls within the caliper, even if there are none."""
    if not np.isfinite(z).all():
        raise LogError(
            "Expected finite covariates to match on, got missing ones. Fill them and add a flag."
        )
    k = setting.neighbours
    width = k + bool(np.isin(events, controls).any())  # a placebo finds itself, too
    near = np.full((len(events), width), NOBODY, dtype=np.intp)
    distance = np.full((len(events), width), np.inf)
    pool = _by_stratum(strata, controls)
    # The tree takes what is nearer than its bound, not equal.
    bound = np.nextafter(setting.caliper, np.inf)
    for stratum, places in _by_stratum(strata, events).items():
        if stratum in pool:
            rows = controls[pool[stratum]]
            tree = KDTree(z[rows])
            away, index = tree.query(z[events[places]], width, distance_upper_bound=bound)
            near[places] = np.append(rows, NOBODY)[index].reshape(-1, width)
            distance[places] = np.reshape(away, (-1, width))
    if width > k:
        distance[near == events[:, None]] = np.inf
        order = np.argsort(distance, axis=1, kind="stable")
        distance = np.take_along_axis(distance, order, axis=1)
        near = np.take_along_axis(near, order, axis=1)
        near[np.isinf(distance)] = NOBODY
    return Matches(events, near[:, :k], distance[:, :k])


def _by_stratum(strata: Strata, rows: Rows) -> dict[int, Rows]:
    """Where in `rows` the rows of each stratum stand."""
    if not len(rows):
        return {}
    order = np.argsort(strata[rows], kind="stable")
    present, starts = np.unique(strata[rows][order], return_index=True)
    return dict(zip(present.tolist(), np.split(order, starts[1:]), strict=True))
