"""Draw docs/images/recommendation.png: real recommendations for a few units of the synthetic world.

Fits the default model on 20,000 logged rows (hard regime, world seed 1, model seed 7), asks it
about fresh units, and draws the first three rows that move and one of each of two reasons to keep.
About a minute of CPU:

    pip install '.[figures]'
    python docs/images/make_recommendation.py
"""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import pyarrow as pa
import pyarrow.compute as pc

import realloc

CHANNELS = ("ads", "coupon", "rebate")
COLORS = ("#3b6ea5", "#e3a13b", "#7a9e7e")
SHOWN = {"moved": 3, "uncertain": 1, "unsupported": 1}
WHY_KEPT = {
    "uncertain": "the gain is within its uncertainty",
    "unsupported": "the logs hold no evidence there",
}


def main() -> None:
    """Fit, recommend, draw."""
    world = realloc.World(regime="hard", seed=1)
    model = realloc.ReAlloc(realloc.Config(seed=7)).fit(
        world.sample(units=2000, periods=10, seed=0)
    )
    today = world.sample(units=200, periods=1, seed=1).to_arrow()
    rows = choose(today, model.recommend(today))
    draw(rows, Path(__file__).with_name("recommendation.png"))


def choose(today: pa.Table, answers: pa.Table) -> list[dict]:
    """The first rows of each reason, with the shares they have today."""
    rows = []
    for reason, count in SHOWN.items():
        places = pc.indices_nonzero(pc.equal(answers["reason"], reason)).to_pylist()[:count]
        for place in places:
            now = {name: today[name][place].as_py() for name in CHANNELS}
            rows.append(answers.slice(place, 1).to_pylist()[0] | {"now": now})
    return rows


def draw(rows: list[dict], path: Path) -> None:
    """One pair of bars for each row, with its gain or its reason."""
    figure, axes = plt.subplots(figsize=(10, 0.95 * len(rows) + 1.1))
    for place, row in enumerate(rows):
        top = -1.3 * place
        bar(axes, top, [row["now"][name] for name in CHANNELS], faded=True)
        bar(axes, top - 0.42, [row[f"share_{name}"] for name in CHANNELS], faded=False)
        axes.text(
            -0.12, top - 0.21, f"unit {place + 1}", ha="right", va="center", weight="bold"
        )
        axes.text(-0.01, top, "today", ha="right", va="center", fontsize=8, color="#555555")
        axes.text(-0.01, top - 0.42, "advice", ha="right", va="center", fontsize=8)
        if row["moved"]:
            headline = f"moved: gain +{row['gain']:.2f} orders"
            detail = f"95 % lower bound {row['gain_lower']:+.2f}".replace(
                "-", "\N{MINUS SIGN}"
            )
        else:
            headline = f"kept: {row['reason']}"
            detail = WHY_KEPT[row["reason"]]
        axes.text(1.03, top, headline, va="center", weight="bold", fontsize=10)
        axes.text(1.03, top - 0.42, detail, va="center", fontsize=9)
    handles = [plt.Rectangle((0, 0), 1, 1, color=color) for color in COLORS]
    axes.legend(
        handles,
        CHANNELS,
        ncols=3,
        loc="lower center",
        bbox_to_anchor=(0.5, 1.0),
        frameon=False,
    )
    axes.set_xlim(-0.22, 1.5)
    axes.set_ylim(-1.3 * (len(rows) - 1) - 0.75, 0.35)
    axes.axis("off")
    figure.savefig(path, dpi=140, bbox_inches="tight", facecolor="white")


def bar(axes: plt.Axes, height: float, shares: list[float], *, faded: bool) -> None:
    """One split of a budget, with percentages."""
    left = 0.0
    for share, color in zip(shares, COLORS, strict=True):
        axes.barh(
            height, share, left=left, height=0.36, color=color, alpha=0.45 if faded else 1.0
        )
        if share > 0.06:
            axes.text(
                left + share / 2,
                height,
                f"{100 * share:.0f} %",
                ha="center",
                va="center",
                fontsize=8,
                color="black" if faded else "white",
            )
        left += share


if __name__ == "__main__":
    main()
