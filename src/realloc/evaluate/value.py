"""What a policy would have been worth on randomized rows, without running it.

    DR value      (1/n) Σ m(x_i, π_i) + w_i (Y_i − m(x_i, P_i))
    DR lift       DR value − mean of Y: over the logging policy; also over holding the start shares
    IPS, SNIPS    (1/n) Σ w_i Y_i,   Σ w_i Y_i / Σ w_i

Y outcome, P logged shares, w the weights of `weights.py`, m the cross-fitted `outcome_model.py`.
Everything is about one decision at the states that logging led to: what a policy changes about
later states is not in it.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from realloc.base.numbers import signed
from realloc.base.simplex import Floats, Mask, Rows, total_variation
from realloc.base.validation import check_range
from realloc.evaluate.bootstrap import Bootstrap
from realloc.evaluate.outcome_model import OutcomeModel, fit_outcome_model
from realloc.evaluate.propensity import check_propensities
from realloc.evaluate.randomized import Randomized, RandomizedMoves, RandomizedShares
from realloc.evaluate.result import NAN, Estimate, EstimateTable, group_codes
from realloc.evaluate.weights import (
    ActionKernel,
    Target,
    Term,
    default_bandwidth,
    effective_size,
    menu_weights,
    weighted_mean,
)

CANNOT = "cannot be evaluated"
HELD = 1e-9  # a moved share below it is no move
VALUES = (
    "dr_value",
    "ips_value",
    "snips_value",
    "logged_value",
    "hold_value",
    "dr_lift",
    "clipped_dr_lift",
    "self_normalised_dr_lift",
    "ips_lift",
    "snips_lift",
    "dr_lift_over_hold",
    "lift_per_action",
    "lift_over_hold_per_action",
)


@dataclass(frozen=True, kw_only=True)
class ValueConfig:
    """When a value may be stated, and how it is computed."""

    # Over all rows, and over rows where the policy moves.
    least_effective_rows: float = 100.0
    least_effective_units: float = 30.0
    most_off_menu: float = 0.5
    clip: float | None = None  # largest weight of the clipped value; None: √n
    bandwidth: float | None = None  # of continuous shares; None: by rule
    # Continuous shares: model the very target, not the kernel around it.
    at_point: bool = False
    # Of intervals; None: they come from leaving out a unit at a time.
    bootstrap: Bootstrap | None = None

    def __post_init__(self) -> None:
        where = "the value config"
        check_range(self, ("most_off_menu",), "from 0 to 1", where)
        least_0 = ("least_effective_rows", "least_effective_units")
        check_range(self, least_0, ">= 0", where)
        given = [name for name in ("clip", "bandwidth") if getattr(self, name) is not None]
        check_range(self, tuple(given), "> 0", where)


@dataclass(frozen=True)
class PolicyValue(EstimateTable):
    """Every number by name, what they amount to in a word, and why.

    Values are NaN where the verdict is that none can be stated.
    """

    # cannot be evaluated | better | worse | no difference shown: than the logging policy, by DR
    # lift
    verdict: str
    reason: str


@dataclass(frozen=True, eq=False)
class Weighed:
    """Weights of all rows, and which rows the target can be valued on."""

    valued: Mask
    weight: Floats  # of the target
    hold_weight: Floats  # of holding; NaN where it was not possible
    acts: Floats  # chance that the target moves the row
    acting_weight: Floats  # what the row adds to the evidence about moving
    facts: tuple[Estimate, ...]  # further numbers to show
    contradiction: str = ""  # why the weights cannot be right


@dataclass(frozen=True, eq=False)
class Predicted:
    """The model's outcomes of the valued rows under the target and held."""

    target: Floats
    hold: Floats


def doubly_robust(
    outcome: Floats, weight: Floats, at_target: Floats, at_logged: Floats
) -> Floats:
    """m(π) + w (Y − m(P)) for every row: its mean is right if either the weights or the model
    are.
    """
    return at_target + weight * (outcome - at_logged)


def policy_value(
    rows: RandomizedMoves,
    target: Target,
    model: OutcomeModel | None = None,
    config: ValueConfig | None = None,
) -> PolicyValue:
    """The value of a target (from `target_arms`, `target_mix`, `target_shares`)
    on a menu of random moves.
    """

    def predict(model: OutcomeModel, picked: Rows) -> Predicted:
        """Σ_a π(a) m(start + move_a), asking the model only where π(a) > 0."""
        outcome = np.zeros(len(picked))
        for arm, move in enumerate(rows.moves):
            chance = target.probabilities[picked, arm]
            some = np.flatnonzero(chance > 0)
            if len(some):
                at = picked[some]
                outcome[some] += chance[some] * model(rows.start[at] + move, at)
        return Predicted(outcome, model(rows.start[picked], picked))

    return _value(rows, _weigh_menu(rows, target), predict, model, config or ValueConfig())


