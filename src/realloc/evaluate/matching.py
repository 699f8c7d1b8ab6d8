"""Matched controls: for every event its nearest no-move rows of the same date and category, within a caliper.

Covariates are standardised, and the distance of two rows is √(mean_j z_j²): a caliper of 0.2 means that covariates differ by
a fifth of a standard deviation, taken together. One tree per stratum answers for all calipers and numbers of neighbours at
once, because a stricter setting keeps a part of what a looser one found.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree

from realloc.base.errors import ConfigError, LogError
from realloc.base.validation import check_types
from realloc.evaluate.events import Floats, Rows

Strata = NDArray[np.integer]
Units = NDArray[np.integer]

NOBODY = -1
TINY = 1e-300
ROUNDING = 1e-9  # of the largest variance: directions with less are copies of others


@dataclass(frozen=True, kw_only=True)
class MatchSetting:
    """How strictly to match: largest distance, most controls per event, and the category they must share (None: any)."""

    caliper: float
    neighbours: int
    category: str | None = None

    def __post_init__(self) -> None:
        check_types(self, "the matching setting")
        if not (self.caliper > 0 and self.neighbours >= 1):
            raise ConfigError(
                f"Expected a caliper above 0 and at least 1 neighbour, got {self.caliper} and {self.neighbours}."
            )

    def __str__(self) -> str:
        where = "any category" if self.category is None else f"the same {self.category}"
        return f"caliper {self.caliper:g}, up to {self.neighbours} controls of {where}"


@dataclass(frozen=True, eq=False)
class Matches:
    """Events and their controls as row positions, nearest first; −1 where there are fewer than k."""

    events: Rows  # (m,)
    controls: Rows  # (m, k)
    distance: Floats  # (m, k), infinite where there is nobody

    def __len__(self) -> int:
        return len(self.events)

    @property
    def weights(self) -> Floats:
        """w_ec: the same for all controls of an event, (m, k), summing to 1."""
        found = self.controls != NOBODY
        return found / np.maximum(found.sum(axis=1, keepdims=True), 1)

    def within(self, caliper: float, neighbours: int) -> "Matches":
        """What a stricter caliper and fewer neighbours leave; events without any control are left out."""
        return self.first(np.minimum((self.distance <= caliper).sum(axis=1), neighbours))

    def first(self, counts: Rows) -> "Matches":
        """Only the `counts` (m,) nearest controls of each event; events that keep none are left out."""
        kept = np.arange(max(int(counts.max(initial=0)), 1)) < counts[:, None]
        some, width = counts > 0, kept.shape[1]
        return Matches(
            self.events[some],
            np.where(kept, self.controls[:, :width], NOBODY)[some],
            np.where(kept, self.distance[:, :width], np.inf)[some],
        )

    def at(self, rows: Rows) -> "Matches":
        """The same with positions in a table of which these were picked as `rows`."""
        return Matches(
            rows[self.events],
            np.where(self.controls == NOBODY, NOBODY, rows[self.controls]),
            self.distance,
        )

    def contrast(self, values: Floats) -> Floats:
        """v_e − Σ_c w_ec v_c for every event; `values` (n,) or (n, d) by row position."""
        return values[self.events] - self.control_means(values)

    def control_means(self, values: Floats) -> Floats:
        """Σ_c w_ec v_c, one gather per neighbour so that memory stays that of the events."""
        total = np.zeros((len(self), *values.shape[1:]))
        for near in self.controls.T:
            known = np.flatnonzero(near != NOBODY)
            total[known] += values[near[known]]
        count = (self.controls != NOBODY).sum(axis=1).reshape(-1, *[1] * (values.ndim - 1))
        total /= np.maximum(count, 1)
        return total

    def sharing(self, leverage: Floats, values: Floats, units: Units) -> float:
        """How much wider an interval of Σ_e a_e R_e must be because events share controls: at least 1.

        The sum is linear in rows, Σ_i b_i v_i with b = a on events and b_c = −Σ_e a_e w_ec on controls, and rows of
        different units are independent once v has lost what a stratum has in common. So κ² = Σ_units (Σ b_i v_i)² /
        Σ_units (Σ a_e R_e)², where the lower sum is what events alone tell. `leverage` a (m,); `values` v and `units`
        (n,) by row position.
        """
        found = self.controls != NOBODY
        part = (leverage[:, None] * self.weights)[found]
        mine, theirs = self.events, self.controls[found]
        codes = np.unique(np.concatenate([units[mine], units[theirs]]), return_inverse=True)[1]
        own, lent = codes[: len(mine)], codes[len(mine) :]
        response = self.contrast(values)
        alone = np.bincount(own, leverage * (response - response.mean()), codes.max(initial=0) + 1)
        centre = values[mine].mean(), np.average(values[theirs], weights=self.weights[found])
        whole = np.bincount(own, leverage * (values[mine] - centre[0]), len(alone))
        whole -= np.bincount(lent, part * (values[theirs] - centre[1]), len(alone))
        return float(np.sqrt(max(1.0, np.square(whole).sum() / max(np.square(alone).sum(), TINY))))


def standardise(values: Floats, mahalanobis: bool = False) -> Floats:
    """Covariates (n, d) as coordinates whose Euclidean distance is √(mean_j z_j²), or with `mahalanobis` the mean over
    uncorrelated directions instead. What never varies adds nothing.
    """
    centred = values - values.mean(axis=0)
    if mahalanobis:
        variance, axes = np.linalg.eigh(np.atleast_2d(np.cov(centred.T)))
        kept = variance > ROUNDING * max(variance.max(), 0.0)
        scaled = centred @ (axes[:, kept] / np.sqrt(variance[kept]))
    else:
        spread = centred.std(axis=0)
        kept = spread > ROUNDING * (1 + np.abs(values).max(axis=0))
        scaled = centred[:, kept] / spread[kept]
    return scaled / np.sqrt(max(scaled.shape[1], 1))


def match_events(
    z: Floats, events: Rows, controls: Rows, strata: Strata, setting: MatchSetting
) -> Matches:
    """The nearest controls of every event in its stratum. z (n, d) from `standardise`, strata (n,), rows as positions.

    An event that is itself among the controls (a placebo) is never its own control.
    """
    return _nearest(z, events, controls, strata, setting).within(
        setting.caliper, setting.neighbours
    )


def match_placebos(
    z: Floats, matches: Matches, controls: Rows, strata: Strata, setting: MatchSetting
) -> tuple[Matches, Matches]:
    """Events, and in their place the nearest control of each, matched as if it had moved.

    Both have the same number of controls row by row, because a mean over fewer is noisier. Events whose placebo has no
    control of its own are left out on both sides.
    """
    placebos = _nearest(z, matches.controls[:, 0], controls, strata, setting)
    common = np.minimum(
        (matches.distance <= setting.caliper).sum(axis=1),
        (placebos.distance <= setting.caliper).sum(axis=1),
    )
    return matches.first(common), placebos.first(common)


def _nearest(
    z: Floats, events: Rows, controls: Rows, strata: Strata, setting: MatchSetting
) -> Matches:
    """All events with whom they have within the caliper, be it nobody."""
    if not np.isfinite(z).all():
        raise LogError(
            "Expected finite covariates to match on, got missing ones. Fill them and add a flag."
        )
    own = np.zeros(len(z), dtype=bool)
    own[controls] = True
    placebo = bool(own[events].any())
    k = setting.neighbours + placebo
    near = np.full((len(events), k), NOBODY, dtype=np.intp)
    distance = np.full((len(events), k), np.inf)
    asked, pool = _by_stratum(strata, events), _by_stratum(strata, controls)
    for stratum, places in asked.items():
        if stratum not in pool:
            continue
        rows = controls[pool[stratum]]
        bound = np.nextafter(
            setting.caliper, np.inf
        )  # the tree takes what is nearer than its bound, not equal
        found, index = KDTree(z[rows]).query(z[events[places]], k, distance_upper_bound=bound)
        near[places] = np.append(rows, NOBODY)[index].reshape(-1, k)
        distance[places] = np.reshape(found, (-1, k))
    if placebo:
        near, distance = _without_itself(events, near, distance)
    return Matches(events, near[:, : setting.neighbours], distance[:, : setting.neighbours])


def _by_stratum(strata: Strata, rows: Rows) -> dict[int, Rows]:
    """Where in `rows` the rows of each stratum stand."""
    order = np.argsort(strata[rows], kind="stable")
    present, starts = np.unique(strata[rows][order], return_index=True)
    return (
        dict(zip(present.tolist(), np.split(order, starts[1:]), strict=True)) if len(rows) else {}
    )


def _without_itself(events: Rows, near: Rows, distance: Floats) -> tuple[Rows, Floats]:
    distance = np.where(near == events[:, None], np.inf, distance)
    order = np.argsort(distance, axis=1, kind="stable")
    near, distance = (
        np.take_along_axis(near, order, axis=1),
        np.take_along_axis(distance, order, axis=1),
    )
    return np.where(np.isinf(distance), NOBODY, near), distance
