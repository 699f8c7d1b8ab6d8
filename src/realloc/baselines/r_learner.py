"""RLearner: y − m̂(x) ≈ ⟨τ(x), p − ê(x)⟩ by squared error, with the nuisances of ReAlloc's first round."""

from torch import Tensor

from realloc.baselines.backbone import (
    Backbone,
    NetworkPolicy,
    NetworkResponse,
    as_tensor,
    fit_surface,
    open_rows,
)
from realloc.baselines.context_only import Linear
from realloc.baselines.response import Task
from realloc.learn.nuisances.crossfit import Nuisances, cross_fit
from realloc.model.config import Config
from realloc.model.round import draw, for_size

SETTINGS = Backbone(
    weight_decay=1.5
)  # residuals hold less to learn; by held-out error on world seed 201


class RLearner(NetworkPolicy):
    """The orthogonal learner whose slopes do not depend on the shares."""

    def __init__(
        self, search: str = "ascent", config: Config | None = None, settings: Backbone | None = None
    ) -> None:
        super().__init__(search, config, settings or SETTINGS)

    def fit_response(self, task: Task) -> NetworkResponse:
        """Squared error of residuals."""
        rows, nuisances = open_rows(task.window), fit_nuisances(task)
        rest = rows.scaled(task.window.outcome - nuisances.outcome)
        off = rows.z - rows.scaling.shares(as_tensor(nuisances.shares))
        surface = Linear(rows.x.shape[1], rows.z.shape[1], self.settings, task.seed)

        def loss(index: Tensor) -> Tensor:
            linear = (surface.slopes(rows.x[index]) * off[index]).sum(-1)
            return (rest[index] - linear).square().mean(1)

        return fit_surface(surface, rows, loss, self.settings, task.seed)


def fit_nuisances(task: Task) -> Nuisances:
    """m̂ and ê exactly as ReAlloc has them."""
    window, config = task.window, for_size(task.config, len(task.window.x))
    seed = draw(config.seed, "nuisances", 0)
    return cross_fit(
        window.x,
        window.shares,
        window.outcome,
        window.folds,
        config.nuisances,
        seed,
        window.weights,
    )
