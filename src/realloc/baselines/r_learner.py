"""RLearner: y − m̂(x) ≈ ⟨τ(x), p − ê(x)⟩ by squared error, with ReAlloc's own nuisances."""

from torch import Tensor

from realloc.baselines.backbone import Backbone, NetworkPolicy, ScaledRows
from realloc.baselines.context_only import Linear
from realloc.baselines.response import Task
from realloc.learn.networks.train import Loss
from realloc.learn.nuisances.crossfit import cross_fit
from realloc.learn.teacher.sample import as_tensor
from realloc.model.round import draw, for_size


class RLearner(NetworkPolicy[Backbone, Linear]):
    """The orthogonal learner whose slopes do not depend on the shares."""

    surface = Linear
    # Residuals hold less to learn: chosen by held-out error on world seed 201.
    defaults = Backbone(weight_decay=1.5)

    def loss(self, surface: Linear, rows: ScaledRows, task: Task) -> Loss:
        """Squared error of residuals, with m̂ and ê exactly as ReAlloc has them."""
        window = task.window
        config = for_size(task.config, len(window.x))
        nuisances = cross_fit(
            window.x,
            window.shares,
            window.outcome,
            window.folds,
            config.nuisances,
            draw(config.seed, "nuisances", 0),
            window.weights,
        )
        rest = as_tensor((window.outcome - nuisances.outcome) / rows.scaling.outcome)
        off = rows.z - rows.scaling.shares(as_tensor(nuisances.shares))

        def loss(index: Tensor) -> Tensor:
            linear = (surface.slopes(rows.x[index]) * off[index]).sum(-1)
            return (rest[index] - linear).square().mean(1)

        return loss
