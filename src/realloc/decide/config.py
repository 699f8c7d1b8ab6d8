"""What can be set about decisions: table `[decision]`."""

from dataclasses import dataclass, field

from realloc.base.errors import ConfigError
from realloc.base.validation import (
    Checked,
    check_known,
    check_range,
    check_types,
    freeze_tables,
)
from realloc.decide.search.greedy import SearchConfig

SEARCHES = ("ascent", "greedy")
UNCERTAINTIES = ("posterior", "members")


@dataclass(frozen=True, kw_only=True)
class DecisionConfig(Checked):
    """How far to go, how sure to be (table `[decision]`)."""

    search: str = (
        "ascent"  # the best end in reach; or greedy, the paper's trace of best steps
    )
    steps: tuple[float, ...] = (0.01, 0.02, 0.05)  # sizes of candidate transfers
    max_steps: int = 12  # R_max of the greedy trace
    max_turns: int = 40  # of the ascent
    max_length: float = (
        0.22  # L_max: Euclidean length of the way; one transfer of δ is √2·δ long
    )
    uncertainty: str = "posterior"  # σ̂ of the teacher's Gaussian process; or members
    beta: float = 0.25  # standard deviations σ̂ that are taken off a gain
    lambda_support: float = 0.0  # weight of −log(ω + ε), in units of the outcome
    epsilon: float = 1e-3
    # τ_min: smallest conservative gain worth a move, in units of the outcome
    threshold: float = 0.0
    # held-out significance (z) below which a model moves nothing, unless mixes repeat
    min_significance: float = 2.3
    # Money per unit of the outcome: a number, or the feature that holds it. Then `threshold` is in
    # money, too.
    worth: float | str | None = None
    move_cost: float = 0.0  # money that changing a row's split costs
    confidence: float = 0.95  # that the true gain of a moved row is at least `gain_lower`
    fallback: bool = False  # keep rows whose `gain_lower` is below 0
    min_robustness: float = 0.0  # keep rows that a weaker hidden cause could undo
    # of outcomes in the objective; by default 1 for the outcome
    weights: dict[str, float] = field(default_factory=dict[str, float])
    # of guardrails: what each may lose per row
    tolerances: dict[str, float] = field(default_factory=dict[str, float])

    def __post_init__(self) -> None:
        check_types(self, "[decision]")
        freeze_tables(self)
        for name, known in (("search", SEARCHES), ("uncertainty", UNCERTAINTIES)):
            check_known(f"`{name}`", getattr(self, name), known, "[decision]")
        if not self.steps or min(self.steps) <= 0 or max(self.steps) > 1:
            raise ConfigError(
                f"Expected `steps` of [decision] above 0 and up to 1, got {list(self.steps)}."
            )
        least_0 = ("beta", "lambda_support", "max_length", "min_significance", "move_cost")
        check_range(self, least_0, ">= 0", "[decision]")
        check_range(self, ("epsilon",), "> 0", "[decision]")
        check_range(self, ("max_steps", "max_turns"), ">= 1", "[decision]")
        if not 0.5 <= self.confidence < 1:
            raise ConfigError(
                f"Expected `confidence` of [decision] from 0.5 to below 1, got {self.confidence}."
            )
        if isinstance(self.worth, float | int) and self.worth <= 0:
            raise ConfigError(f"Expected `worth` of [decision] above 0, got {self.worth}.")
        if not 0 <= self.min_robustness < 1:
            raise ConfigError(
                f"Expected `min_robustness` of [decision] from 0 to below 1, got "
                f"{self.min_robustness}."
            )
        if self.weights and not any(weight > 0 for weight in self.weights.values()):
            raise ConfigError(
                "Expected a weight above 0 for at least one outcome in `weights` of [decision]."
            )
        if min(self.tolerances.values(), default=0.0) < 0:
            raise ConfigError(
                "Expected `tolerances` of [decision] of at least 0: what a guardrail may lose."
            )

    def searching(self) -> SearchConfig:
        """Candidate steps and movement budget."""
        return SearchConfig(
            steps=self.steps,
            max_steps=self.max_steps,
            max_length=self.max_length,
            threshold=self.threshold,
            max_turns=self.max_turns,
        )
