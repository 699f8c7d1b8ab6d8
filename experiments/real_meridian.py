"""A geo panel simulated by others (Google Meridian): does the policy keep the mix where it cannot
know, and find what is there?

    python experiments/real_meridian.py
        # one seed, three arms; resumable; about five minutes of CPU
    python experiments/real_meridian.py --seeds 1 2   # more of them
    python experiments/real_meridian.py --table       # only write the table again

40 geos × 156 weeks, five channels; spends and conversions per inhabitant. Learned from the first 75
% of the weeks, asked about the rest, with the public defaults and lags. The file comes without its
true parameters, so the truth there is: none in the arm `real`; nothing to find in `permuted`; a
known response in `planted` (see real_panel.py). The data are read from
$REALLOC_DATA/meridian/geo_all_channels.csv (../shared/data unless set).
"""

from collections import Counter
from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from real_panel import (
    ARMS,
    STRENGTH,
    Panel,
    arm_of,
    find,
    matched_verdict,
    permute,
    planted_response,
    planted_weights,
    rank,
    shown_rank,
)
from realloc import Config, ReAlloc, Schema, read_logs
from realloc.base.simplex import total_variation
from realloc.learn.features.encode import FeatureConfig
from runner import Figures, Study, arguments, describe, markdown, measure, save

FILE = "meridian/geo_all_channels.csv"
STATE = ("competitor_sales_control", "sentiment_score_control", "Promo")
LAGS, BLOCK_DAYS, TOLERANCE = 4, 28, 0.05


def read_panel(path: Path) -> Panel:
    """Spends and conversions per inhabitant: geos differ most by their size.

    Weeks without spend hold no mix.
    """
    frame = pd.read_csv(path)
    channels = tuple(name for name in frame if name.endswith("_spend"))
    people = frame["population"]
    frame = frame.assign(
        **{name: frame[name] / people for name in channels},
        rate=frame["conversions"] / people,
        panel="all",
    )
    frame = frame[frame[list(channels)].sum(axis=1) > 0]
    schema = Schema(
        unit="geo", time="time", outcome="rate", channels=channels, features=STATE
    )
    return Panel(
        frame[["geo", "time", "rate", "panel", *channels, *STATE]].reset_index(drop=True),
        schema,
        "panel",
        BLOCK_DAYS,
    )


def work(key: str) -> Figures:
    """`rank/<arm>/<seed>`: seconds. `policy/<arm>/<seed>`: the whole model."""
    what, arm, number = key.split("/")
    panel, seed = read_panel(find(FILE)), int(number)
    if what == "replay":
        return {"verdict": matched_verdict(panel, TOLERANCE)}
    changed = arm_of(panel, arm, seed)
    if what == "rank":
        return rank(changed, seed)
    return decide(
        changed,
        seed,
        planted_weights(permute(panel, seed), seed) if arm == "planted" else None,
    )


def decide(panel: Panel, seed: int, weights: np.ndarray | None = None) -> Figures:
    """Fit on the past, recommend for later rows; beside it what a planted response says of the
    advice.
    """
    torch.set_num_threads(1)
    past = panel.is_past()
    model = ReAlloc(
        Config(seed=seed, features=FeatureConfig(lags=LAGS)), panel.schema, quiet=True
    ).fit(panel.frame[past])
    today = read_logs(panel.frame[~past], model.known_schema, today=date(2100, 1, 1))
    answer = model.recommend(today).to_pandas()
    shares, start = (
        answer[[f"share_{name}" for name in panel.spend]].to_numpy(),
        np.array(today.shares),
    )
    moved, weighing = answer["moved"].to_numpy(), model.fitted.main.committee
    reasons = Counter(
        f"{one} {why}".strip()
        for one, why in zip(answer["reason"], answer["limited_by"], strict=True)
    )
    found: Figures = {
        "trained_on": int(past.sum()),
        "rows": len(answer),
        "moved": float(moved.mean()),
        "moved_share": float(total_variation(shares, start)[moved].mean())
        if moved.any()
        else 0.0,
        "support": float(answer["support"].mean()),
        "reasons": {name: count / len(answer) for name, count in reasons.most_common()},
        "evidence": weighing.significance,
        "held_out_error": weighing.together / weighing.nothing,
        "left_simplex": int(
            (shares < 0).any(axis=1).sum() + (np.abs(shares.sum(axis=1) - 1) > 1e-9).sum()
        ),
    }
    if weights is not None:
        gain = planted_response(weights, shares) - planted_response(weights, start)
        noise = float(panel.frame["rate"].groupby(panel.frame["geo"]).std().mean())
        found |= {
            "true_gain": float(gain.mean() / noise),
            "predicted_gain": float(answer["gain"].mean() / noise),
            "harmed": float((gain < 0)[moved].mean()) if moved.any() else 0.0,
            "above_lower": float((gain >= answer["gain_lower"])[moved].mean())
            if moved.any()
            else 0.0,
        }
    return found