def smoothed_value(
    rows: RandomizedShares,
    shares: Floats,
    model: OutcomeModel | None = None,
    config: ValueConfig | None = None,
) -> PolicyValue:
    """The value of recommended shares (n, K) where shares were drawn from a density,
    smoothed over moves.

    It is that of a policy which draws from the kernel around its recommendation, right whatever the
    model is. With `at_point`, a right model takes the smoothing out, but the roughness of a learned
    one is noise that no interval shows.
    """
    config = config or ValueConfig()
    bandwidth = config.bandwidth or default_bandwidth(rows)
    aimed = ActionKernel(rows, shares, bandwidth)
    held = replace(aimed, target=rows.start)
    weight, valued = aimed.weights()
    hold_weight, could = held.weights()
    acts = (total_variation(shares, rows.start) > HELD).astype(np.float64)
    weighed = Weighed(
        valued=valued,
        weight=weight,
        hold_weight=np.where(could, hold_weight, NAN),
        acts=acts,
        acting_weight=weight * acts,
        facts=(Estimate.point("bandwidth", bandwidth, len(rows)),),
    )

    def predict(model: OutcomeModel, picked: Rows) -> Predicted:
        if config.at_point:
            return Predicted(
                model(shares[picked], picked), model(rows.start[picked], picked)
            )
        return Predicted(_at_kernel(aimed, model, picked), _at_kernel(held, model, picked))

    return _value(rows, weighed, predict, model, config)


def _weigh_menu(rows: RandomizedMoves, target: Target) -> Weighed:
    """Weights where rows drew from a menu, and whether the draws fit the stated propensities."""
    n = len(rows)
    weight = menu_weights(rows, target.probabilities)
    facts = [_average("mean_distance_to_arm", target.distance, rows.unit, target.on_menu)]
    contradiction = ""
    if not rows.estimated:  # those fit the draws because they were made from them
        check = check_propensities(rows)
        facts.append(Estimate.point("propensity_p_value", check.p_value, n))
        contradiction = "" if check.consistent else check.reason
    moved = np.ones(n)
    acts = np.ones(n)
    hold_weight = np.full(n, NAN)
    if rows.hold is not None:
        chance = rows.probabilities[:, rows.hold]
        moved = (rows.drawn != rows.hold).astype(np.float64)
        acts = 1 - target.probabilities[:, rows.hold]
        np.divide(1 - moved, chance, out=hold_weight, where=chance > 0)
    return Weighed(
        valued=target.on_menu,
        weight=weight,
        hold_weight=hold_weight,
        acts=acts,
        acting_weight=weight * moved,
        facts=tuple(facts),
        contradiction=contradiction,
    )


def _value(
    rows: Randomized,
    weighed: Weighed,
    predict: Callable[[OutcomeModel, Rows], Predicted],
    model: OutcomeModel | None,
    config: ValueConfig,
) -> PolicyValue:
    """Evidence first; values only where it is enough."""
    # √n keeps a clipped value consistent (Ionides 2008).
    clip = config.clip or float(np.sqrt(len(rows)))
    evidence = EstimateTable((*_evidence(rows, weighed, clip), *weighed.facts))
    lacking = weighed.contradiction or _lacking(evidence, config)
    picked = np.flatnonzero(weighed.valued)
    if lacking:
        withheld = [Estimate.point(name, NAN, len(picked)) for name in VALUES]
        return PolicyValue((*withheld, *evidence), CANNOT, lacking)
    model = model or fit_outcome_model(rows)
    predicted = predict(model, picked)
    logged = model(rows.logged[picked], picked)
    y = rows.outcome[picked]
    w = weighed.weight[picked]
    acts = weighed.acts[picked]
    value = doubly_robust(y, w, predicted.target, logged)
    clipped = doubly_robust(y, np.minimum(w, clip), predicted.target, logged)
    hold = doubly_robust(y, weighed.hold_weight[picked], predicted.hold, logged)
    terms = {
        "dr_value": Term(value),
        "ips_value": Term(w * y),
        "snips_value": Term(w * y, w),
        "logged_value": Term(y),
        "hold_value": Term(hold),
        "dr_lift": Term(value - y),
        "clipped_dr_lift": Term(clipped - y),
        "self_normalised_dr_lift": Term(w * (y - logged), w),
        "ips_lift": Term(w * y - y),
        "snips_lift": Term(w * y, w),
        "dr_lift_over_hold": Term(value - hold),
        "lift_per_action": Term(value - y, acts),
        "lift_over_hold_per_action": Term(value - hold, acts),
    }
    minus = {"self_normalised_dr_lift": Term(y - predicted.target), "snips_lift": Term(y)}
    values = [
        weighted_mean(name, term, rows.unit[picked], config.bootstrap, minus.get(name))
        for name, term in terms.items()
    ]
    explained = 1 - np.square(y - logged).sum() / max(np.square(y - y.mean()).sum(), 1e-300)
    values.append(Estimate.point("outcome_model_r2", explained, len(y)))
    return _conclude(EstimateTable((*values, *evidence)))


