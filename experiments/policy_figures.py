"""Where policies go: global predict-then-optimise against local policies, for three contexts of the
hard regime.

python experiments/policy_figures.py     # fits ReAlloc unless an experiment has; writes
experiments/results/policy_ways.png
"""

from typing import Any

import numpy as np

import realloc
from fitted import TEST, TRAIN, fitted
from grid_oracle import simplex_grid
from realloc.base.simplex import Floats
from realloc.baselines import BASELINES
from realloc.logs import Logs
from realloc.world import World
from realloc.world.oracle import search_local
from static_quality import decide
from world_figures import GRID, SEED, name_corners, plt, region_border, save

ROWS = (11, 402, 1203)
COLOURS = {
    "Oracle Local": "black",
    "ReAlloc": "#d62728",
    "S-NN, local": "#1f77b4",
    "S-NN, global": "#9467bd",
}


def ends(world: World, test: Logs) -> tuple[dict[str, Floats], list[str]]:
    """Where every policy sends the rows, and ReAlloc's reasons."""
    policy: Any = BASELINES["s_nn_local"](config=realloc.Config(seed=SEED))
    policy.fit(world.sample(**TRAIN))
    found = {"S-NN, local": policy.decide(test).shares}
    policy.search = "global"
    found["S-NN, global"] = policy.decide(test).shares
    ours = decide(fitted("hard", SEED), test, realloc.Config().decision)
    found["ReAlloc"] = ours.shares
    found["Oracle Local"] = search_local(
        world, world.state(test), np.array(test.shares)
    ).shares
    return found, list(ours.reason)


def main() -> None:
    world = World("hard", SEED)
    test = world.sample(**TEST).take(np.array(ROWS))
    grid, (found, reasons), start = (
        simplex_grid(3, GRID),
        ends(world, test),
        np.array(test.shares),
    )
    figure, panels = plt.subplots(
        1, 3, figsize=(12.4, 4.4), subplot_kw={"projection": "ternary"}
    )
    for row, axes in enumerate(panels):
        state = world.state(test).take(np.array([row]))
        gain = world.response(state, grid[None])[0] - world.response(
            state, start[row : row + 1]
        )
        surface = axes.tricontourf(
            *grid.T,
            gain,
            levels=np.arange(-6, 6.1, 1),
            cmap="RdYlBu_r",
            extend="both",
            alpha=0.8,
        )
        axes.plot(*region_border(world, state).T, color="black", linewidth=1.1)
        for name, colour in COLOURS.items():
            way = np.stack([start[row], found[name][row]])
            axes.plot(*way.T, color=colour, linewidth=2, label=name)
            axes.scatter(
                *way[1:].T, s=30, color=colour, edgecolor="white", linewidths=0.8, zorder=5
            )
        axes.scatter(
            *start[row : row + 1].T, s=34, color="white", edgecolor="black", zorder=6
        )
        name_corners(axes)
        axes.set_title(f"ReAlloc: {reasons[row]}", fontsize=9, pad=16)
    figure.legend(
        *panels[0].get_legend_handles_labels(),
        loc="lower center",
        ncol=4,
        frameon=False,
        fontsize=9,
    )
    figure.suptitle(
        "Ways from the logged shares (white), the support region (line), hard regime",
        fontsize=11,
    )
    figure.subplots_adjust(left=0.03, right=0.9, wspace=0.25, top=0.8, bottom=0.18)
    bar = figure.colorbar(surface, cax=figure.add_axes((0.94, 0.2, 0.01, 0.55)))
    bar.set_label("true gain", fontsize=8)
    save(figure, "policy_ways.png")


if __name__ == "__main__":
    main()
