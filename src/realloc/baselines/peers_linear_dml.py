"""LinearDML (EconML): double machine learning, the effect linear in features of the state.

y − m̂(x) = θ(x)·[φ(t) − ê_φ(x)] + noise,   θ(x) = A·(1, x)

With `degree` 2 the shares' squares and products are treatments of their own, so that returns may
diminish and channels may interact. With degree 1 the response is linear in the shares and a search
always ends at a border.
"""

from dataclasses import dataclass

from realloc.base.errors import ConfigError
from realloc.base.imports import need
from realloc.base.validation import check_types
from realloc.baselines.peers_dml import MODELS, DmlPolicy
from realloc.baselines.response import LearnedResponse, Task
from realloc.model.config import Config

DEGREES = (1, 2)


@dataclass(frozen=True, kw_only=True)
class LinearDMLConfig:
    """The degree in the shares, and nuisance models that EconML chooses from."""

    degree: int = 1
    models: tuple[str, ...] = MODELS

    def __post_init__(self) -> None:
        check_types(self, "LinearDML")
        if self.degree not in DEGREES:
            raise ConfigError(f"Expected `degree` of 1 or 2, got {self.degree}.")


class LinearDMLPolicy(DmlPolicy):
    """EconML's LinearDML and a search."""

    def __init__(
        self,
        search: str = "ascent",
        config: Config | None = None,
        settings: LinearDMLConfig | None = None,
    ) -> None:
        settings = settings or LinearDMLConfig()
        super().__init__(search, config, settings.models)
        self.settings = settings

    def fit_response(self, task: Task) -> LearnedResponse:
        """Cross-fit by unit, then regress residuals on residuals times features of the state."""
        featurizer = None
        degree = self.settings.degree
        if degree == 2:
            preprocessing = need("sklearn.preprocessing", "peers")
            featurizer = preprocessing.PolynomialFeatures(2, include_bias=False)
        return self.fit_estimator(
            task, "LinearDML", degree, treatment_featurizer=featurizer
        )
