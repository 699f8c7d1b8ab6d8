"""The teacher's composite loss, its three terms as in the paper.

L = ℓ(Y, μ) + λ_res ℓ(Ỹ, r(p̃)) + λ_grad ℓ(Ỹ, ⟨g, p̃⟩),  ℓ squared error,
μ = m + r,  Ỹ = Y − m,  p̃ = p − e,  g = ∇r(0)

As printed, with one m, the first two terms are the same, and both are off: E[Ỹ|x] = 0 while
E[r(p̃)|x] is not, unless r is linear. `Heads` are functions of the state that take up what r
cannot: `baseline` replaces m in the first term (the network's own, without the error of
cross-fitting), `centre` replaces −E[r(p̃)|x] in the second. Without heads the loss is exactly the
printed one.
"""

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Terms:
    """What the loss is made of, each (M, n): outcome, m, r(p̃), ⟨g, p̃⟩."""

    y: Tensor
    m: Tensor
    r: Tensor
    linear: Tensor


@dataclass(frozen=True)
class Heads:
    """Functions of the state, (M, n): baseline of the factual term, centre of the residual term."""

    baseline: Tensor
    centre: Tensor


def composite_loss(
    terms: Terms, weights: Tensor, lambdas: tuple[float, float, float], heads: Heads | None
) -> Tensor:
    """The weighted mean loss of every member, (M,); λ of factual, residual and gradient term."""
    factual, residual, gradient = lambdas
    mu = terms.m + terms.r if heads is None else heads.baseline + terms.r
    centre = 0.0 if heads is None else heads.centre
    ell = factual * (terms.y - mu).square()
    if residual:
        ell = ell + residual * (terms.y - terms.m - centre - terms.r).square()
    if gradient:
        ell = ell + gradient * (terms.y - terms.m - terms.linear).square()
    return (ell * weights).sum(1) / weights.sum(1)
