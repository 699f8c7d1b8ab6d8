"""Predicted against realised: what of the model's gains the test confirmed,
and what follows for β and τ.

Units are binned by their predicted gain g, those that the model would not move in a bin of their
own. In each bin the difference of the arms is what was realised; the share is Σ_b n_b·realised_b /
Σ_b n_b·g_b, slope and intercept are those of realised on predicted over bins. All rest on one
saturated regression with a covariance that allows for clusters.

With realised ≈ a + k·g the rule g − β·σ ≥ τ meant k·g + a − β·σ ≥ τ, which is g − (β/k)·σ ≥ (τ −
a)/k.
"""

from dataclasses import dataclass

import numpy as np
from scipy import stats

from realloc.base.errors import LogError
from realloc.base.numbers import signed, span
from realloc.base.simplex import Floats, Mask
from realloc.evaluate.abtest.arms import Arms, Codes
from realloc.evaluate.abtest.config import AbtestConfig
from realloc.evaluate.result import NAN, Estimate, group_codes

MOST_BINS = 10  # of moved units
LEAST_UNITS = 50  # of each arm in a bin
WIDEST = 1.0  # an interval of the share that is wider holds both nothing and everything
UNBINNED = " Slope and intercept cannot be estimated without predictions for control units."


@dataclass(frozen=True)
class Bin:
    """Units of similar predicted gain."""

    predicted: float  # mean
    predicted_lower: float  # mean of the model's lower bounds; NaN without them
    realised: float
    low: float
    high: float
    control: int  # units
    treatment: int


@dataclass(frozen=True)
class CalibrationFit:
    """What the test says of the predictions; NaN where it says nothing."""

    share: Estimate  # realised over predicted
    slope: Estimate
    intercept: Estimate  # in units of the outcome per unit
    surplus: Estimate  # realised minus the mean lower bound

    @property
    def is_shifted(self) -> bool:
        """Whether the bins follow a line that is not through 0, and not realised = predicted."""
        slope = self.slope
        through_zero = self.intercept.low <= 0 <= self.intercept.high
        clear = slope.low > 0 and _width(slope) <= WIDEST and not through_zero
        return clear and not (_holds_one(slope) and _holds_one(self.share))

    @property
    def is_unranked(self) -> bool:
        """Whether something was gained, but not where it was predicted."""
        slope = self.slope
        flat = slope.low <= 0 and slope.high < 1 and _width(slope) <= WIDEST
        return flat and self.share.low > 0


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """How predictions fared, and the settings of `[decision]` that would have been right."""

    fit: CalibrationFit
    bins: tuple[Bin, ...]
    change: str  # none, raise_penalty, lower_penalty, unranked, stop, inconclusive
    beta: float  # recommended
    threshold: float  # recommended
    sentence: str


@dataclass(frozen=True, eq=False)
class Binned:
    """Bins as columns: mean predictions, differences of the arms and their covariance,
    numbers of units.
    """

    predicted: Floats
    predicted_lower: Floats
    realised: Floats
    covariance: Floats
    control: Codes
    treatment: Codes
    parts: Floats  # of all predicted units
    whole: bool  # predictions for control units, too


def calibrate(
    arms: Arms, config: AbtestConfig, beta: float, threshold: float
) -> Calibration:
    """Compare predicted gains with the arms' difference.

    `beta` and `threshold` are those that the model decided with.
    """
    binned = _bin(arms, config)
    units = len(arms.treated)
    quantile = float(stats.t.isf(config.alpha / 2, max(int(arms.clusters.max()) - 1, 1)))
    fit = _fit(binned, quantile, units)
    change, new_beta, new_threshold = recommend_change(
        fit, beta, threshold, arms.rows / units
    )
    half = quantile * np.sqrt(np.diag(binned.covariance))
    columns = (
        binned.predicted,
        binned.predicted_lower,
        binned.realised,
        binned.realised - half,
        binned.realised + half,
        binned.control,
        binned.treatment,
    )
    bins = tuple(Bin(*row) for row in zip(*(c.tolist() for c in columns), strict=True))
    steps = f"{_step('β', beta, new_beta)}, {_step('τ', threshold, new_threshold)}"
    if change == "lower_penalty":
        steps = f"a smaller uncertainty penalty will do, {steps}"
    if change.endswith("penalty") and not fit.is_shifted and new_beta == new_threshold == 0:
        steps = "β and τ are 0 and may stay, as a gain of another size is still a gain"
    sure = f"{1 - config.alpha:.0%}"
    sentence = _say_change(change, fit, steps, sure) + _say_bounds(fit.surplus, bins, sure)
    return Calibration(
        fit=fit,
        bins=bins,
        change=change,
        beta=new_beta,
        threshold=new_threshold,
        sentence=sentence if binned.whole else sentence + UNBINNED,
    )


