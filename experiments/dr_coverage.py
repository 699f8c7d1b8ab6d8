"""Do the 95 % intervals of off-policy values cover the truth 95 times in 100?

    python experiments/dr_coverage.py
        # seeds 0 to 299 of three designs; resumable; some minutes of CPU
    python experiments/dr_coverage.py --quick    # 20 of each, into the same file
    python experiments/dr_coverage.py --table    # only write the table again

The trial is read from $REALLOC_DATA/hillstrom/hillstrom.csv (../shared/data unless set); without
it, only the marketplace.

market       Randomized rows of the marketplace, three channels, 19 arms. Policy: move 5 % of the
             budget from the most to the least used open channel where that is feasible. Truth: the
             oracle's expected gain on the very rows drawn.
hillstrom_a  A real e-mail trial, every customer at a vertex (men's, women's, no e-mail; 1/3 each).
             Customers are drawn anew from the trial's 29 cells; outcome: visit. Policy: men's
             e-mail to those who buy on the web, women's to those who buy by phone, none to the
             rest. Truth: the trial's means by cell, over all cells.
hillstrom_b  The same trial, interior mixes: a shop of a cell draws shares from Dirichlet(3, 3, 3)
             every week and mails so many of 40 customers; outcome: visits. Policy: 15 % of the
             budget from no e-mail to men's (web) or to women's (others). Truth: linear in the
             shares, by the trial's means.
"""

import os
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import gammaln

from realloc.evaluate.agreement import agreement_lift
from realloc.evaluate.bootstrap import Bootstrap
from realloc.evaluate.outcome_model import fit_outcome_model
from realloc.evaluate.randomized import RandomizedMoves, RandomizedShares, randomized_moves
from realloc.evaluate.value import (
    CANNOT,
    PolicyValue,
    ValueConfig,
    policy_value,
    smoothed_value,
)
from realloc.evaluate.weights import target_arms, target_shares
from realloc.world.platform import ItemParameters, Marketplace, MarketplaceParameters
from runner import Figures, Study, arguments, conclude, describe, markdown, measure, save

SHARED = Path(
    os.environ.get("REALLOC_DATA", Path(__file__).resolve().parents[2] / "shared/data")
)
DATA = SHARED / "hillstrom/hillstrom.csv"
BLOCKS, PER_BLOCK, BAR = 30, 10, 0.93
ITEMS, DAYS, STEP = 400, 10, 0.05
CUSTOMERS, SHOPS, WEEKS, MAILED, CONCENTRATION = 1500, 800, 4, 40, np.array([3.0, 3.0, 3.0])
SEGMENTS = ("Mens E-Mail", "Womens E-Mail", "No E-Mail")
RESAMPLED = ValueConfig(bootstrap=Bootstrap(draws=200))
LIFTS = ("dr_lift", "clipped_dr_lift", "self_normalised_dr_lift", "ips_lift", "snips_lift")
Floats = NDArray[np.float64]
Answers = dict[str, tuple[float, float, float, float]]  # value, low, high, truth


def read_out(
    values: dict[str, PolicyValue], lift: float, over_hold: float, action_rate: float
) -> Answers:
    """All lifts beside their truth, by cluster-robust and by resampled intervals."""
    truths = dict.fromkeys(LIFTS, lift)
    truths |= {"dr_lift_over_hold": over_hold, "lift_per_action": lift / action_rate}
    found: Answers = {}
    for kind, value in values.items():
        if value.verdict == CANNOT:
            raise SystemExit(f"A design without enough evidence: {value.reason}")
        for name, truth in truths.items():
            one = value[name]
            found[f"{name}/{kind}"] = (one.value, one.low, one.high, truth)
    return found


def market(seed: int) -> Answers:
    world = Marketplace(
        seed=1,
        channels=3,
        parameters=MarketplaceParameters(items=ItemParameters(explored=1.0)),
    )  # all items explore: exploration is drawn per item, so these rows are like those of any tenth
    logs = world.sample(items=ITEMS, days=DAYS, seed=seed)
    names, arms = world.schema.channels, world.arms(logs)
    start = np.stack(
        [logs.table[f"share_{name}_prev"].to_numpy() for name in names], axis=1
    ).astype(np.float64)
    start /= start.sum(axis=1, keepdims=True)  # kept in single precision
    opened = np.stack([logs.table[f"open_{name}"].to_numpy() for name in names], axis=1)
    rows, _ = randomized_moves(logs, start, arms.moves, arms.probabilities)
    shares, model = hand_made(start, opened), fit_outcome_model(rows)
    target = target_shares(rows, shares)
    values = {
        "cluster": policy_value(rows, target, model),
        "bootstrap": policy_value(rows, target, model, RESAMPLED),
    }
    state = world.state(logs)
    gains = np.stack(
        [
            world.gain(state, start, np.maximum(start + move, 0))["orders"]
            for move in arms.moves
        ],
        axis=1,
    )
    aimed = (gains * target.probabilities).sum(axis=1)
    logging = (gains * rows.probabilities).sum(axis=1)
    found = read_out(
        values,
        float((aimed - logging).mean()),
        float(aimed.mean()),
        values["cluster"]["action_rate"].value,
    )
    one = agreement_lift(rows, shares, model)["agreement_lift"]
    found["agreement_lift/bootstrap"] = (
        one.value,
        one.low,
        one.high,
        true_agreement(rows, shares, gains),
    )
    return found


