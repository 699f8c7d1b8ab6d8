"""The one door to tea-tasting, which knows the delta method and CUPED for means and ratios.

CUPED takes off θ·(Σx/Σw − the same over both arms), with θ from the linearised ratios of both arms together.
"""

from typing import Any

import numpy as np

from realloc.evaluate.abtest.parts import Parts


def compare(control: Parts, treatment: Parts, confidence: float) -> Any:
    """Both levels, the difference, the relative effect, their intervals (Welch's t) and the two-sided p-value."""
    metric = _metric(control, confidence)
    return metric.analyze_aggregates(_aggregates(control), _aggregates(treatment))


def _metric(parts: Parts, confidence: float) -> Any:
    from tea_tasting.metrics import RatioOfMeans

    earlier = () if parts.x is None else ("x", "w")
    return RatioOfMeans(
        "y", "d", *earlier, equal_var=False, use_t=True, confidence_level=confidence
    )


def _aggregates(parts: Parts) -> Any:
    """Counts, means and covariances: all that is needed of the units."""
    from tea_tasting.aggr import Aggregates

    columns = {name: values for name, values in vars(parts).items() if values is not None}
    means = {name: float(values.mean()) for name, values in columns.items()}
    spread = np.cov(np.stack(list(columns.values())))  # (2 or 4, the same)
    names = list(columns)
    covariances = {
        (a, b): float(spread[i, j])
        for i, a in enumerate(names)
        for j, b in enumerate(names)
        if i < j
    }
    variances = {name: float(spread[i, i]) for i, name in enumerate(names)}
    return Aggregates(len(parts.y), means, variances, covariances)