def _bin(arms: Arms, config: AbtestConfig) -> Binned:
    treated = arms.treated
    gain = arms.values[config.predicted or ""]
    lower = arms.values.get(config.predicted_lower or "", np.full(len(gain), np.nan))
    lost = int(np.isnan(gain[treated]).sum())
    if lost:
        raise LogError(
            f"Expected a predicted gain {config.predicted!r} for every unit of the treatment arm, "
            f"but {lost:,} are empty. Write 0 for units that were not moved."
        )
    # Without control's predictions nothing can be binned.
    whole = not np.isnan(gain).any()
    codes = make_bins(gain, treated) if whole else np.zeros(len(gain), dtype=np.int64)
    known = treated | whole
    size = np.bincount(codes[known])
    realised, covariance = differences(
        _adjusted(arms, config), treated, codes, arms.clusters
    )
    return Binned(
        predicted=np.bincount(codes[known], gain[known]) / size,
        predicted_lower=np.bincount(codes[known], lower[known]) / size,
        realised=realised,
        covariance=covariance,
        control=np.bincount(codes[~treated]),
        treatment=np.bincount(codes[treated]),
        parts=size / size.sum(),
        whole=whole,
    )


def _fit(binned: Binned, quantile: float, n: int) -> CalibrationFit:
    """The share, the line over bins and the surplus over the lower bounds,
    each with its interval.
    """

    def estimate(name: str, value: float, variance: float) -> Estimate:
        return Estimate.around(name, value, quantile * np.sqrt(variance), n)

    parts = binned.parts
    uplift = float(parts @ binned.realised)
    variance = float(parts @ binned.covariance @ parts)
    promised = float(parts @ binned.predicted)
    promised = promised if promised > 0 else NAN
    line, covariance = _line(binned)
    return CalibrationFit(
        share=estimate("share", uplift / promised, variance / promised**2),
        slope=estimate("slope", line[1], covariance[1, 1]),
        intercept=estimate("intercept", line[0], covariance[0, 0]),
        surplus=estimate(
            "surplus", uplift - float(parts @ binned.predicted_lower), variance
        ),
    )


