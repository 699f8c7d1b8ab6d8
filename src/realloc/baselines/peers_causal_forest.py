"""CausalForestDML (EconML): double machine learning, the effect a random forest of the state.

y − m̂(x) = θ(x)·[t − ê(x)] + noise,   θ a forest of honest trees

The response is linear in the shares of every state: it knows which way is up, not how far to go.
"""

from realloc.baselines.peers_dml import MODELS, DmlPolicy
from realloc.baselines.response import LearnedResponse, Task
from realloc.model.config import Config

LEAST_ROWS = 20  # of a leaf


class CausalForestDMLPolicy(DmlPolicy):
    """EconML's CausalForestDML and a search."""

    def __init__(
        self,
        search: str = "ascent",
        config: Config | None = None,
        trees: int = 200,
        models: tuple[str, ...] = MODELS,
    ) -> None:
        super().__init__(search, config, models)
        self.trees = trees

    def fit_response(self, task: Task) -> LearnedResponse:
        """Cross-fit by unit, then grow a forest on the residuals, LEAST_ROWS to a leaf."""
        return self.fit_estimator(
            task,
            "CausalForestDML",
            n_estimators=self.trees,
            min_samples_leaf=LEAST_ROWS,
            inference=False,
            n_jobs=1,
        )
