"""Every rival over its grid: which setting has the least error on units that no fit saw.

    python experiments/rival_grid.py            # seeds 201, 202; hard, benign; hours; resumable
    python experiments/rival_grid.py --quick    # one log of 2,000 rows; minutes
    python experiments/rival_grid.py --rivals vcnet s_gbdt --seeds 201

A cell is one setting of one rival on one log. Four fifths of the units are learned from, the others
judge. A rival that predicts outcomes is judged by their squared error, up to a constant, which no
decision depends on. A rival that knows effects alone is judged by the squared error of residuals,
y − m̂ against f(p) − f(ê), with m̂ and ê cross-fitted by unit.

Other worlds are plugged in by a function: `grid_study(name, source, places)`, where
`source(place)` gives the logs of a place.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

import realloc
from realloc.baselines import BASELINES
from realloc.baselines.backbone import Backbone
from realloc.baselines.peers_linear_dml import LinearDMLConfig
from realloc.baselines.response import LearnedResponse, Task
from realloc.baselines.ridge_interactions import RidgeConfig
from realloc.baselines.s_trees import TreeConfig
from realloc.baselines.vcnet import VCNetConfig
from realloc.learn.features.encode import Encoder, fit_encoder
from realloc.learn.nuisances.crossfit import cross_fit
from realloc.logs import Logs, unit_folds
from realloc.model.round import draw, open_window
from realloc.world import REGIMES, World
from runner import Figures, Study, arguments, conclude, describe, markdown

SEEDS = (201, 202)
TRAIN = {"units": 2000, "periods": 10}
SMALL = {"units": 200, "periods": 10}
FOLDS = 5  # of units; the first judges
NETWORK = {"width": (64, 128), "epochs": (20, 40), "weight_decay": (0.1, 0.5, 1.5)}
Floats = NDArray[np.float64]
Source = Callable[[str], Logs]  # the logs of a place such as "hard/201"


@dataclass(frozen=True)
class Rival:
    """A registered baseline, the class of its settings and the values that are tried."""

    baseline: str
    settings: Callable[..., Any]
    axes: dict[str, tuple[Any, ...]]
    knows: str = "outcome"  # or effect: nothing about the baseline demand

    def grid(self) -> dict[str, Any]:
        """Every setting by a name such as `leaves=4,shrinkage=0.05`."""
        found: dict[str, Any] = {}
        for values in product(*self.axes.values()):
            chosen = dict(zip(self.axes, values, strict=True))
            name = ",".join(f"{axis}={value}" for axis, value in chosen.items())
            found[name or "default"] = self.settings(**chosen)
        return found


RIVALS: dict[str, Rival] = {
    "s_nn_ensemble": Rival("s_nn_ensemble", Backbone, NETWORK),
    "vcnet": Rival("vcnet", VCNetConfig, NETWORK),
    "r_learner": Rival("r_learner", Backbone, NETWORK, knows="effect"),
    "s_gbdt": Rival(
        "s_gbdt_local",
        TreeConfig,
        {"leaves": (4, 8, 16), "trees": (500, 1500), "shrinkage": (0.02, 0.05, 0.1)},
    ),
    "linear_dml": Rival("linear_dml", LinearDMLConfig, {"degree": (1, 2)}, knows="effect"),
    # its penalty is chosen within the fit
    "ridge_interactions": Rival("ridge_interactions", RidgeConfig, {}),
}


def world_logs(place: str, sizes: dict[str, int]) -> Logs:
    """Logs of the paper's world."""
    regime, seed = place.split("/")
    return World(regime, int(seed)).sample(**sizes, seed=0)


def cell(key: str, source: Source) -> Figures:
    """One setting of one rival: its error, and that of knowing nothing."""
    name, setting, place = key.split("/", 2)
    rival = RIVALS[name]
    logs = source(place)
    held = unit_folds(logs, FOLDS) == 0
    train = logs.take(np.flatnonzero(~held))
    test = logs.take(np.flatnonzero(held))
    encoder, response = fit(rival, rival.grid()[setting], train)
    x = encoder.encode(test).values
    shares = np.array(test.shares)
    target = np.array(test.outcome)
    if rival.knows == "outcome":
        predicted = response.values(x, shares[:, None])[:, 0]
        missed = target - predicted
        missed = missed - missed.mean()
        target = target - target.mean()
    else:
        outcome, usual = nuisances(logs, held)
        gains = response.values(x, np.stack([usual, shares], axis=1))
        target = target - outcome
        missed = target - (gains[:, 1] - gains[:, 0])
    return {
        "error": float(np.square(missed).mean()),
        "nothing": float(np.square(target).mean()),
        "rows": len(train),
    }


