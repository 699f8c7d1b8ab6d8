"""What a policy would have been worth on randomized rows, without running it.

    DR value      (1/n) Σ m(x_i, π_i) + w_i (Y_i − m(x_i, P_i))
    DR lift       DR value − mean of Y: over the logging policy;   also over holding every row's start shares
    IPS, SNIPS    (1/n) Σ w_i Y_i,   Σ w_i Y_i / Σ w_i

Y outcome, P logged shares, w the weights of `weights.py`, m the cross-fitted `outcome_model.py`. Everything is about one
decision at the states that logging led to: what a policy changes about later states is not in it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from realloc.base.errors import ConfigError
from realloc.base.simplex import Floats, total_variation
from realloc.evaluate.outcome_model import OutcomeModel, OutcomeModelConfig, fit_outcome_model
from realloc.evaluate.propensity import check_propensities
from realloc.evaluate.randomized import Randomized, RandomizedMoves, RandomizedShares, Rows
from realloc.evaluate.result import Estimate, EstimateTable
from realloc.evaluate.weights import (
    IntervalConfig,
    Mask,
    Target,
    default_bandwidth,
    effective_size,
    kernel_draws,
    kernel_weights,
    menu_weights,
    weighted_mean,
)

if TYPE_CHECKING:
    import pandas as pd

CANNOT = "cannot be evaluated"
HELD = 1e-9  # a moved share below it is no move
NAN = float("nan")
VALUES = (
    *("dr_value", "ips_value", "snips_value", "logged_value", "hold_value"),
    *("dr_lift", "clipped_dr_lift", "self_normalised_dr_lift", "ips_lift", "snips_lift"),
    *("dr_lift_over_hold", "lift_per_action", "lift_over_hold_per_action"),
)


@dataclass(frozen=True, kw_only=True)
class ValueConfig:
    """When a value may be stated, and how it is computed."""

    least_effective_rows: float = 100.0  # over all rows, and over rows where the policy moves
    least_effective_units: float = 30.0
    most_off_menu: float = 0.5
    clip: float | None = None  # largest weight of the clipped value; None: √n
    bandwidth: float | None = None  # of continuous shares; None: by rule
    across: float = 1.0  # bandwidth across the recommended direction over the one along it
    at_point: bool = False  # continuous shares: take the model's outcome at the very target, not over the kernel around it
    model: OutcomeModelConfig = field(default_factory=OutcomeModelConfig)
    interval: IntervalConfig = field(default_factory=IntervalConfig)

    def __post_init__(self) -> None:
        if (
            not 0 <= self.most_off_menu <= 1
            or min(self.least_effective_rows, self.least_effective_units) < 0
        ):
            raise ConfigError(
                "Expected `most_off_menu` from 0 to 1 and effective sizes of at least 0 in the value config."
            )
        for name, value in (
            ("clip", self.clip),
            ("bandwidth", self.bandwidth),
            ("across", self.across),
        ):
            if value is not None and not value > 0:
                raise ConfigError(f"Expected `{name}` above 0 in the value config, got {value}.")


@dataclass(frozen=True)
class PolicyValue:
    """Every number by name, what they amount to in a word, and why. Values are NaN where the verdict is that none can be
    stated."""

    estimates: EstimateTable
    verdict: str  # cannot be evaluated | better | worse | no difference shown: than the logging policy, by DR lift
    reason: str

    def __getitem__(self, name: str) -> Estimate:
        return self.estimates[name]

    def to_frame(self) -> "pd.DataFrame":
        """One row per number."""
        return self.estimates.to_frame()


@dataclass(frozen=True, eq=False)
class Weighed:
    """Weights of all rows, whichever way they were randomized, and which rows the target can be valued on."""

    valued: Mask
    weight: Floats  # of the target
    hold_weight: Floats  # of holding; NaN where it was not possible
    acts: Floats  # chance that the target moves the row
    acting_weight: Floats  # what the row adds to the evidence about moving
    facts: tuple[Estimate, ...] = ()  # further numbers to show
    contradiction: str = ""  # why the weights cannot be right


@dataclass(frozen=True, eq=False)
class Predicted:
    """The model's outcomes of the valued rows under the target, as logged and held."""

    target: Floats
    logged: Floats
    hold: Floats


