"""A real randomized e-mail trial: is what a learned policy is said to be worth what it is worth?

    python experiments/real_hillstrom.py
        # 100 learned policies at vertices, two of ReAlloc; about three CPU minutes
    python experiments/real_hillstrom.py --table      # only write the table again

The trial's 29 cells (history × channel × newbie) with their visit rates are the population, so that
any policy's worth is known exactly (dr_coverage.py). Every policy is learned on one draw of
customers and valued on another.

vertices  One e-mail or none per customer. Policy: the best predicted of the three by the
cross-fitted outcome model. Learned on
          3,000 customers, DR value on 1,500 others.
mixes     Shops mail shares of 40 customers a week, drawn from Dirichlet(3, 3, 3). Policy: ReAlloc's
recommendation from equal
          shares, learned on 800 shops × 4 weeks with the public defaults; smoothed DR value on 800
          other shops.

The trial is read from $REALLOC_DATA/hillstrom/hillstrom.csv (../shared/data unless set).
"""

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

import dr_coverage
from dr_coverage import MAILED, SHOPS, WEEKS, cells, covered, draw_customers, draw_mixes
from realloc import Config, ReAlloc, Schema
from realloc.evaluate.outcome_model import fit_outcome_model
from realloc.evaluate.randomized import RandomizedMoves, RandomizedShares
from realloc.evaluate.result import Estimate
from realloc.evaluate.value import policy_value, smoothed_value
from realloc.evaluate.weights import target_arms
from runner import Figures, Study, arguments, describe, markdown, measure, save

LEARNED_ON, VALUED_ON, POLICIES, SEEDS = 3000, 1500, 100, (1, 2)
KEYS, CHANNELS = ("history", "bought_on", "newbie"), ("mens", "womens", "none")
FIRST_DAY = pd.Timestamp("2026-01-05")
Floats = NDArray[np.float64]


def vertices(seed: int) -> Figures:
    """DR value, interval and truth of one learned policy, over no e-mail to anybody and over the
    trial's own split.
    """
    codes, weights, rate = cells()
    learn, _ = draw_customers(np.random.default_rng([21, seed]), LEARNED_ON)
    best = best_arms(learn, codes)
    rows, cell = draw_customers(np.random.default_rng([22, seed]), VALUED_ON)
    value = policy_value(rows, target_arms(rows, best[cell]))
    aimed = rate[np.arange(len(rate)), best]
    truths = {
        "dr_lift": weights @ (aimed - rate.mean(axis=1)),
        "dr_lift_over_hold": weights @ (aimed - rate[:, 2]),
    }
    found: Figures = {name: shown(value[name], truth) for name, truth in truths.items()}
    found["best_possible"] = float(weights @ (rate.max(axis=1) - rate.mean(axis=1)))
    return found


def best_arms(learn: RandomizedMoves, codes: Floats) -> NDArray[np.int64]:
    """By cell, the arm of the best predicted visit rate: the mean over folds at the first learned
    row of that cell.
    """
    model = fit_outcome_model(learn)
    seen = [np.flatnonzero((learn.state == code).all(axis=1)) for code in codes]
    worth = np.full((len(codes), len(learn.moves)), -np.inf)
    worth[:, 0] = (
        # a cell that was never seen gets the e-mail that is best on average in such trials: any
        # would do
        0.0
    )
    for cell, rows in enumerate(seen):
        if len(rows):
            for arm, move in enumerate(learn.moves):
                worth[cell, arm] = model(learn.start[rows] + move, rows).mean()
    return worth.argmax(axis=1)


def mixes(seed: int) -> Figures:
    """ReAlloc learned on one draw of shops; its recommendation valued on another."""
    torch.set_num_threads(1)
    codes, weights, rate = cells()
    learn, cell = draw_mixes(np.random.default_rng([31, seed]), SHOPS)
    model = ReAlloc(Config(seed=seed), schema(), quiet=True).fit(
        log_frame(learn, codes[cell])
    )
    today = pd.DataFrame(codes, columns=list(KEYS)).astype(int).astype(str)
    today = today.assign(
        shop=[f"new{i}" for i in range(len(codes))],
        week=FIRST_DAY + pd.Timedelta(weeks=WEEKS),
        mails=MAILED,
    )
    answer = model.recommend(today.assign(**dict.fromkeys(CHANNELS, 1 / 3)))
    shares = answer[[f"share_{name}" for name in CHANNELS]].to_numpy()
    rows, drawn = draw_mixes(np.random.default_rng([32, seed]), SHOPS)
    value = smoothed_value(rows, shares[drawn])
    gain = MAILED * ((shares - 1 / 3) * rate).sum(axis=1)
    reach = (
        MAILED * 0.22 / np.sqrt(2) * (rate.max(axis=1) - rate.min(axis=1))
    )  # a transfer as long as the default allows
    return {
        "verdict": f"{value.verdict}: {value.reason}",
        "dr_lift": shown(value["dr_lift"], float(weights @ gain)),
        "moved": float(weights @ answer["moved"].to_numpy()),
        "harmed": float(weights @ (gain < -1e-12)),
        "predicted_gain": float(weights @ answer["gain"].to_numpy()),
        "best_in_reach": float(weights @ reach),
        "evidence": model.fitted.main.committee.significance,
    }


