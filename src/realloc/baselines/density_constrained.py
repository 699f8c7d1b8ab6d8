"""DensityConstrained: the best predicted shares where the logged policy has enough density.

Schweisthal et al., NeurIPS 2023: max_p f(x, p) subject to π(p|x) ≥ ε, by gradient ascent on
f − λ·max(0, ε − π) over logits, λ growing, from several starts.

f is the S-learner network. π is the conditional density of our support, up to a monotone function:
its radius r. So the constraint reads r ≤ r̄, and ε, the 5 % quantile of held-out logged densities,
is the 95 % quantile of their radii. There is no rule about the path. The paper has no movement
budget either; ours is that of the config, to compare by.
"""

import math
from dataclasses import dataclass, field

import torch
from torch import Tensor

from realloc.base.errors import ConfigError
from realloc.base.simplex import Floats, tangent_basis
from realloc.base.validation import check_types
from realloc.baselines.backbone import Backbone, NetworkPolicy, as_double
from realloc.baselines.lbfgs import Climbable, starts
from realloc.baselines.response import States
from realloc.baselines.s_network import Joint
from realloc.decide.search.greedy import SupportFunction
from realloc.learn.support.density import Border
from realloc.model.config import Config

LEAST = 1e-9  # share whose logarithm is still taken


@dataclass(frozen=True, kw_only=True)
class DensityConfig:
    """The density that is asked for, and the ascent."""

    quantile: float = 0.05  # ε among held-out logged densities
    turns: int = 80
    rate: float = 0.1
    # The first λ, in units of the outcome's standard deviation per radius.
    penalty: float = 0.1
    growth: float = 1.06  # of λ, per turn
    outcome: Backbone = field(default_factory=Backbone)

    def __post_init__(self) -> None:
        check_types(self, "the density constraint")
        ascent_fits = (
            self.turns >= 1 and min(self.rate, self.penalty) > 0 and self.growth >= 1
        )
        if not 0 < self.quantile < 1 or not ascent_fits:
            raise ConfigError(
                "Expected `quantile` in (0, 1), `turns` of at least 1, `rate` and `penalty` above "
                "0, `growth` of at least 1."
            )


class DensityConstrained(NetworkPolicy[Backbone, Joint]):
    """A policy of reliable shares; the density is the policy's support."""

    surface = Joint

    def __init__(
        self, config: Config | None = None, settings: DensityConfig | None = None
    ) -> None:
        self.density = settings or DensityConfig()
        super().__init__("global", config, self.density.outcome)

    def _search(self, x: States, start: Floats, allowed: SupportFunction) -> Floats:
        border = self.support.density.at(x)
        limit = self.support.ranks.at(1 - self.density.quantile)
        factual = as_double(start)
        begun = starts(factual)  # (n, S, K)
        n, S, K = begun.shape
        rows = torch.arange(n).repeat_interleave(S)
        unit = self.response.scaling.outcome
        problem = DensityProblem(
            self.climbable(x),
            border,
            limit,
            unit,
            self.config.decision.max_length,
            rows,
            factual[rows],
        )
        ends, worth = ascend(problem, begun.flatten(0, 1).log(), self.density)
        ends = ends.view(n, S, K)
        worth = worth.view(n, S)
        best = ends[torch.arange(n), worth.argmax(1)]
        # else no start met the density: keep
        is_met = torch.isfinite(worth.amax(1, keepdim=True))
        return torch.where(is_met, best, factual).numpy()


@dataclass(frozen=True)
class DensityProblem:
    """What b ascents climb: an outcome inside a border of the density."""

    worth: Climbable
    border: Border
    limit: float
    unit: float  # standard deviation of the outcome
    within: float  # Euclidean length of a move
    rows: Tensor  # (b,)
    start: Tensor  # factual shares (b, K)

    def place(self, logits: Tensor) -> Tensor:
        """Shares (b, K), pulled into the ball around the factual ones."""
        p = torch.softmax(logits, -1)
        length = (p - self.start).norm(dim=-1, keepdim=True).clamp(min=1e-12)
        return self.start + (p - self.start) * (self.within / length).clamp(max=1)

    def excess(self, p: Tensor) -> Tensor:
        """How far shares (b, K) lie beyond the border: (b,); up to 0 the density is met."""
        return radius(self.border, self.rows, p) - self.limit


def ascend(
    problem: DensityProblem, logits: Tensor, settings: DensityConfig
) -> tuple[Tensor, Tensor]:
    """The best shares (b, K) with enough density, and their worth (b,); −inf: none."""
    theta = logits.clone().requires_grad_()
    optimizer = torch.optim.Adam([theta], lr=settings.rate)
    best = problem.start.clone()
    held = torch.full((len(logits),), -torch.inf, dtype=logits.dtype)
    for turn in range(settings.turns):
        p = problem.place(theta)
        worth = problem.worth(problem.rows, p[:, None])[:, 0]
        excess = problem.excess(p)
        better = (excess <= 0) & (worth > held)
        best = torch.where(better[:, None], p.detach(), best)
        held = torch.where(better, worth.detach(), held)
        penalty = settings.penalty * settings.growth**turn * problem.unit
        optimizer.zero_grad()
        (penalty * excess.clamp(min=0) - worth).sum().backward()
        optimizer.step()
    return best, held


def radius(border: Border, rows: Tensor, p: Tensor) -> Tensor:
    """`Border.radius` at shares (b, K) of states `rows` (b,), differentiable: (b,)."""
    density = border.density
    inside = p.clamp(min=LEAST)
    if density.kind == "sphere":
        u = inside.sqrt()
    else:
        u = _fill_in(border, rows, inside.log()) @ as_double(tangent_basis(p.shape[-1]))
    white = (u - as_double(density.origin)) @ as_double(density.whiten)
    off = white - as_double(border.centre)[rows]
    return off.norm(dim=-1) / as_double(border.scale)[rows]


def _fill_in(border: Border, rows: Tensor, logs: Tensor) -> Tensor:
    """`coordinates.fill_in`, differentiable."""
    if border.log_centre is None:
        return logs
    centre = as_double(border.log_centre.T)[rows]
    active = logs > math.log(LEAST)
    count = active.sum(dim=-1, keepdim=True).clamp(min=1)
    off = torch.where(active, logs - centre, 0.0)
    level = off.sum(dim=-1, keepdim=True) / count
    stretch = ((logs.shape[-1] - 1) / (count - 1).clamp(min=1)).sqrt()
    return centre + level + torch.where(active, (off - level) * stretch, 0.0)
