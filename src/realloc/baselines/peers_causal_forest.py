"""CausalForestDML (EconML): double machine learning, the effect a random forest of the state.

y − m̂(x) = θ(x)·[t − ê(x)] + noise,   θ a forest of honest trees

The response is linear in the shares of every state: it knows which way is up, not how far to go.
"""

from realloc.base.imports import need
from realloc.base.simplex import tangent_basis
from realloc.baselines.peers_dml import (
    MODELS,
    DmlEffect,
    check_models,
    make_models,
    split_by,
)
from realloc.baselines.response import LearnedResponse, ResponsePolicy, Task
from realloc.model.config import Config

LEAST_ROWS = 20  # of a leaf


class CausalForestDMLPolicy(ResponsePolicy):
    """EconML's CausalForestDML and a search."""

    package = "econml.dml"

    def __init__(
        self,
        search: str = "ascent",
        config: Config | None = None,
        trees: int = 200,
        models: tuple[str, ...] = MODELS,
    ) -> None:
        super().__init__(search, config)
        self.trees = trees
        self.models = check_models(models)

    def fit_response(self, task: Task) -> LearnedResponse:
        """Cross-fit by unit, then grow a forest on the residuals, LEAST_ROWS to a leaf."""
        rows = task.window
        model_y, model_t = make_models(self.models, task.seed)
        estimator = need("econml.dml", "peers").CausalForestDML(
            model_y=model_y,
            model_t=model_t,
            cv=split_by(rows.folds),
            n_estimators=self.trees,
            min_samples_leaf=LEAST_ROWS,
            inference=False,
            n_jobs=1,
            random_state=task.seed % 2**31,
        )
        estimator.fit(
            rows.outcome, rows.shares @ tangent_basis(rows.shares.shape[1]), X=rows.x
        )
        return DmlEffect(estimator)