def hand_made(start: Floats, opened: NDArray[np.bool_]) -> Floats:
    """5 % from the most to the least used open channel, where the most used holds that much."""
    shares, every = start.copy(), np.arange(len(start))
    source, target = (
        np.where(opened, start, -1.0).argmax(axis=1),
        np.where(opened, start, 2.0).argmin(axis=1),
    )
    step = np.where((source != target) & (start[every, source] >= STEP), STEP, 0.0)
    shares[every, source] -= step
    shares[every, target] += step
    return shares


def true_agreement(rows: RandomizedMoves, shares: Floats, gains: Floats) -> float:
    """The oracle's mean gain of agreeing minus opposing arms, where a row could draw both."""
    inner = (shares - rows.start) @ rows.moves.T
    agree, oppose = rows.probabilities * (inner > 0), rows.probabilities * (inner < 0)
    both = (agree.sum(axis=1) > 0) & (oppose.sum(axis=1) > 0)
    means = [
        (part * gains).sum(axis=1)[both] / part.sum(axis=1)[both]
        for part in (agree, oppose)
    ]
    return float((means[0] - means[1]).mean())


@cache
def cells() -> tuple[Floats, Floats, Floats]:
    """Of the trial's cells: codes (29, 3) of history, channel and newbie; weights (29,); visit
    rates by e-mail (29, 3).
    """
    frame = pd.read_csv(DATA)
    keys = ["history_segment", "channel", "newbie"]
    rate = frame.pivot_table(index=keys, columns="segment", values="visit", aggfunc="mean")[
        list(SEGMENTS)
    ]
    size = frame.groupby(keys).size().loc[rate.index]
    index = rate.index.to_frame(index=False)
    codes = np.stack(
        [pd.factorize(index[name], sort=True)[0] for name in keys], axis=1
    ).astype(np.float64)
    return codes, (size / size.sum()).to_numpy(), rate.to_numpy()


def buys_on(codes: Floats) -> NDArray[np.int64]:
    """0 multichannel, 1 phone, 2 web."""
    return codes[:, 1].astype(np.int64)


def draw_customers(
    rng: np.random.Generator, customers: int
) -> tuple[RandomizedMoves, NDArray[np.int64]]:
    """Customers of the trial at vertices, drawn anew from its cells, and their cells."""
    codes, weights, rate = cells()
    cell, drawn = (
        rng.choice(len(codes), customers, p=weights),
        rng.integers(0, 3, customers),
    )
    rows = RandomizedMoves(
        start=np.tile([0.0, 0.0, 1.0], (customers, 1)),
        moves=np.array([[1.0, 0.0, -1.0], [0.0, 1.0, -1.0], [0.0, 0.0, 0.0]]),
        probabilities=np.full((customers, 3), 1 / 3),
        drawn=drawn,
        outcome=(rng.random(customers) < rate[cell, drawn]).astype(np.float64),
        unit=np.arange(customers),
        state=codes[cell],
        categorical=(1,),
    )
    return rows, cell


def hillstrom_a(seed: int) -> Answers:
    codes, weights, rate = cells()
    rows, cell = draw_customers(np.random.default_rng([7, seed]), CUSTOMERS)
    policy = np.array([2, 1, 0])[buys_on(codes)]
    target, model = target_arms(rows, policy[cell]), fit_outcome_model(rows)
    values = {
        "cluster": policy_value(rows, target, model),
        "bootstrap": policy_value(rows, target, model, RESAMPLED),
    }
    aimed = rate[np.arange(len(rate)), policy]
    return read_out(
        values,
        weights @ (aimed - rate.mean(axis=1)),
        weights @ (aimed - rate[:, 2]),
        float(weights @ (policy != 2)),
    )


def draw_mixes(
    rng: np.random.Generator, shops: int
) -> tuple[RandomizedShares, NDArray[np.int64]]:
    """Weeks of shops that mail shares drawn from a Dirichlet density to customers of their cell,
    and the cells.
    """
    codes, weights, rate = cells()
    cell = np.repeat(rng.choice(len(codes), shops, p=weights), WEEKS)
    n = len(cell)
    shares = rng.dirichlet(CONCENTRATION, n)
    visits = rng.binomial(rng.multinomial(MAILED, shares), rate[cell]).sum(
        axis=1
    )  # 0/1 outcomes: drawing is binomial
    rows = RandomizedShares(
        start=np.full((n, 3), 1 / 3),
        shares=shares,
        density=density(shares),
        outcome=visits.astype(np.float64),
        unit=np.repeat(np.arange(shops), WEEKS),
        state=codes[cell],
        categorical=(1,),
        density_at=lambda places, _: density(places),
    )
    return rows, cell


