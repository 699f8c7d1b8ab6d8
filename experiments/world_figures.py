"""Figures of the synthetic world: the response surface with logged actions in the four regimes, and
the best transfers.

python experiments/world_figures.py     # writes experiments/results/world_actions.png and
world_transfers.png
"""

from pathlib import Path
from typing import Any

import matplotlib as mpl  # pyright: ignore[reportMissingImports]

mpl.use("Agg")
import matplotlib.pyplot as plt  # pyright: ignore[reportMissingImports]
import mpltern  # noqa: F401  # pyright: ignore[reportMissingImports]  registers a projection
import numpy as np
from matplotlib.colors import BoundaryNorm, ListedColormap  # pyright: ignore[reportMissingImports]

from grid_oracle import simplex_grid
from realloc.base.simplex import Floats, edges, softmax, tangent_basis
from realloc.evaluate.oracle import edge_scores
from realloc.world import REGIMES, World
from realloc.world.oracle import search_local
from realloc.world.sample import channel_names
from realloc.world.state import State

RESULTS = Path(__file__).parent / "results"
SEED, ROW, DRAWS, GRID = 1, 7, 350, 60
EDGE_COLOURS = ("#4477aa", "#66ccee", "#228833", "#ccbb44", "#ee6677", "#aa3377")


def one_context(world: World) -> State:
    """The same item and day in every regime."""
    logs = world.sample(units=20, periods=1, seed=3)
    return world.state(logs).take(np.array([ROW]))


def region_border(world: World, state: State) -> Floats:
    """The border of the support region, a closed line of shares."""
    region = world.region(state)
    angle = np.linspace(0, 2 * np.pi, 200)
    circle = (
        np.sqrt(region.radius_squared)
        * region.law.spread
        * np.stack([np.cos(angle), np.sin(angle)])
    )
    return softmax((tangent_basis(3) @ (region.law.centre + circle)).T)


def name_corners(axes: Any) -> None:
    """Channel names at the corners, no tick labels."""
    for place, name in zip(("t", "l", "r"), channel_names(3), strict=True):
        getattr(axes, f"set_{place}label")(name, fontsize=9, rotation=0)
    axes.tick_params(labelbottom=False, labelleft=False, labelright=False, length=0)


def draw_actions() -> None:
    """Logged actions of one context over the one response surface, regime by regime."""
    grid = simplex_grid(3, GRID)
    figure, panels = plt.subplots(
        1, 4, figsize=(12.4, 3.6), subplot_kw={"projection": "ternary"}
    )
    rng = np.random.default_rng(0)
    for axes, regime in zip(panels, REGIMES, strict=True):
        world = World(regime, SEED)
        state = one_context(world)
        gain = world.response(state, grid[None])[0] - world.response(
            state, np.full((1, 3), 1 / 3)
        )
        surface = axes.tricontourf(
            *grid.T, gain, levels=np.arange(-6, 6.1, 1), cmap="RdYlBu_r", extend="both"
        )
        law = world.policy.law(state).take(np.zeros(DRAWS, dtype=np.int64))
        logged = law.sample(rng.standard_normal((2, DRAWS)), rng.random(DRAWS))
        axes.scatter(*logged.T, s=4, color="black", alpha=0.55, linewidths=0)
        axes.plot(*region_border(world, state).T, color="black", linewidth=1.1)
        axes.set_title(regime.capitalize(), fontsize=11, pad=12)
        name_corners(axes)
    figure.subplots_adjust(left=0.02, right=0.91, wspace=0.25, top=0.8, bottom=0.12)
    bar = figure.colorbar(surface, cax=figure.add_axes((0.94, 0.16, 0.01, 0.6)))
    bar.set_label("response − response of the uniform split", fontsize=8)
    bar.ax.tick_params(labelsize=8)
    save(figure, "world_actions.png")


def draw_transfers() -> None:
    """Which transfer gains most at each place, and where Oracle Local goes from logged actions."""
    world = World("hard", SEED)
    state, grid, names = one_context(world), simplex_grid(3, GRID), channel_names(3)
    best = edge_scores(world.gradient(state, grid[None])[0]).argmax(axis=1)
    figure, axes = plt.subplots(figsize=(6.4, 4.6), subplot_kw={"projection": "ternary"})
    colours = ListedColormap(EDGE_COLOURS)
    points = axes.scatter(
        *grid.T,
        c=best,
        cmap=colours,
        norm=BoundaryNorm(np.arange(7) - 0.5, 6),
        s=52,
        marker="h",
    )
    points.set_linewidths(0)
    axes.plot(*region_border(world, state).T, color="black", linewidth=1.4)
    draw_traces(axes, world, state)
    handles = [
        plt.Line2D(
            [],
            [],
            marker="h",
            linestyle="",
            color=EDGE_COLOURS[e],
            label=f"{names[k]} → {names[t]}",
        )
        for e, (k, t) in enumerate(edges(3))
        if (best == e).any()
    ]
    handles.append(plt.Line2D([], [], color="black", label="support region"))
    handles.append(
        plt.Line2D(
            [],
            [],
            color="white",
            marker="o",
            markersize=4,
            markeredgecolor="black",
            label="Oracle Local",
        )
    )
    legend = axes.legend(
        handles=handles,
        loc="upper left",
        bbox_to_anchor=(0.98, 1.0),
        fontsize=8,
        frameon=True,
    )
    legend.get_frame().set_facecolor("#dddddd")
    axes.set_title("Best local transfer, hard regime", fontsize=11, pad=12)
    name_corners(axes)
    figure.subplots_adjust(left=0.05, right=0.74, top=0.84, bottom=0.1)
    save(figure, "world_transfers.png")


def draw_traces(axes: Any, world: World, state: State, count: int = 6) -> None:
    """Oracle Local from a few logged actions."""
    rng = np.random.default_rng(4)
    rows = np.zeros(count, dtype=np.int64)
    law = world.policy.law(state).take(rows)
    start = law.sample(rng.standard_normal((2, count)), np.ones(count))
    for points in search_local(world, state.take(rows), start).points:
        axes.plot(*points.T, color="white", linewidth=1.8)
        axes.scatter(
            *points[:1].T, s=16, color="white", edgecolor="black", linewidths=0.8, zorder=4
        )
        axes.scatter(
            *points[-1:].T, s=22, color="black", edgecolor="white", linewidths=0.8, zorder=5
        )


def save(figure: Any, name: str) -> None:
    """Write one figure and say its size."""
    path = RESULTS / name
    figure.savefig(path, dpi=110)
    plt.close(figure)
    print(f"{path} {path.stat().st_size / 1024:.0f} KB")


if __name__ == "__main__":
    draw_actions()
    draw_transfers()
