"""How good m and e are: errors, calibration, overlap, dependence of residuals on features."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from realloc.base.numbers import plain
from realloc.learn.nuisances.sample import Floats, NuisanceSample
from realloc.learn.scaling import Floats32

NOTICEABLE = 0.05  # absolute correlation below which a dependence is small, however sure
FORMS = {"linear": "", "rank": "the rank of ", "square": "the square of "}


@dataclass(frozen=True)
class Dependence:
    """The strongest correlation of residuals with a feature, its square or its rank."""

    feature: int  # column of x
    form: str  # linear | rank | square
    channel: int | None  # of the shares; none for the outcome
    correlation: float
    z: float  # |correlation|·√n, too high where rows of a unit are not independent
    p_value: float  # of the largest of all correlations (Bonferroni)


@dataclass(frozen=True)
class Candidates:
    """The models of one target: out-of-fold squared errors, mean weights, each fold's choice."""

    errors: dict[str, float]
    weights: dict[str, float]
    chosen: tuple[str, ...]

    def line(self, target: str) -> str:
        """One sentence."""
        errors = ", ".join(f"{name} {plain(error)}" for name, error in self.errors.items())
        weights = ", ".join(f"{name} {weight:.2f}" for name, weight in self.weights.items())
        return (
            f"Out-of-fold squared error of the {target}: {errors}. Mean weights: {weights}."
        )


@dataclass(frozen=True)
class Diagnostics:
    """Out-of-fold quality.

    `None` where a figure is undefined, because what it explains is constant.
    """

    rows: int
    folds: int
    outcome_r2: float | None
    slope: float | None  # of the outcome on m; 1 is calibrated
    intercept: float | None
    share_r2: tuple[float | None, ...]
    # var(p − e) / var(p): the part of each share that features do not decide
    share_left: tuple[float | None, ...]
    outcome_dependence: Dependence
    share_dependence: Dependence
    outcome: Candidates
    shares: Candidates

    @classmethod
    def from_json(cls, table: Mapping[str, Any]) -> "Diagnostics":
        """The diagnostics whose fields `asdict` gave."""
        values: dict[str, Any] = dict(table)
        for name in ("share_r2", "share_left"):
            values[name] = tuple(table[name])
        for name in ("outcome_dependence", "share_dependence"):
            values[name] = Dependence(**table[name])
        for name in ("outcome", "shares"):
            values[name] = Candidates(
                **table[name] | {"chosen": tuple(table[name]["chosen"])}
            )
        return cls(**values)

    def lines(
        self, features: Sequence[str] = (), channels: Sequence[str] = ()
    ) -> list[str]:
        """Sentences for a report."""
        names = channels or [f"channel {k}" for k in range(len(self.share_r2))]
        lines = [
            _outcome_line(self),
            self.outcome.line("outcome"),
            self.shares.line("shares"),
        ]
        for name, r2, left in zip(names, self.share_r2, self.share_left, strict=True):
            lines.append(_share_line(name, r2, left))
        lines.append(_dependence_line(self.outcome_dependence, features, names))
        lines.append(_dependence_line(self.share_dependence, features, names))
        return lines


def diagnose(
    sample: NuisanceSample,
    outcome: Floats,
    shares: Floats,
    outcome_candidates: Candidates,
    share_candidates: Candidates,
) -> Diagnostics:
    """Figures of out-of-fold predictions m (n,) and e (n, K)."""
    w = sample.weights
    slope, intercept = calibration(sample.outcome, outcome, w)
    columns = list(zip(sample.shares.T, shares.T, strict=True))
    return Diagnostics(
        rows=len(outcome),
        folds=sample.folds,
        outcome_r2=r_squared(sample.outcome, outcome, w),
        slope=slope,
        intercept=intercept,
        share_r2=tuple(r_squared(share, predicted, w) for share, predicted in columns),
        share_left=tuple(_left(share, predicted, w) for share, predicted in columns),
        outcome_dependence=strongest(
            sample.x, (sample.outcome - outcome)[:, None], of_shares=False
        ),
        share_dependence=strongest(sample.x, sample.shares - shares, of_shares=True),
        outcome=outcome_candidates,
        shares=share_candidates,
    )