def schema() -> Schema:
    return Schema(
        unit="shop",
        time="week",
        outcome="visits",
        channels=CHANNELS,
        budget="mails",
        features=KEYS,
        categorical=KEYS,
    )


def log_frame(rows: RandomizedShares, codes: Floats) -> pd.DataFrame:
    """The rows as a log a user would have."""
    frame = pd.DataFrame(codes, columns=list(KEYS)).astype(int).astype(str)
    week = FIRST_DAY + pd.to_timedelta(
        7 * np.tile(np.arange(WEEKS), len(rows) // WEEKS), unit="D"
    )
    frame = frame.assign(
        shop=[f"shop{unit}" for unit in rows.unit],
        week=week,
        mails=float(MAILED),
        visits=rows.outcome,
    )
    return frame.assign(**dict(zip(CHANNELS, rows.shares.T, strict=True)))


def shown(estimate: Estimate, truth: float) -> list[float]:
    """Value, low, high, truth."""
    return [float(x) for x in (estimate.value, estimate.low, estimate.high, truth)]


def work(key: str) -> Figures:
    """`vertices/<block>`: twenty policies. `mixes/<seed>`: one."""
    what, number = key.split("/")
    if what == "mixes":
        return mixes(int(number))
    answers = [vertices(seed) for seed in range(20 * int(number), 20 * int(number) + 20)]
    return {name: [answer[name] for answer in answers] for name in answers[0]}


def to_markdown(cells_by_key: dict[str, Figures]) -> str:
    blocks = [one for key, one in cells_by_key.items() if key.startswith("vertices/")]
    rows: list[list[str]] = []
    for name, words in (
        ("dr_lift", "over the trial's split"),
        ("dr_lift_over_hold", "over no e-mail"),
    ):
        found = np.array([one for block in blocks for one in block[name]])
        means = [
            f"{found[:, 3].mean():.4f}",
            f"{found[:, 0].mean():.4f}",
            f"{(found[:, 2] - found[:, 1]).mean():.4f}",
        ]
        rows.append(
            [
                words,
                str(len(found)),
                *means,
                f"**{covered(found):.2f}**",
                f"{(found[:, 1] > 0).mean():.2f}",
            ]
        )
    best = np.mean([one for block in blocks for one in block["best_possible"]])
    head = [
        "lift in visits per customer",
        "policies",
        "truth, mean",
        "DR, mean",
        "width, mean",
        "covered",
        "above 0",
    ]
    text = [
        "# A real randomized trial (Hillstrom): learned policies",
        "",
        describe(cells_by_key),
        "",
        "## Vertices",
        "",
    ]
    text += [
        *markdown(head, rows),
        f"The best policy by cell has a lift of {best:.4f} over the trial's split.",
        "",
    ]
    text += [
        "## Mixes",
        "",
        "Visits per shop and week, over equal shares (which is also the mean of logging).",
        "",
    ]
    return "\n".join([*text, *mixes_table(cells_by_key)])


def mixes_table(cells_by_key: dict[str, Figures]) -> list[str]:
    """One row per seed, then what the value's own verdict says."""
    rows, verdicts = list[list[str]](), list[str]()
    for key, one in (
        (key, one) for key, one in cells_by_key.items() if key.startswith("mixes/")
    ):
        value, low, high, truth = one["dr_lift"]
        told = [
            f"{one[name]:.3f}"
            for name in ("predicted_gain", "best_in_reach", "moved", "harmed")
        ]
        rows.append(
            [
                key.split("/")[1],
                f"**{truth:.3f}**",
                f"{value:.3f} [{low:.3f}, {high:.3f}]",
                *told,
                f"{one['evidence']:.1f}",
            ]
        )
        verdicts.append(f"* seed {key.split('/')[1]}: {one['verdict']}")
    head = [
        "seed",
        "truth",
        "DR lift [95 %]",
        "predicted gain",
        "best in reach",
        "moved",
        "harmed",
        "held-out significance",
    ]
    return [*markdown(head, rows), *verdicts, ""]


def main() -> None:
    given = arguments(__doc__).parse_args()
    if not dr_coverage.DATA.exists():
        raise SystemExit(
            f"There is no trial at {dr_coverage.DATA}: nothing to do. Set REALLOC_DATA to its "
            "folder."
        )
    keys = [f"vertices/{block}" for block in range(POLICIES // 20)] + [
        f"mixes/{seed}" for seed in given.seeds or SEEDS
    ]
    study = Study("real_hillstrom", work, tuple(keys))
    found = study.done()
    for key in () if given.table else study.keys:
        if key not in found:
            found[key] = measure(study.work, key)
            save(study, found)
            print(f"{key} {found[key]['seconds']:.0f} CPU s", flush=True)
    study.path.with_suffix(".md").write_text(to_markdown(study.done()))
    print(to_markdown(study.done()))


if __name__ == "__main__":
    main()
