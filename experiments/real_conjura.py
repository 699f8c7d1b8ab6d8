"""Real advertising logs without an experiment: does the policy keep the mix where it cannot know,
and say why?

    python experiments/real_conjura.py
        # five seeds, two arms each; resumable; about a quarter of an hour
    python experiments/real_conjura.py --ranking
        # does the mix rank outcomes out of time, brand by brand? half a minute

Seven brands' series (the one that is the total of others is left out), nine channels, daily orders.
Learned from the first 75 % of every series, asked about the last 25 %, with the public defaults and
lags. The control permutes shares in time within every series, in training and today, and keeps
budgets and outcomes: whatever it moves then, it moves on noise.

Data are read from $REALLOC_DATA/conjura (../shared/data unless set). Ranking: see real_panel.py;
outcomes are log(1 + orders).
"""

import argparse
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from real_panel import ARMS as RANKED
from real_panel import SHARED, STRENGTH, Panel, arm_of, find, matched_verdict, rank
from realloc import Config, ReAlloc, Schema, read_logs
from realloc.base.simplex import total_variation
from realloc.learn.features.encode import FeatureConfig
from runner import Figures, Study, commit, describe, markdown, measure, save

ROOT = Path(__file__).resolve().parents[1]
FILE = "conjura/conjura_slice_4999rows.csv"
SLICE = SHARED / FILE
RESULTS = ROOT / "experiments/results"
UNIT, TIME, OUTCOME, TOTAL = (
    "MMM_TIMESERIES_ID",
    "DATE_DAY",
    "ALL_PURCHASES",
    "b495f966e17c4c9ac0bea4d66aa03eba",
)
STATE = (
    "ORGANISATION_ID",
    "TERRITORY_NAME",
)  # nothing of the same day: clicks and impressions come after the decision
SEEDS, ARMS, LAGS, PAST, BLOCK_DAYS, TOLERANCE = (
    (1, 2, 3, 4, 5),
    ("real", "permuted"),
    7,
    0.75,
    28,
    0.02,
)


def read_slice() -> tuple[pd.DataFrame, Schema]:
    frame = pd.read_csv(SLICE)
    channels = tuple(name for name in frame if name.endswith("_SPEND"))
    frame[list(channels)] = frame[list(channels)].fillna(0.0)  # not used
    schema = Schema(
        unit=UNIT,
        time=TIME,
        outcome=OUTCOME,
        channels=channels,
        features=STATE,
        drop_units=(TOTAL,),
        currency=None,
    )
    return frame[[UNIT, TIME, OUTCOME, *channels, *STATE]], schema


def permute(frame: pd.DataFrame, channels: tuple[str, ...], seed: int) -> pd.DataFrame:
    """Every day of a series gets the shares of another day of it, and keeps its budget."""
    random, found = np.random.default_rng(seed), frame.copy()
    spend = frame[list(channels)].to_numpy()
    budget = spend.sum(axis=1, keepdims=True)
    shares = spend / np.where(budget > 0, budget, 1.0)
    for rows in frame.groupby(UNIT).indices.values():
        shares[rows] = shares[random.permutation(rows)]
    found[list(channels)] = shares * budget
    return found


