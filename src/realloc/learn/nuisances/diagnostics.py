"""How good m and e are, and what they leave: errors, calibration, dependence of residuals on features, overlap."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy import stats

from realloc.learn.nuisances.sample import Floats, NuisanceSample

NOTICEABLE = 0.05  # absolute correlation below which a dependence is small, however sure
FORMS = {"linear": "", "rank": "the rank of ", "square": "the square of "}


@dataclass(frozen=True)
class Dependence:
    """The strongest correlation of residuals with a feature, its square or its rank."""

    feature: int  # column of x
    form: str  # linear | rank | square
    channel: int | None  # of the shares; none for the outcome
    correlation: float
    z: float  # |correlation|·√n; rows of a unit are not independent, so it errs on the high side
    p_value: float  # of the largest of all that were looked at (Bonferroni)


@dataclass(frozen=True)
class Candidates:
    """What competed for one target: out-of-fold mean squared errors, mean weights, and what each fold took."""

    errors: dict[str, float]
    weights: dict[str, float]
    chosen: tuple[str, ...]

    def line(self, target: str) -> str:
        """One sentence."""
        errors = ", ".join(f"{name} {error:.5g}" for name, error in self.errors.items())
        weights = ", ".join(f"{name} {weight:.2f}" for name, weight in self.weights.items())
        return f"Out-of-fold squared error of the {target}: {errors}. Mean weights: {weights}."


@dataclass(frozen=True)
class Diagnostics:
    """Out-of-fold quality. `None` where a figure is undefined, because what it explains is constant."""

    rows: int
    folds: int
    outcome_r2: float | None
    slope: float | None  # of the outcome on m; 1 is calibrated
    intercept: float | None
    share_r2: tuple[float | None, ...]
    share_left: tuple[
        float | None, ...
    ]  # var(p − e) / var(p): what of each share features do not decide
    outcome_dependence: Dependence
    share_dependence: Dependence
    outcome: Candidates
    shares: Candidates

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)

    @classmethod
    def from_json(cls, table: Mapping[str, Any]) -> "Diagnostics":
        """The diagnostics that `to_json` gave."""
        found: dict[str, Any] = dict(table)
        found |= {name: tuple(table[name]) for name in ("share_r2", "share_left")}
        found |= {
            name: Dependence(**table[name]) for name in ("outcome_dependence", "share_dependence")
        }
        for name in ("outcome", "shares"):
            part = table[name]
            found[name] = Candidates(part["errors"], part["weights"], tuple(part["chosen"]))
        return cls(**found)

    def lines(self, features: Sequence[str] = (), channels: Sequence[str] = ()) -> list[str]:
        """Sentences for a report."""
        found = [_outcome_line(self), self.outcome.line("outcome"), self.shares.line("shares")]
        for k, (r2, left) in enumerate(zip(self.share_r2, self.share_left, strict=True)):
            name = channels[k] if channels else f"channel {k}"
            found.append(_share_line(name, r2, left))
        found.append(_dependence_line(self.outcome_dependence, features, channels))
        found.append(_dependence_line(self.share_dependence, features, channels))
        return found


def diagnose(
    sample: NuisanceSample, outcome: Floats, shares: Floats, competed: Mapping[str, Candidates]
) -> Diagnostics:
    """Figures of out-of-fold predictions m (n,) and e (n, K)."""
    w = sample.weights
    slope, intercept = calibration(sample.outcome, outcome, w)
    channels = range(shares.shape[1])
    return Diagnostics(
        rows=len(outcome),
        folds=sample.folds,
        outcome_r2=r_squared(sample.outcome, outcome, w),
        slope=slope,
        intercept=intercept,
        share_r2=tuple(r_squared(sample.shares[:, k], shares[:, k], w) for k in channels),
        share_left=tuple(_left(sample.shares[:, k], shares[:, k], w) for k in channels),
        outcome_dependence=strongest(
            sample.x, (sample.outcome - outcome)[:, None], of_shares=False
        ),
        share_dependence=strongest(sample.x, sample.shares - shares, of_shares=True),
        outcome=competed["outcome"],
        shares=competed["shares"],
    )


def r_squared(target: Floats, predicted: Floats, weights: Floats) -> float | None:
    """1 − error / variance; none for a constant target."""
    spread = _variance(target, weights)
    return (
        float(1 - np.average((target - predicted) ** 2, weights=weights) / spread)
        if spread
        else None
    )


def calibration(
    target: Floats, predicted: Floats, weights: Floats
) -> tuple[float | None, float | None]:
    """Slope and intercept of the target on its prediction; none where the prediction is constant."""
    spread = _variance(predicted, weights)
    if not spread:
        return None, None
    at, level = np.average(predicted, weights=weights), np.average(target, weights=weights)
    slope = float(np.average((predicted - at) * (target - level), weights=weights) / spread)
    return slope, float(level - slope * at)


def strongest(x: Any, residuals: Floats, *, of_shares: bool) -> Dependence:
    """The largest absolute correlation of residuals (n, t) with features (n, d), their squares and ranks."""
    n, d = x.shape
    standard = _standard(
        residuals
    )  # not ranked: ranks of skewed residuals depend on features though means do not
    best = (0, "linear", 0, 0.0)
    for j in range(d):
        column = x[:, j].astype(np.float64)
        centred = column - column.mean()
        for form, values in (
            ("linear", centred),
            ("square", centred**2),
            ("rank", stats.rankdata(column)),
        ):
            r = _standard(values[:, None])[:, 0] @ standard / n
            k = int(np.abs(r).argmax())
            if abs(r[k]) > abs(best[3]):
                best = (j, form, k, float(r[k]))
    feature, form, channel, correlation = best
    z = abs(correlation) * float(np.sqrt(n))
    looked_at = len(FORMS) * d * residuals.shape[1]
    p_value = min(1.0, looked_at * 2 * float(stats.norm.sf(z)))
    return Dependence(feature, form, channel if of_shares else None, correlation, z, p_value)


def _standard(values: Floats) -> Floats:
    """Columns of mean 0 and spread 1; constant ones become 0."""
    centred = values - values.mean(axis=0)
    spread = centred.std(axis=0)
    tiny = spread <= 1e-9 * np.abs(values).max(axis=0, initial=0.0)
    return np.where(tiny, 0.0, centred / np.where(tiny, 1.0, spread))


def _variance(values: Floats, weights: Floats) -> float:
    """Weighted; exactly 0 where values differ by rounding only."""
    mean = np.average(values, weights=weights)
    found = float(np.average((values - mean) ** 2, weights=weights))
    return found if found > (1e-9 * float(np.abs(values).max())) ** 2 else 0.0


def _left(share: Floats, predicted: Floats, weights: Floats) -> float | None:
    spread = _variance(share, weights)
    return _variance(share - predicted, weights) / spread if spread else None


def _outcome_line(found: Diagnostics) -> str:
    if found.outcome_r2 is None:
        return f"The outcome is the same in all {found.rows} rows: there is nothing to explain."
    text = f"Out of fold, the features explain {found.outcome_r2:.1%} of the outcome's variance"
    if found.slope is None or found.intercept is None:
        return f"{text}; the prediction is constant."
    return f"{text}; calibration slope {found.slope:.3f} (1 is right), intercept {found.intercept:.4g}."


def _share_line(name: str, r2: float | None, left: float | None) -> str:
    if r2 is None or left is None:
        return f"{name}: its share never varies."
    return f"{name}: features explain {r2:.1%} of its share; {left:.1%} of the variance is left to learn from."


def _dependence_line(found: Dependence, features: Sequence[str], channels: Sequence[str]) -> str:
    column = features[found.feature] if features else f"feature {found.feature}"
    of = "outcome" if found.channel is None else f"share of {_name(channels, found.channel)}"
    sure = found.p_value < 0.01
    verdict = (
        "no sign of more"
        if not sure
        else "small"
        if abs(found.correlation) < NOTICEABLE
        else "worth a look"
    )
    return (
        f"What is left of the {of} correlates most with {FORMS[found.form]}{column}: {found.correlation:+.3f} "
        f"(z {found.z:.1f}; {verdict})."
    )


def _name(names: Sequence[str], k: int) -> str:
    return names[k] if names else f"channel {k}"