def doubly_robust(outcome: Floats, weight: Floats, at_target: Floats, at_logged: Floats) -> Floats:
    """m(π) + w (Y − m(P)) for every row: its mean is right if either the weights or the model are."""
    return at_target + weight * (outcome - at_logged)


def policy_value(
    rows: RandomizedMoves,
    target: Target,
    model: OutcomeModel | None = None,
    config: ValueConfig | None = None,
) -> PolicyValue:
    """The value of a target (from `target_arms`, `target_mix` or `target_shares`) on a menu of randomized moves."""
    config = config or ValueConfig()
    weighed = weigh_menu(rows, target)

    def predict(model: OutcomeModel, picked: Rows) -> Predicted:
        aimed = _at_mix(rows, target.probabilities, model, picked)
        return Predicted(
            aimed, model(rows.logged[picked], picked), model(rows.start[picked], picked)
        )

    return _value(rows, weighed, predict, model, config)


def smoothed_value(
    rows: RandomizedShares,
    shares: Floats,
    model: OutcomeModel | None = None,
    config: ValueConfig | None = None,
) -> PolicyValue:
    """The value of recommended shares (n, K) where shares were drawn from a density, smoothed over nearby moves.

    It is that of a policy which draws from the kernel around its recommendation, right whatever the model is. With
    `at_point`, a right model takes the smoothing out, but the roughness of a learned one is noise that no interval shows.
    """
    config = config or ValueConfig()
    bandwidth = config.bandwidth or default_bandwidth(rows)
    weighed = weigh_shares(rows, shares, bandwidth, config.across)

    def expect(model: OutcomeModel, target: Floats, picked: Rows) -> Floats:
        return (
            model(target[picked], picked)
            if config.at_point
            else _at_kernel(rows, target, model, picked, bandwidth, config)
        )

    def predict(model: OutcomeModel, picked: Rows) -> Predicted:
        return Predicted(
            expect(model, shares, picked),
            model(rows.logged[picked], picked),
            expect(model, rows.start, picked),
        )

    return _value(rows, weighed, predict, model, config)


def bandwidth_sensitivity(
    rows: RandomizedShares,
    shares: Floats,
    factors: tuple[float, ...] = (0.5, 0.7, 1.0, 1.4, 2.0),
    model: OutcomeModel | None = None,
    config: ValueConfig | None = None,
) -> EstimateTable:
    """DR lift under bandwidths around the one in use: a lift that drifts with the bandwidth rests on the smoothing."""
    config = config or ValueConfig()
    model = model or fit_outcome_model(rows, config.model)
    middle = config.bandwidth or default_bandwidth(rows)
    found: list[Estimate] = []
    for factor in factors:
        value = smoothed_value(rows, shares, model, replace(config, bandwidth=factor * middle))
        found.append(replace(value["dr_lift"], name=f"dr_lift_at_{factor * middle:.4g}"))
    return EstimateTable(tuple(found))


def weigh_menu(rows: RandomizedMoves, target: Target) -> Weighed:
    """Weights where rows drew from a menu, and whether the draws fit the stated propensities."""
    n, still, weight = len(rows), rows.hold, menu_weights(rows, target.probabilities)
    facts, contradiction = (
        [_average("mean_distance_to_arm", target.distance, rows.unit, target.on_menu)],
        "",
    )
    if not rows.estimated:  # those fit the draws because they were made from them
        check = check_propensities(rows)
        facts.append(Estimate("propensity_p_value", check.p_value, NAN, NAN, n))
        contradiction = "" if check.consistent else check.reason
    moved, acts, hold_weight = np.ones(n), np.ones(n), np.full(n, NAN)
    if still is not None:
        could = rows.probabilities[:, still] > 0
        moved, acts = (rows.drawn != still).astype(np.float64), 1 - target.probabilities[:, still]
        np.divide(1 - moved, rows.probabilities[:, still], out=hold_weight, where=could)
    return Weighed(
        target.on_menu, weight, hold_weight, acts, weight * moved, tuple(facts), contradiction
    )


