"""The curves as pictures: Safe Recovery above, harmed rows below, mean and 95 % interval over
seeds.

python experiments/curve_figures.py     # reads experiments/results/curves.json, writes curves.png
beside it
"""

import json
from typing import Any

import numpy as np

from curves import CURVES, METRIC, Curve, of_place
from runner import Figures, interval
from world_figures import RESULTS, plt, save

PARTS = {METRIC: "Safe Recovery", "harm_rate": "harmed, of the moved"}
STYLES = {
    "realloc": ("ReAlloc", "#d62728"),
    "linear_dml": ("LinearDML (EconML)", "#1f77b4"),
    "r_learner": ("R-Learner", "#2ca02c"),
    "s_nn_ensemble": ("S-NN ensemble", "#9467bd"),
}


def draw(axes: Any, cells: dict[str, Figures], name: str, curve: Curve, part: str) -> None:
    """One figure of one curve, a line per method; a place without a method's cells is left out of
    its line.
    """
    for method in curve.methods:
        title, colour = STYLES[method]
        known = {}
        for value in curve.values:
            found = of_place(cells, f"{name}/{value:g}", "ascent").get(method, {})
            if found:
                known[value] = np.array([one[part] for one in found.values()])
        bounds = np.array([interval(values) for values in known.values()])
        axes.plot(
            list(known),
            [values.mean() for values in known.values()],
            "o-",
            color=colour,
            ms=3.5,
            label=title,
        )
        axes.fill_between(list(known), *bounds.T, color=colour, alpha=0.18, linewidth=0)
    if name == "rows":
        axes.set_xscale("log")
    ticks = [
        f"{value / 1000:g}K" if name == "rows" else f"{value:g}" for value in curve.values
    ]
    axes.set_xticks(curve.values, ticks, fontsize=8)
    axes.minorticks_off()
    axes.tick_params(axis="y", labelsize=8)
    axes.grid(alpha=0.25)


def main() -> None:
    cells = json.loads((RESULTS / "curves.json").read_text())["cells"]
    figure, panels = plt.subplots(
        len(PARTS), len(CURVES), figsize=(13, 5.8), sharex="col", sharey="row"
    )
    for row, (part, text) in zip(panels, PARTS.items(), strict=True):
        for axes, (name, curve) in zip(row, CURVES.items(), strict=True):
            draw(axes, cells, name, curve, part)
        row[0].set_ylabel(text, fontsize=9)
    panels[-1, 0].set_ylim(bottom=0)
    for axes, curve in zip(panels[-1], CURVES.values(), strict=True):
        axes.set_xlabel(curve.title, fontsize=9)
    figure.legend(
        *panels[0, 0].get_legend_handles_labels(),
        loc="upper center",
        ncol=4,
        frameon=False,
        fontsize=9,
    )
    figure.subplots_adjust(
        left=0.05, right=0.99, bottom=0.09, top=0.93, wspace=0.06, hspace=0.07
    )
    save(figure, "curves.png")


if __name__ == "__main__":
    main()