def r_squared(target: Floats, predicted: Floats, weights: Floats) -> float | None:
    """1 − error / variance; none for a constant target."""
    spread = _variance(target, weights)
    error = np.average((target - predicted) ** 2, weights=weights)
    return float(1 - error / spread) if spread else None


def calibration(
    target: Floats, predicted: Floats, weights: Floats
) -> tuple[float | None, float | None]:
    """Slope and intercept of the target on its prediction; none for a constant prediction."""
    spread = _variance(predicted, weights)
    if not spread:
        return None, None
    at = np.average(predicted, weights=weights)
    level = np.average(target, weights=weights)
    slope = float(np.average((predicted - at) * (target - level), weights=weights) / spread)
    return slope, float(level - slope * at)


def strongest(x: Floats32, residuals: Floats, *, of_shares: bool) -> Dependence:
    """The largest |correlation| of residuals (n, t) with features (n, d), squares and ranks."""
    from scipy import stats

    n, d = x.shape
    # Not ranked: ranks of skewed residuals depend on features though their means do not.
    standard = _standard(residuals)
    best = (0, "linear", 0, 0.0)
    for j in range(d):
        column = x[:, j].astype(np.float64)
        centred = column - column.mean()
        forms = {"linear": centred, "square": centred**2, "rank": stats.rankdata(column)}
        for form, values in forms.items():
            r = _standard(values[:, None])[:, 0] @ standard / n
            k = int(np.abs(r).argmax())
            if abs(r[k]) > abs(best[3]):
                best = (j, form, k, float(r[k]))
    feature, form, channel, correlation = best
    z = abs(correlation) * float(np.sqrt(n))
    tests = len(FORMS) * d * residuals.shape[1]
    p_value = min(1.0, tests * 2 * float(stats.norm.sf(z)))
    return Dependence(
        feature,
        form,
        channel if of_shares else None,
        correlation,
        z,
        p_value,
    )


def _standard(values: Floats) -> Floats:
    """Columns of mean 0 and spread 1; constant ones become 0."""
    centred = values - values.mean(axis=0)
    spread = centred.std(axis=0)
    tiny = spread <= 1e-9 * np.abs(values).max(axis=0, initial=0.0)
    return np.where(tiny, 0.0, centred / np.where(tiny, 1.0, spread))


def _variance(values: Floats, weights: Floats) -> float:
    """Weighted; exactly 0 where values differ by rounding only."""
    mean = np.average(values, weights=weights)
    variance = float(np.average((values - mean) ** 2, weights=weights))
    return variance if variance > (1e-9 * float(np.abs(values).max())) ** 2 else 0.0


def _left(share: Floats, predicted: Floats, weights: Floats) -> float | None:
    spread = _variance(share, weights)
    return _variance(share - predicted, weights) / spread if spread else None


def _outcome_line(quality: Diagnostics) -> str:
    if quality.outcome_r2 is None:
        return f"The outcome is the same in all {quality.rows} rows: there is nothing to explain."
    text = f"Out of fold, the features explain {quality.outcome_r2:.1%} of the outcome's variance"
    if quality.slope is None or quality.intercept is None:
        return f"{text}; the prediction is constant."
    return (
        f"{text}; calibration slope {quality.slope:.3f} (1 is right), "
        f"intercept {plain(quality.intercept)}."
    )


def _share_line(name: str, r2: float | None, left: float | None) -> str:
    if r2 is None or left is None:
        return f"{name}: its share never varies."
    return (
        f"{name}: features explain {r2:.1%} of its share; "
        f"{left:.1%} of the variance is left to learn from."
    )


def _dependence_line(
    found: Dependence,
    features: Sequence[str],
    channels: Sequence[str],
) -> str:
    column = features[found.feature] if features else f"feature {found.feature}"
    target = "outcome" if found.channel is None else f"share of {channels[found.channel]}"
    verdict = "no sign of more"
    if found.p_value < 0.01:
        verdict = "small" if abs(found.correlation) < NOTICEABLE else "worth a look"
    return (
        f"What is left of the {target} correlates most with {FORMS[found.form]}{column}: "
        f"{found.correlation:+.3f} (z {found.z:.1f}; {verdict})."
    )