def weigh_shares(
    rows: RandomizedShares, shares: Floats, bandwidth: float, across: float
) -> Weighed:
    """Weights where rows drew from a density."""
    weight, valued = kernel_weights(rows, shares, bandwidth, across)
    hold_weight, could = kernel_weights(rows, rows.start, bandwidth, across)
    acts = (total_variation(shares, rows.start) > HELD).astype(np.float64)
    facts = (Estimate("bandwidth", bandwidth, NAN, NAN, len(rows)),)
    return Weighed(valued, weight, np.where(could, hold_weight, NAN), acts, weight * acts, facts)


def _value(
    rows: Randomized,
    weighed: Weighed,
    predict: Callable[[OutcomeModel, Rows], Predicted],
    model: OutcomeModel | None,
    config: ValueConfig,
) -> PolicyValue:
    """Evidence first; values only where it is enough."""
    evidence = EstimateTable((*_evidence(rows, weighed, config), *weighed.facts))
    lacking = weighed.contradiction or _lacking(evidence, config)
    if lacking:
        withheld = (Estimate(name, NAN, NAN, NAN, int(weighed.valued.sum())) for name in VALUES)
        return PolicyValue(EstimateTable((*withheld, *evidence)), CANNOT, lacking)
    model, picked = model or fit_outcome_model(rows, config.model), np.flatnonzero(weighed.valued)
    values = _values(rows, weighed, predict(model, picked), config)
    found = EstimateTable((*values, *evidence))
    return PolicyValue(found, _verdict(found["dr_lift"]), _reason(found))


def _values(
    rows: Randomized, weighed: Weighed, predicted: Predicted, config: ValueConfig
) -> list[Estimate]:
    picked = weighed.valued
    y, w, unit, acts = (
        rows.outcome[picked],
        weighed.weight[picked],
        rows.unit[picked],
        weighed.acts[picked],
    )
    one, rest = np.ones_like(y), y - predicted.logged
    value = doubly_robust(y, w, predicted.target, predicted.logged)
    clipped = doubly_robust(
        y, np.minimum(w, _clip(rows, config)), predicted.target, predicted.logged
    )
    hold = doubly_robust(y, weighed.hold_weight[picked], predicted.hold, predicted.logged)
    terms: dict[str, tuple[tuple[Floats, Floats], tuple[Floats, Floats] | None]] = {
        "dr_value": ((value, one), None),
        "ips_value": ((w * y, one), None),
        "snips_value": ((w * y, w), None),
        "logged_value": ((y, one), None),
        "hold_value": ((hold, one), None),
        "dr_lift": ((value - y, one), None),
        "clipped_dr_lift": ((clipped - y, one), None),
        "self_normalised_dr_lift": ((w * rest, w), (y - predicted.target, one)),
        "ips_lift": ((w * y - y, one), None),
        "snips_lift": ((w * y, w), (y, one)),
        "dr_lift_over_hold": ((value - hold, one), None),
        "lift_per_action": ((value - y, acts), None),
        "lift_over_hold_per_action": ((value - hold, acts), None),
    }
    found = [
        weighted_mean(name, plus, unit, config.interval, minus)
        for name, (plus, minus) in terms.items()
    ]
    explained = 1 - float(np.square(rest).sum() / max(np.square(y - y.mean()).sum(), 1e-300))
    return [*found, Estimate("outcome_model_r2", explained, NAN, NAN, len(y))]