def _conclude(table: EstimateTable) -> PolicyValue:
    lift = table["dr_lift"]
    verdict = "no difference shown"
    if lift.low > 0:
        verdict = "better"
    elif lift.high < 0:
        verdict = "worse"
    reason = (
        f"DR lift over logging {signed(lift.value)} [{signed(lift.low)}, "
        f"{signed(lift.high)}] on {lift.n:,} rows "
        f"({table['off_menu_rate'].value:.1%} of all rows were off the menu and left out), "
        f"{table['effective_rows'].value:,.0f} effective rows, action rate "
        f"{table['action_rate'].value:.1%}."
    )
    return PolicyValue(table.estimates, verdict, reason)


def _evidence(rows: Randomized, weighed: Weighed, clip: float) -> list[Estimate]:
    """What can be said without any outcome: how much of the log speaks about the target."""
    picked = weighed.valued
    w = weighed.weight[picked]
    codes = group_codes(rows.unit[picked])
    sizes = {
        "effective_rows": effective_size(w),
        "effective_acting_rows": effective_size(weighed.acting_weight[picked]),
        "effective_units": effective_size(np.bincount(codes, w).astype(np.float64)),
        "largest_weight": w.max() if len(w) else NAN,
        "clip": clip,
    }
    every = np.ones(len(rows), dtype=bool)
    return [
        _average("off_menu_rate", ~picked, rows.unit, every),
        _average("action_rate", weighed.acts, rows.unit, picked),
        # 1 where the propensities are right
        _average("mean_weight", weighed.weight, rows.unit, picked),
        _average("clipped_share", weighed.weight > clip, rows.unit, picked),
        *(Estimate.point(name, size, len(w)) for name, size in sizes.items()),
    ]


def _lacking(evidence: EstimateTable, config: ValueConfig) -> str:
    """Why no value can be stated; empty where one can."""
    off = evidence["off_menu_rate"]
    if off.value > config.most_off_menu or off.value == 1:
        return (
            "Expected targets that logging could have drawn on at least "
            f"{1 - config.most_off_menu:.0%} of the rows, got {1 - off.value:.0%} of {off.n:,}. "
            "Explore what the policy recommends, or widen the tolerance."
        )
    least = {
        "effective_rows": config.least_effective_rows,
        "effective_units": config.least_effective_units,
    }
    if evidence["action_rate"].value > 0:
        least["effective_acting_rows"] = config.least_effective_rows
    for name, size in least.items():
        if evidence[name].value < size:
            return (
                f"Expected at least {size:g} {name.replace('_', ' ')} behind the target, got "
                f"{evidence[name].value:.1f}. Explore longer, or more units."
            )
    return ""


def _at_kernel(kernel: ActionKernel, model: OutcomeModel, picked: Rows) -> Floats:
    """∫ K m around each target by a few draws of its own per row,
    so that their noise is in the interval.
    """
    total = np.zeros(len(picked))
    count = np.zeros(len(picked))
    for place, good in kernel.draws():
        here = good[picked]
        total[here] += model(place[picked[here]], picked[here])
        count += here
    nowhere = count == 0
    if nowhere.any():
        at = picked[nowhere]
        total[nowhere] = model(kernel.target[at], at)
        count[nowhere] = 1
    return total / count


def _average(name: str, values: Floats | Mask, unit: Rows, picked: Mask) -> Estimate:
    if not picked.any():
        return Estimate.point(name, NAN, 0)
    return weighted_mean(name, Term(values[picked].astype(np.float64)), unit[picked])