def make_bins(gain: Floats, treated: Mask) -> Codes:
    """Codes of bins: units that would not be moved,
    then equal numbers of the others by rising gain.
    """
    moved = gain != 0
    codes = np.zeros(len(gain), dtype=np.int64)
    smaller = min(int((moved & treated).sum()), int((moved & ~treated).sum()))
    count = min(MOST_BINS, max(smaller // LEAST_UNITS, 1))
    if moved.any():
        edges = np.unique(np.quantile(gain[moved], np.arange(1, count) / count))
        codes[moved] = 1 + np.searchsorted(edges, gain[moved], side="right")
    # A bin without both arms compares nothing and joins the one before; the first one, the one
    # after.
    for code in range(int(codes.max()), 0, -1):
        if not _has_both(codes == code, treated):
            codes[codes == code] = code - 1
    codes = group_codes(codes)
    if not _has_both(codes == 0, treated):
        codes = np.maximum(codes - 1, 0)
    return codes


def _has_both(mask: Mask, treated: Mask) -> bool:
    return bool((mask & treated).sum() >= 2 and (mask & ~treated).sum() >= 2)


def differences(
    outcome: Floats, treated: Mask, codes: Codes, clusters: Codes
) -> tuple[Floats, Floats]:
    """Difference of the arms in each bin and their covariance (CR1),
    without building the regression.
    """
    bins = int(codes.max()) + 1
    groups = int(clusters.max()) + 1
    cell = 2 * codes + treated
    size = np.bincount(cell, minlength=2 * bins)
    mean = np.bincount(cell, outcome, 2 * bins) / size
    residual = outcome - mean[cell]
    # A unit pulls its bin's difference by ±residual / cell size; pulls of one cluster belong
    # together.
    pull = residual / size[cell] * np.where(treated, 1.0, -1.0)
    pulls = np.bincount(clusters * bins + codes, pull, groups * bins).reshape(groups, bins)
    correction = groups / (groups - 1) * (len(outcome) - 1) / (len(outcome) - 2 * bins)
    return mean[1::2] - mean[::2], correction * pulls.T @ pulls


def recommend_change(
    fit: CalibrationFit, beta: float, threshold: float, rows_per_unit: float = 1.0
) -> tuple[str, float, float]:
    """What to do, the new β and the new τ (which is per row, the intercept per unit)."""
    share = fit.share
    k = share.value
    shift = 0.0
    if fit.is_shifted:
        k = fit.slope.value
        shift = fit.intercept.value / rows_per_unit
    elif fit.is_unranked:
        return "unranked", beta, threshold
    elif not _width(share) <= WIDEST:  # NaN, too
        return "inconclusive", beta, threshold
    elif _holds_one(share):
        return "none", beta, threshold
    elif share.low <= 0:
        return "stop", beta, threshold
    new = max((threshold - shift) / k, 0.0)
    is_larger = beta / k > beta or new > threshold
    return "raise_penalty" if is_larger else "lower_penalty", beta / k, new


def _width(estimate: Estimate) -> float:
    return estimate.high - estimate.low


def _holds_one(estimate: Estimate) -> bool:
    return estimate.low <= 1 <= estimate.high


def _adjusted(arms: Arms, config: AbtestConfig) -> Floats:
    """The outcome per unit, less what its pre-period value explains."""
    metric = config.metric(config.predicted_metric or "")
    outcome = arms.values[metric.measured[0]]
    if not metric.earlier:
        return outcome
    before = arms.values[metric.earlier[0]]
    covariance = np.cov(outcome, before)
    return outcome - covariance[0, 1] / covariance[1, 1] * (before - before.mean())


def _line(binned: Binned) -> tuple[Floats, Floats]:
    """Intercept and slope over bins, and their covariance; NaN where bins do not differ."""
    predicted = binned.predicted
    if np.ptp(predicted) == 0:
        return np.full(2, np.nan), np.full((2, 2), np.nan)
    # Weights by numbers: variances of bins are noisy themselves.
    weights = 1 / (1 / binned.control + 1 / binned.treatment)
    design = np.stack([np.ones(len(predicted)), predicted], axis=1)
    solver = np.linalg.solve(design.T @ (weights[:, None] * design), design.T * weights)
    return solver @ binned.realised, solver @ binned.covariance @ solver.T


def _say_change(change: str, fit: CalibrationFit, steps: str, sure: str) -> str:
    share = fit.share
    slope = fit.slope
    if np.isnan(share.value):
        return "No gain was predicted, so nothing can be said about β and τ."
    advice = {
        "none": "the interval holds 1, so β and τ stay as they are",
        "inconclusive": "the interval is too wide to tell, so β and τ stay as they are; a larger "
        "or longer test is needed",
        "stop": "no gain was confirmed, and no β or τ changes that; do not deploy, find out what "
        "the logs lack",
        "unranked": f"but it does not grow with what was predicted (slope {slope.value:.2f}, "
        f"{slope.low:.2f} to {slope.high:.2f}), and no β or τ changes that; check that these gains "
        "are of this treatment",
    }.get(change, steps)
    if fit.is_shifted:
        line = f"{signed(fit.intercept.value)} {slope.value:+.2f} × predicted"
        advice = f"by bins it is {line}; {advice}"
    return (
        f"Realised {share.value:.2f} of predicted ({sure} {share.low:.2f} to {share.high:.2f}): "
        f"{advice}."
    )


def _step(name: str, old: float, new: float) -> str:
    if new == old:
        return f"{name} stays {old:.3g}"
    return f"{'raise' if new > old else 'lower'} {name} from {old:.3g} to {new:.3g}"


def _say_bounds(surplus: Estimate, bins: tuple[Bin, ...], sure: str) -> str:
    """Whether lower bounds hold on average, over all units and in bins; never of a single unit."""
    if np.isnan(surplus.value):
        return ""
    verdict = "are neither confirmed nor refuted"
    if surplus.low > 0:
        verdict = "hold on average"
    if surplus.high < 0:
        verdict = "do not hold on average (σ is too small)"
    failed = sum(part.high < part.predicted_lower for part in bins)
    return (
        f" Lower bounds {verdict}: realised minus bound {signed(surplus.value)} ({sure} "
        f"{span(surplus.low, surplus.high)}), contradicted in {failed} of {len(bins)} "
        "bins; single units cannot be tested."
    )
