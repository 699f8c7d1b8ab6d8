"""DensityConstrained: the best predicted shares where the logged policy has enough density (Schweisthal et al., NeurIPS 2023).

max_p f(x, p) subject to π(p|x) ≥ ε, by gradient ascent on f − λ·max(0, ε − π) over logits, λ growing, from several starts.

f is the S-learner network. π is the conditional density of our support, up to a monotone function: its radius r, so that the
constraint reads r ≤ r̄, and ε, the 5 % quantile of the densities of logged actions held out, is the 95 % quantile of their
radii. There is no rule about the way there. The paper has no movement budget either; `within` gives it one to compare by.
"""

from dataclasses import dataclass, field

import torch
from torch import Tensor

from realloc.base.errors import ConfigError
from realloc.base.simplex import Floats, tangent_basis
from realloc.base.validation import check_types
from realloc.baselines.backbone import (
    Backbone,
    NetworkPolicy,
    NetworkResponse,
    as_double,
    fit_factual,
)
from realloc.baselines.lbfgs import Climbable, starts
from realloc.baselines.response import States, Task
from realloc.baselines.s_network import Joint
from realloc.decide.search.greedy import SupportFunction
from realloc.learn.support.density import Border
from realloc.model.config import Config

LEAST = 1e-9  # share whose logarithm is still taken
BUDGET = -1.0  # stands for the movement budget of the config


@dataclass(frozen=True, kw_only=True)
class DensityConfig:
    """The density that is asked for, how far a row may go, and the ascent."""

    quantile: float = 0.05  # ε among held-out logged densities
    within: float | None = BUDGET  # Euclidean length of a move; None: as far as the density goes
    turns: int = 80
    rate: float = 0.1
    penalty: float = 0.1  # the first λ, in units of the outcome's standard deviation per radius
    growth: float = 1.06  # of λ, per turn
    outcome: Backbone = field(default_factory=Backbone)

    def __post_init__(self) -> None:
        check_types(self, "the density constraint")
        if (
            not 0 < self.quantile < 1
            or self.turns < 1
            or min(self.rate, self.penalty) <= 0
            or self.growth < 1
        ):
            raise ConfigError(
                "Expected `quantile` in (0, 1), `turns` of at least 1, `rate` and `penalty` above 0, `growth` of at least 1."
            )
        if self.within is not None and self.within < 0 and self.within != BUDGET:
            raise ConfigError(f"Expected `within` of at least 0, or None, got {self.within}.")


class DensityConstrained(NetworkPolicy):
    """A policy of reliable shares."""

    def __init__(self, config: Config | None = None, settings: DensityConfig | None = None) -> None:
        self.own = settings or DensityConfig()
        super().__init__("global", config, self.own.outcome)
        self.within = (
            self.config.decision.max_length if self.own.within == BUDGET else self.own.within
        )

    def fit_response(self, task: Task) -> NetworkResponse:
        """Squared error; the density is the policy's support."""
        return fit_factual(Joint, task, self.settings)

    def _search(self, x: States, start: Floats, allowed: SupportFunction) -> Floats:
        border, limit = self.support.density.at(x), self.support.ladder.at(1 - self.own.quantile)
        begun = starts(as_double(start))  # (n, S, K)
        n, S, K = begun.shape
        rows = torch.arange(n).repeat_interleave(S)
        unit = float(self.response.scaling.outcome)
        case = DensityProblem(self.climbable(x), border, limit, unit, rows, as_double(start)[rows])
        ends, worth = ascend(case, begun.flatten(0, 1).log(), self.own, self.within)
        ends, worth = ends.view(n, S, K), worth.view(n, S)
        best = worth.argmax(1)
        found = torch.isfinite(worth.amax(1, keepdim=True))  # else no start met the density: keep
        return torch.where(found, ends[torch.arange(n), best], as_double(start)).numpy()


@dataclass(frozen=True)
class DensityProblem:
    """What b ascents climb: an outcome, a border of the density, the row (b,) and factual shares (b, K) of each."""

    worth: Climbable
    border: Border
    limit: float
    unit: float  # standard deviation of the outcome
    rows: Tensor
    start: Tensor

    def place(self, logits: Tensor, within: float | None) -> Tensor:
        """Shares (b, K), pulled into the ball around the factual ones."""
        p = torch.softmax(logits, -1)
        if within is None:
            return p
        length = (p - self.start).norm(dim=-1, keepdim=True).clamp(min=1e-12)
        return self.start + (p - self.start) * (within / length).clamp(max=1)

    def excess(self, p: Tensor) -> Tensor:
        """How far shares (b, K) lie beyond the border: (b,); up to 0 the density is met."""
        return radius(self.border, self.rows, p) - self.limit


def ascend(
    case: DensityProblem, logits: Tensor, settings: DensityConfig, within: float | None
) -> tuple[Tensor, Tensor]:
    """The best shares (b, K) with enough density on every ascent, and their worth (b,); −inf: there were none."""
    theta = logits.clone().requires_grad_()
    optimizer = torch.optim.Adam([theta], lr=settings.rate)
    best, held = case.start.clone(), torch.full((len(logits),), -torch.inf, dtype=logits.dtype)
    for turn in range(settings.turns):
        p = case.place(theta, within)
        worth, excess = case.worth(case.rows, p[:, None])[:, 0], case.excess(p)
        better = (excess <= 0) & (worth > held)
        best, held = (
            torch.where(better[:, None], p.detach(), best),
            torch.where(better, worth.detach(), held),
        )
        penalty = settings.penalty * settings.growth**turn * case.unit
        optimizer.zero_grad()
        (penalty * excess.clamp(min=0) - worth).sum().backward()
        optimizer.step()
    return best, held


def radius(border: Border, rows: Tensor, p: Tensor) -> Tensor:
    """`Border.radius` at shares (b, K) of states `rows` (b,), differentiable: (b,)."""
    density, basis, inside = (
        border.density,
        as_double(tangent_basis(p.shape[-1])),
        p.clamp(min=LEAST),
    )
    u = inside.log() @ basis if density.kind == "log_ratio" else inside.sqrt()
    off = (u - as_double(density.origin)) @ as_double(density.whiten) - as_double(border.centre)[
        rows
    ]
    return off.norm(dim=-1) / as_double(border.scale)[rows]