def halves(frame: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The first 75 % of every series, and the rest."""
    rank = frame.groupby(UNIT)[TIME].rank(pct=True)
    return frame[rank <= PAST], frame[rank > PAST]


def cell(arm: str, seed: int) -> dict[str, Any]:
    torch.set_num_threads(1)
    frame, schema = read_slice()
    past, later = halves(frame)
    if arm == "permuted":
        past, later = (
            permute(past, schema.channels, seed),
            permute(later, schema.channels, seed + 1000),
        )
    config = Config(seed=seed, features=FeatureConfig(lags=LAGS))
    model = ReAlloc(config, schema, quiet=True).fit(past)
    today = read_logs(
        later, model.known_schema
    )  # with outcomes: a day's lags are those of the days before it
    answer = model.recommend(today).to_pandas()
    shares = answer[[f"share_{name}" for name in schema.channels]].to_numpy()
    moved, weighing = answer["moved"].to_numpy(), model.fitted.main.committee
    away = total_variation(shares, np.array(today.shares))
    reasons = Counter(
        f"{reason} {why}".strip()
        for reason, why in zip(answer["reason"], answer["limited_by"], strict=True)
    )
    return {
        "rows": len(answer),
        "trained_on": len(past[past[UNIT] != TOTAL]),
        "moved": float(moved.mean()),
        "reasons": {name: count / len(answer) for name, count in reasons.most_common()},
        "moved_share": float(away[moved].mean()) if moved.any() else 0.0,
        "support": float(answer["support"].mean()),
        "certified": float((answer["gain_lower"] >= 0)[moved].mean())
        if moved.any()
        else 0.0,
        "left_simplex": int(
            (shares < 0).any(axis=1).sum() + (np.abs(shares.sum(axis=1) - 1) > 1e-9).sum()
        ),
        "weights": weighing.weights,
        "evidence": weighing.significance,
        "held_out_error": weighing.together / weighing.nothing,
    }


def to_markdown(cells: dict[str, Any]) -> str:
    lines = [
        "# Real advertising logs (Conjura): kept, and why",
        "",
        f"Code of {cells['commit']}. Seven series, {LAGS} lags, public defaults, seeds of model "
        "and permutation. "
        "Certified: part of the moved rows whose lower bound is at least 0.",
        "",
        "| arm | seed | rows | moved | moved share | support | certified | held-out significance | "
        "weights | error / nothing |",
        "|---" * 10 + "|",
    ]
    reasons: dict[str, Counter[str]] = {arm: Counter() for arm in ARMS}
    for arm in ARMS:
        found = [
            (seed, cells[f"{arm}/{seed}"]) for seed in SEEDS if f"{arm}/{seed}" in cells
        ]
        for seed, one in found:
            weights = " ".join(f"{weight:.2f}" for weight in one["weights"])
            lines.append(
                f"| {arm} | {seed} | {one['rows']} | **{one['moved']:.3f}** | "
                f"{one['moved_share']:.3f} | "
                f"{one['support']:.2f} | {one['certified']:.2f} | {one['evidence']:.2f} | "
                f"{weights} | "
                f"{one['held_out_error']:.4f} |"
            )
            reasons[arm].update(
                {name: part / len(found) for name, part in one["reasons"].items()}
            )
    lines += ["", "| reason and what binds | real | permuted |", "|---|---|---|"]
    names = sorted(
        {*reasons["real"], *reasons["permuted"]}, key=lambda name: -reasons["real"][name]
    )
    lines += [
        f"| {name} | {reasons['real'][name]:.3f} | {reasons['permuted'][name]:.3f} |"
        for name in names
    ]
    return "\n".join(lines) + "\n"


def read_brands() -> Panel:
    """Days with spend, without the total of other series; log outcomes, so that brands of any size
    count alike.
    """
    frame, schema = read_slice()
    frame = frame[(frame[UNIT] != TOTAL) & (frame[list(schema.channels)].sum(axis=1) > 0)]
    frame = frame.assign(**{OUTCOME: np.log1p(frame[OUTCOME])}).reset_index(drop=True)
    return Panel(frame, replace(schema, drop_units=()), STATE[0], BLOCK_DAYS, PAST)


def rank_cell(key: str) -> Figures:
    """`<arm>/<seed>`, or `replay/`: what matched replay says."""
    arm, seed = key.split("/")
    panel = read_brands()
    return (
        {"verdict": matched_verdict(panel, TOLERANCE)}
        if arm == "replay"
        else rank(arm_of(panel, arm, int(seed)), int(seed))
    )


def ranking_markdown(cells: dict[str, Figures]) -> str:
    """ρ by brand: as it is, and how the controls came out over seeds."""
    names = [name for name, one in cells["real/1"].items() if isinstance(one, list)]
    rows: list[list[str]] = []
    for name in names:
        value, low, high, n = cells["real/1"][name]
        controls = [
            [cells[f"{arm}/{seed}"][name][0] for seed in SEEDS if f"{arm}/{seed}" in cells]
            for arm in RANKED[1:]
        ]
        spread = [f"{min(one):+.3f} … {max(one):+.3f}" for one in controls]
        rows.append(
            [name, str(n), f"**{value:+.3f}**", f"{low:+.3f} … {high:+.3f}", *spread]
        )
    text = [
        "# Real advertising logs (Conjura): does the mix rank outcomes out of time?",
        "",
        describe(cells),
        "",
        "ρ of the S-learner's predicted worth of today's change of the mix and log(1 + orders) "
        "less what was predictable without "
        f"it, last {1 - PAST:.0%} of every series; 95 % intervals by resampling blocks of "
        f"{BLOCK_DAYS} days. Controls over seeds "
        f"{SEEDS[0]} to {SEEDS[-1]}: shares permuted in time, and the same with a response planted "
        f"that varies {STRENGTH} times "
        "as much as outcomes within a series.",
        "",
        *markdown(
            ["brand", "rows", "ρ", "95 % interval", "permuted, range", "planted, range"],
            rows,
        ),
        f"Matched replay, with changes of up to {TOLERANCE} (‖Δp‖₁) taken for none: "
        f"{cells['replay/0']['verdict']}",
        "",
    ]
    return "\n".join(text)


def rank_brands() -> None:
    keys = (
        "replay/0",
        "real/1",
        *(f"{arm}/{seed}" for seed in SEEDS for arm in RANKED[1:]),
    )
    study = Study("real_conjura_ranking", rank_cell, keys)
    found = study.done()
    for key in keys:
        if key not in found:
            found[key] = measure(study.work, key)
            save(study, found)
    study.path.with_suffix(".md").write_text(ranking_markdown(study.done()))
    print(ranking_markdown(study.done()))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS)
    parser.add_argument("--ranking", action="store_true", help="only the ranking by brand")
    given = parser.parse_args()
    find(FILE)
    if given.ranking:
        rank_brands()
        return
    path = RESULTS / "real_conjura.json"
    cells = json.loads(path.read_text()) if path.exists() else {}
    for seed in given.seeds:
        for arm in ARMS:
            if f"{arm}/{seed}" not in cells:
                cells[f"{arm}/{seed}"] = cell(arm, seed)
                cells["commit"] = commit()
                path.write_text(json.dumps(cells, indent=1))
                print(arm, seed, cells[f"{arm}/{seed}"], flush=True)
    (RESULTS / "real_conjura.md").write_text(to_markdown(cells))
    print(to_markdown(cells))


if __name__ == "__main__":
    main()