def _evidence(rows: Randomized, weighed: Weighed, config: ValueConfig) -> list[Estimate]:
    """What can be said without any outcome: how much of the log speaks about the target."""
    picked, unit = weighed.valued, rows.unit[weighed.valued]
    w, n = weighed.weight[picked], int(weighed.valued.sum())
    by_unit = np.asarray(
        np.bincount(np.unique(unit, return_inverse=True)[1], weights=w), dtype=np.float64
    )
    sizes = {
        "effective_rows": effective_size(w),
        "effective_acting_rows": effective_size(weighed.acting_weight[picked]),
        "effective_units": effective_size(by_unit),
        "largest_weight": float(w.max()) if n else NAN,
        "clip": _clip(rows, config),
    }
    return [
        _average(
            "off_menu_rate", (~picked).astype(np.float64), rows.unit, np.ones(len(rows), dtype=bool)
        ),
        _average("action_rate", weighed.acts, rows.unit, picked),
        _average(
            "mean_weight", weighed.weight, rows.unit, picked
        ),  # 1 where the propensities are right
        _average(
            "clipped_share",
            (weighed.weight > _clip(rows, config)).astype(np.float64),
            rows.unit,
            picked,
        ),
        *(Estimate(name, size, NAN, NAN, n) for name, size in sizes.items()),
    ]


def _lacking(evidence: EstimateTable, config: ValueConfig) -> str:
    """Why no value can be stated; empty where one can."""
    off = evidence["off_menu_rate"]
    if off.value > config.most_off_menu or off.value == 1:
        return (
            f"Expected targets that logging could have drawn on at least {1 - config.most_off_menu:.0%} of the rows, got "
            f"{1 - off.value:.0%} of {off.n:,}. Explore what the policy recommends, or widen the tolerance."
        )
    wanted = {
        "effective_rows": config.least_effective_rows,
        "effective_units": config.least_effective_units,
    }
    if evidence["action_rate"].value > 0:
        wanted["effective_acting_rows"] = config.least_effective_rows
    for name, least in wanted.items():
        size = evidence[name].value
        if size < least:
            words = name.replace("_", " ")
            return f"Expected at least {least:g} {words} behind the target, got {size:.1f}. Explore longer, or more units."
    return ""


def _verdict(lift: Estimate) -> str:
    if lift.low > 0:
        return "better"
    return "worse" if lift.high < 0 else "no difference shown"


def _reason(found: EstimateTable) -> str:
    lift, off = found["dr_lift"], found["off_menu_rate"]
    return (
        f"DR lift over logging {lift.value:.4g} [{lift.low:.4g}, {lift.high:.4g}] on {lift.n:,} rows "
        f"({off.value:.1%} of all rows were off the menu and left out), {found['effective_rows'].value:,.0f} effective rows, "
        f"action rate {found['action_rate'].value:.1%}."
    )


def _at_mix(rows: RandomizedMoves, chances: Floats, model: OutcomeModel, picked: Rows) -> Floats:
    """Σ_a π(a) m(start + move_a), asking the model only where π(a) > 0."""
    found = np.zeros(len(picked))
    for arm, move in enumerate(rows.moves):
        mine = np.flatnonzero(chances[picked, arm] > 0)
        if len(mine):
            ids = picked[mine]
            found[mine] += chances[ids, arm] * model(rows.start[ids] + move, ids)
    return found


def _at_kernel(
    rows: RandomizedShares,
    target: Floats,
    model: OutcomeModel,
    picked: Rows,
    bandwidth: float,
    config: ValueConfig,
) -> Floats:
    """∫ K m around each target by a few draws of its own per row, so that what they leave of noise is in the interval."""
    total, count = np.zeros(len(picked)), np.zeros(len(picked))
    for place, good in kernel_draws(rows, target, bandwidth, config.across):
        mine = good[picked]
        total[mine] += model(place[picked[mine]], picked[mine])
        count += mine
    nowhere = count == 0
    if nowhere.any():
        total[nowhere], count[nowhere] = model(target[picked[nowhere]], picked[nowhere]), 1
    return total / count


def _average(name: str, values: Floats, unit: Rows, picked: Mask) -> Estimate:
    if not picked.any():
        return Estimate(name, NAN, NAN, NAN, 0)
    return weighted_mean(
        name, (values[picked], np.ones(int(picked.sum()))), unit[picked], IntervalConfig()
    )


def _clip(rows: Randomized, config: ValueConfig) -> float:
    """√n keeps a clipped value consistent (Ionides 2008)."""
    return config.clip if config.clip is not None else float(np.sqrt(len(rows)))