def fit(rival: Rival, settings: Any, train: Logs) -> tuple[Encoder, LearnedResponse]:
    """The rival's response alone: no support, no search."""
    config = realloc.Config()
    policy: Any = BASELINES[rival.baseline](config=config, settings=settings)
    encoder = fit_encoder(train, config.features)
    window = open_window(train, encoder, config, config.seed, None)
    task = Task(window, config, draw(config.seed, type(policy).__name__, 0))
    return encoder, policy.fit_response(task)


def nuisances(logs: Logs, held: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """m̂ (n,) and ê (n, K) of the held-out rows, by models that saw none of their units."""
    config = realloc.Config()
    encoder = fit_encoder(logs, config.features)
    window = open_window(logs, encoder, config, config.seed, None)
    found = cross_fit(
        window.x,
        window.shares,
        window.outcome,
        window.folds,
        config.nuisances,
        draw(config.seed, "nuisances", 0),
        window.weights,
    )
    return found.outcome[held], found.shares[held]


def best(cells: dict[str, Figures], rival: str) -> str | None:
    """The setting of least mean error over the places where every setting was measured."""
    by_setting = errors(cells, rival)
    if not by_setting:
        return None
    places = set.intersection(*(set(found) for found in by_setting.values()))
    if not places:
        return None
    return min(
        by_setting,
        key=lambda setting: np.mean([by_setting[setting][place] for place in places]),
    )


def errors(cells: dict[str, Figures], rival: str) -> dict[str, dict[str, float]]:
    """The error of every measured setting and place, as a part of that of nothing."""
    found: dict[str, dict[str, float]] = {}
    for key, measured in cells.items():
        name, setting, place = key.split("/", 2)
        if name == rival:
            relative = measured["error"] / measured["nothing"]
            found.setdefault(setting, {})[place] = relative
    return found


def to_markdown(cells: dict[str, Figures]) -> str:
    """The winners, then every grid."""
    places = sorted({key.split("/", 2)[2] for key in cells})
    lines = [
        "# Grids of the rivals",
        "",
        f"Logs: {', '.join(places)}. {describe(cells)} Errors on held-out units as a part of "
        "what is there to explain: the outcome's variance, or for effects (`r_learner`, "
        "`linear_dml`) that of the residuals. They compare settings of one rival, not rivals.",
        "",
    ]
    winners = {rival: best(cells, rival) for rival in RIVALS}
    rows = [[rival, setting] for rival, setting in winners.items() if setting is not None]
    lines += markdown(["rival", "best setting"], rows)
    for rival, winner in winners.items():
        rows = []
        for setting, found in errors(cells, rival).items():
            title = f"**{setting}**" if setting == winner else setting
            values = [f"{found[place]:.4f}" if place in found else "–" for place in places]
            rows.append([title, *values])
        if rows:
            lines += markdown([rival, *places], rows)
    return "\n".join(lines)


def grid_study(
    name: str, source: Source, places: Iterable[str], rivals: Iterable[str] = tuple(RIVALS)
) -> Study:
    """Every setting of the rivals on the logs of every place."""
    asked = tuple(rivals)
    keys = tuple(
        f"{rival}/{setting}/{place}"
        for place in places
        for rival in asked
        for setting in RIVALS[rival].grid()
    )
    return Study(name, partial(cell, source=source), keys)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--rivals", nargs="+", choices=list(RIVALS), default=list(RIVALS))
    parser.add_argument(
        "--regimes", nargs="+", choices=list(REGIMES), default=["hard", "benign"]
    )
    given = parser.parse_args()
    if given.quick:
        seeds, regimes, sizes, name = (SEEDS[0],), ("hard",), SMALL, "rival_grid_quick"
    else:
        seeds, regimes, sizes, name = (
            given.seeds or SEEDS,
            given.regimes,
            TRAIN,
            "rival_grid",
        )
    places = [f"{regime}/{seed}" for seed in seeds for regime in regimes]
    study = grid_study(name, partial(world_logs, sizes=sizes), places, given.rivals)
    conclude(study, given, to_markdown)


if __name__ == "__main__":
    main()