def to_markdown(cells: dict[str, Figures]) -> str:
    text = [
        "# A geo panel simulated by others (Meridian)",
        "",
        describe(cells),
        "",
        "40 geos × 156 weeks, five channels, spends and conversions per inhabitant; learned from "
        "the first 75 %. Planted: "
        f"permuted shares and a known response that varies {STRENGTH} times as much as outcomes "
        "within a geo; gains in standard "
        "deviations of the outcome within a geo, over all later rows.",
        "",
        "## What the policy does",
        "",
    ]
    head = [
        "arm",
        "seed",
        "rows",
        "moved",
        "moved share",
        "support",
        "held-out significance",
        "error / nothing",
        "reasons",
    ]
    rows, truths = [], []
    for key, one in ((key, one) for key, one in cells.items() if key.startswith("policy/")):
        _, arm, seed = key.split("/")
        why = ", ".join(f"{name} {part:.0%}" for name, part in one["reasons"].items())
        shown = [
            f"**{one['moved']:.3f}**",
            f"{one['moved_share']:.3f}",
            f"{one['support']:.2f}",
            f"{one['evidence']:.2f}",
        ]
        rows.append(
            [arm, seed, str(one["rows"]), *shown, f"{one['held_out_error']:.4f}", why]
        )
        if "true_gain" in one:
            truths.append(
                [
                    seed,
                    *(
                        f"{one[name]:.3f}"
                        for name in ("true_gain", "predicted_gain", "harmed", "above_lower")
                    ),
                ]
            )
    text += markdown(head, rows)
    text += ["Of the planted arm, looked up in the response that was planted:", ""]
    text += markdown(
        [
            "seed",
            "true gain",
            "predicted gain",
            "harmed of moved",
            "true gain ≥ gain_lower",
        ],
        truths,
    )
    text += [
        "## What ranks outcomes out of time",
        "",
        "ρ of the S-learner's predicted worth of this week's change of the mix and ",
    ]
    text[-1] += (
        f"the outcome less what was predictable; blocks of {BLOCK_DAYS} days are resampled."
    )
    ranks = [
        [*key.split("/")[1:], *shown_rank(one["all"])]
        for key, one in cells.items()
        if key.startswith("rank/")
    ]
    text += ["", *markdown(["arm", "seed", "ρ", "95 % interval", "rows"], ranks)]
    verdict = cells.get("replay/real/1", {}).get("verdict", "not run")
    return "\n".join(
        [
            *text,
            "## Matched replay",
            "",
            f"With changes of up to {TOLERANCE} (‖Δp‖₁) taken for none: {verdict}",
            "",
        ]
    )


def main() -> None:
    given = arguments(__doc__).parse_args()
    find(FILE)
    seeds = given.seeds or [1]
    keys = [
        f"rank/{arm}/{seed}"
        for seed in range(1, 6)
        for arm in ARMS
        if arm != "real" or seed == 1
    ]
    keys += ["replay/real/1", *(f"policy/{arm}/{seed}" for seed in seeds for arm in ARMS)]
    study = Study("real_meridian", work, tuple(keys))
    fill(study, given.table)
    study.path.with_suffix(".md").write_text(to_markdown(study.done()))
    print(to_markdown(study.done()))


def fill(study: Study, table_only: bool) -> None:
    """Cell after cell in this process; those that are there are kept."""
    found = study.done()
    for key in () if table_only else study.keys:
        if key not in found:
            found[key] = measure(study.work, key)
            save(study, found)
            print(key, found[key], flush=True)


if __name__ == "__main__":
    main()