def hillstrom_b(seed: int) -> Answers:
    codes, weights, rate = cells()
    rows, cell = draw_mixes(np.random.default_rng([8, seed]), SHOPS)
    move = np.where((buys_on(codes) == 2)[:, None], [0.15, 0.0, -0.15], [0.0, 0.15, -0.15])
    target, model = rows.start + move[cell], fit_outcome_model(rows)
    values = {"cluster": smoothed_value(rows, target, model)}
    lift = float(
        weights @ (MAILED * (move * rate).sum(axis=1))
    )  # the logging mean is the start
    return read_out(values, lift, lift, 1.0)


def density(shares: Floats) -> Floats:
    """Of the logging Dirichlet, in the first two shares."""
    constant = gammaln(CONCENTRATION.sum()) - gammaln(CONCENTRATION).sum()
    return np.exp(constant + np.log(shares) @ (CONCENTRATION - 1))


DESIGNS = {"market": market, "hillstrom_a": hillstrom_a, "hillstrom_b": hillstrom_b}


def work(key: str) -> Figures:
    """A block of replications: for each estimate a list of (value, low, high, truth)."""
    design, block = key.split("/")
    first = int(block) * PER_BLOCK
    answers = [DESIGNS[design](seed) for seed in range(first, first + PER_BLOCK)]
    return {
        name: [[float(f"{x:.6g}") for x in one[name]] for one in answers]
        for name in answers[0]
    }


def covered(found: Floats) -> float:
    """How often the interval holds the truth; columns value, low, high, truth."""
    return float(((found[:, 1] <= found[:, 3]) & (found[:, 3] <= found[:, 2])).mean())


def verdict(replications: int, share: float) -> str:
    """Fewer than 300 replications decide nothing."""
    if replications < 300:
        return "too few"
    return "met" if share >= BAR else "MISSED"


def summary(cells_by_key: dict[str, Figures], design: str) -> list[list[str]]:
    blocks = [cell for key, cell in cells_by_key.items() if key.startswith(f"{design}/")]
    rows: list[list[str]] = []
    for name in (name for name in blocks[0] if "/" in name):
        found = np.array([one for block in blocks for one in block[name]])
        off, width, share = (
            found[:, 0] - found[:, 3],
            float((found[:, 2] - found[:, 1]).mean()),
            covered(found),
        )
        spread, error = float(off.std(ddof=1)), float(off.std(ddof=1) / np.sqrt(len(found)))
        met = verdict(len(found), share) if name.startswith("dr_lift/") else ""
        shown = [
            design,
            *name.split("/"),
            str(len(found)),
            f"**{share:.3f}**" if met else f"{share:.3f}",
        ]
        wide = [f"{spread:.4f}", f"{width:.4f}", f"{width / (2 * 1.96 * spread):.2f}"]
        rows.append(
            [
                *shown,
                f"{found[:, 3].mean():.4f}",
                f"{off.mean():+.4f} ({error:.4f})",
                *wide,
                met,
            ]
        )
    return rows


def to_markdown(cells_by_key: dict[str, Figures]) -> str:
    head = [
        "design",
        "estimate",
        "interval",
        "replications",
        "covered",
        "mean truth",
        "bias (se)",
        "true spread",
        "mean width",
        "width / ideal",
        "target .93",
    ]
    there = [
        design
        for design in DESIGNS
        if any(key.startswith(f"{design}/") for key in cells_by_key)
    ]
    rows = [row for design in there for row in summary(cells_by_key, design)]
    about = (
        (__doc__ or "")
        .split("\n\n", 3)[3]
        .strip()
        .replace("\n             ", " ")
        .splitlines()
    )
    sizes = (
        f"Rows per replication: market {ITEMS} items × {DAYS} days; hillstrom_a {CUSTOMERS} "
        f"customers; hillstrom_b {SHOPS} "
        f"shops × {WEEKS} weeks. Lifts are over the logging policy unless named otherwise. True "
        "spread: the standard deviation "
        "of estimate − truth over replications; ideal: an interval of ± 1.96 of it."
    )
    text = [
        "# Coverage of the 95 % intervals of off-policy values",
        "",
        describe(cells_by_key),
        "",
    ]
    return "\n".join(
        [*text, *(f"* {line}" for line in about), "", sizes, "", *markdown(head, rows)]
    )


def main() -> None:
    given = arguments(__doc__).parse_args()
    blocks = range(2 if given.quick else BLOCKS)
    there = tuple(design for design in DESIGNS if design == "market" or DATA.exists())
    if len(there) < len(DESIGNS):
        print(
            f"There is no trial at {DATA}: only the marketplace is measured. Set REALLOC_DATA to "
            "its folder."
        )
    study = Study(
        "dr_coverage",
        work,
        tuple(f"{design}/{block:02d}" for block in blocks for design in there),
    )
    if not given.table:
        fill(study)
    given.table = True
    conclude(study, given, to_markdown)


def fill(study: Study) -> None:
    """Block after block in this process: a replication is shorter than starting a worker."""
    found = study.done()
    for key in study.keys:
        if key not in found:
            found[key] = measure(study.work, key)
            save(study, found)
            print(f"{key} {found[key]['seconds']:.0f} CPU s", flush=True)


if __name__ == "__main__":
    main()
