"""Sample-ratio mismatch: whether the arms have the sizes that the randomization should have given
them.
"""

from dataclasses import dataclass

import numpy as np
from scipy import stats

from realloc.base.numbers import probability
from realloc.evaluate.abtest.arms import Arms
from realloc.evaluate.abtest.config import AbtestConfig

LEAST_P = 1e-3


@dataclass(frozen=True)
class SplitCheck:
    """How many randomized units are in each arm, and how odd that is."""

    control: int
    treatment: int
    expected: float  # part in treatment
    p: float

    @property
    def ok(self) -> bool:
        """Whether the sizes may well be chance."""
        return self.p >= LEAST_P

    def __str__(self) -> str:
        part = self.treatment / (self.control + self.treatment)
        sizes = f"{self.treatment:,} in treatment, {self.control:,} in control"
        p = probability(self.p)
        if self.ok:
            return f"{sizes}: {part:.2%} treated, {self.expected:.2%} expected ({p})."
        return (
            f"Sample-ratio mismatch: {sizes}, that is {part:.2%} treated where {self.expected:.2%} "
            f"were expected ({p}). Units were lost or assigned differently in one arm, so the "
            "arms cannot be compared: find the cause first (logging, filters after "
            "assignment, bots, redirects)."
        )


def check_split(arms: Arms, config: AbtestConfig) -> SplitCheck:
    """Pearson's χ² of the numbers of randomized units."""
    treatment = int(arms.cluster_treated.sum())
    n = len(arms.cluster_treated)
    expected = np.array([1 - config.split, config.split]) * n
    p = float(stats.chisquare([n - treatment, treatment], expected).pvalue)
    return SplitCheck(n - treatment, treatment, config.split, p)
