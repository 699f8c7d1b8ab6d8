"""Neyman orthogonality of the local moment (Theorem 2) and of the teacher's loss as it is
implemented.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from realloc.learn.networks.branch import Branch, BranchShape
from realloc.learn.teacher.loss import Heads, Terms, composite_loss
from realloc.learn.teacher.network import NetworkConfig, teacher_loss
from realloc.learn.teacher.sample import Scaling, TeacherSample
from tests.theory.exact import Law, finite_law
from tests.theory.moment import (
    LocalNuisances,
    curvature,
    local_nuisances,
    localise,
    moment,
    second_order,
    solve_moment,
)

LAW = finite_law(curved=4.0)
LOCAL = localise(
    LAW.shares, LAW.outcome, np.array([0.35, 0.35, 0.3]), bandwidth=0.6, mass=LAW.mass
)
FLOAT = 1e-13  # sums of 54 terms of size one


def errors(seed: int, size: float = 1.0) -> LocalNuisances:
    """Errors of m and e that differ from state to state, per row."""
    random = np.random.default_rng(seed)
    return LocalNuisances(
        size * random.normal(size=3)[LAW.state],
        size * 0.3 * random.normal(size=(3, 2))[LAW.state],
    )


def off(
    nuisances: LocalNuisances, delta: LocalNuisances, sign: float = 1.0
) -> LocalNuisances:
    return LocalNuisances(nuisances.m + sign * delta.m, nuisances.e + sign * delta.e)


def order(values: list[float]) -> float:
    """The power of ε that values at ε, ε/2, ε/4, … fall with, from the last two."""
    return float(np.log2(values[-2] / values[-1]))


@pytest.mark.parametrize("seed", range(5))
def test_derivative_of_the_moment_in_both_nuisances_is_zero(seed):
    truth = local_nuisances(LOCAL, LAW.state)
    beta, delta, none = solve_moment(LOCAL, truth), errors(seed), errors(seed, 0.0)
    for direction in (replace(delta, e=none.e), replace(delta, m=none.m), delta):
        # Ψ is quadratic in (m, e), so a central difference over any step is its derivative.
        up, down = (
            moment(beta, LOCAL, off(truth, direction)),
            moment(beta, LOCAL, off(truth, direction, -1.0)),
        )
        assert np.abs(up - down).max() / 2 < FLOAT


@pytest.mark.parametrize("seed", range(5))
def test_errors_of_the_nuisances_add_their_product_and_nothing_else(seed):
    truth, delta = local_nuisances(LOCAL, LAW.state), errors(seed)
    beta = solve_moment(LOCAL, truth)
    added = moment(beta, LOCAL, off(truth, delta)) - moment(beta, LOCAL, truth)
    expected = LOCAL.mean(second_order(beta, delta))
    assert np.abs(expected).max() > 1e-3
    assert np.abs(added - expected).max() < FLOAT


def test_error_of_the_root_falls_with_the_square_of_the_nuisance_errors():
    truth = local_nuisances(LOCAL, LAW.state)
    beta = solve_moment(LOCAL, truth)
    sizes = [0.2 * 0.5**k for k in range(6)]
    found = [
        float(np.linalg.norm(solve_moment(LOCAL, off(truth, errors(1, size))) - beta))
        for size in sizes
    ]
    assert order(found) == pytest.approx(2, abs=0.05)


def test_plug_in_score_is_not_orthogonal():
    # The same residual against Z̃ as it stands, e left out: correct at the truth, and off by −η
    # E[Z̃] beside it.
    truth = local_nuisances(LOCAL, LAW.state)
    beta = solve_moment(LOCAL, truth)
    plug_in = LocalNuisances(truth.m - truth.e @ beta, np.zeros(2))
    delta = replace(errors(1), e=np.zeros(2))
    change = moment(beta, LOCAL, off(plug_in, delta)) - moment(beta, LOCAL, plug_in)
    assert np.abs(change + LOCAL.mean(LOCAL.z * delta.m[:, None])).max() < FLOAT
    assert np.abs(change).max() > 1e-2
    at_truth = solve_moment(LOCAL, plug_in)
    sizes = [0.2 * 0.5**k for k in range(6)]
    beside = [replace(errors(1, size), e=np.zeros(2)) for size in sizes]
    found = [
        float(np.linalg.norm(solve_moment(LOCAL, off(plug_in, d)) - at_truth))
        for d in beside
    ]
    assert order(found) == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize("seed", range(10))
def test_error_of_the_root_is_within_the_normalised_remainder(seed):
    one = LAW.state == seed % 3
    local = localise(
        LAW.shares[one], LAW.outcome[one], np.array([0.35, 0.35, 0.3]), 0.6, LAW.mass[one]
    )
    random, truth = np.random.default_rng(seed), local_nuisances(local)
    beta, sigma = solve_moment(local, truth), curvature(local, truth)
    delta = LocalNuisances(random.normal(size=()), 0.1 * random.normal(size=2))
    error = np.linalg.norm(solve_moment(local, off(truth, delta)) - beta)
    # Σ with the wrong e is Σ + δ_eδ_eᵀ, so the exact error is Σ⁻¹ times the remainder over 1 +
    # δ_eᵀΣ⁻¹δ_e.
    r_orth = np.linalg.norm(np.linalg.solve(sigma, second_order(beta, delta)))
    assert error == pytest.approx(
        r_orth / (1 + delta.e @ np.linalg.solve(sigma, delta.e)), rel=1e-9
    )
    r_m, r_e = abs(float(delta.m)), np.linalg.norm(delta.e)
    raw = r_e * (r_m + np.linalg.norm(beta) * r_e) / np.linalg.eigvalsh(sigma)[0]
    assert error <= r_orth <= raw


# The loss that the network teacher is trained with, a linear r, every state with slopes of its own.

LINEAR = finite_law()


def as_sample(law: Law) -> TeacherSample:
    """The law as the teacher sees it, with the true m and e; its masses are the weights."""
    by_state = [law.mass * (law.state == k) for k in range(3)]
    m = np.array([np.average(law.outcome, weights=w) for w in by_state])[law.state]
    e = np.array([np.average(law.shares, weights=w, axis=0) for w in by_state])[law.state]
    x = np.eye(3)[law.state]
    folds = torch.zeros(len(m), dtype=torch.int64)
    tensors = [torch.from_numpy(values) for values in (x, law.shares, law.outcome, m, e)]
    scaling = Scaling(torch.zeros(3), torch.ones(3), 1.0)
    return TeacherSample(
        *tensors,
        folds=folds,
        units=folds,
        weights=torch.from_numpy(law.mass),
        scaling=scaling,
    )


def true_branch(sample: TeacherSample) -> Branch:
    """A branch that is linear in the shares, with every state's own least-squares slopes and its
    mean as baseline head.
    """
    branch = Branch(
        1, BranchShape(inputs=3, channels=3, width=4, trunk=2, heads=2), seed=0
    ).double()
    assert branch.context.path is not None
    with torch.no_grad():
        for k in range(3):
            rows = sample.x[:, k] > 0
            w = sample.weights[rows].sqrt()[:, None]
            design, residual = (
                (sample.z - sample.e)[rows] * w,
                (sample.y - sample.m)[rows, None] * w,
            )
            branch.context.path[0, k, :3] = torch.linalg.lstsq(
                design, residual, driver="gelsd"
            ).solution[:, 0]
            branch.context.path[0, k, 7] = sample.m[rows][0]  # after a (3), s (2) and w (2)
    return branch


def slope_gradient(
    branch: Branch, sample: TeacherSample, config: NetworkConfig
) -> torch.Tensor:
    """Derivative of the loss in the slopes of every state, (3, 3)."""
    loss = teacher_loss(branch, sample, config, torch.arange(len(sample.y))[None])
    path: Any = branch.context.path
    return torch.autograd.grad(loss.sum(), [path])[0][0, :, :3]


def beside(sample: TeacherSample, seed: int, sign: float) -> TeacherSample:
    random = np.random.default_rng(seed)
    m = torch.from_numpy(random.normal(size=3))[sample.x.argmax(1)]
    e = torch.from_numpy(0.2 * random.normal(size=(3, 3)))[sample.x.argmax(1)]
    return replace(sample, m=sample.m + sign * m, e=sample.e + sign * e)


@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_implemented_loss_is_orthogonal_for_a_linear_residual(centred, seed):
    sample, config = as_sample(LINEAR), NetworkConfig(centred=centred)
    branch = true_branch(sample)
    assert slope_gradient(branch, sample, config).abs().max() < FLOAT
    up, down = (
        slope_gradient(branch, beside(sample, seed, sign), config) for sign in (1.0, -1.0)
    )
    assert (up - down).abs().max() / 2 < FLOAT
    assert (up + down).abs().max() / 2 > 1e-3  # the second order is there


@pytest.mark.parametrize("confounded", [True, False])
def test_factual_term_alone_is_first_order_in_m_exactly_where_shares_are_confounded(
    confounded,
):
    sample = as_sample(finite_law(confounded))
    slopes = true_branch(sample).context.path[0, :, :3].detach()
    centre = (sample.z * sample.weights[:, None]).sum(
        0
    )  # the same for every state: r does not know e
    own = sample.x @ slopes
    baseline = sample.m - ((sample.e - centre) * own).sum(1)
    shift = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)[sample.x.argmax(1)]

    def gradient(m: torch.Tensor) -> torch.Tensor:
        a = slopes.clone().requires_grad_()
        r = ((sample.z - centre) * (sample.x @ a)).sum(1)
        loss = composite_loss(
            Terms(sample.y[None], m[None], r[None], r[None]),
            sample.weights[None],
            (1, 0, 0),
            None,
        )
        return torch.autograd.grad(loss.sum(), a)[0]

    assert gradient(baseline).abs().max() < FLOAT
    change = (gradient(baseline + shift) - gradient(baseline - shift)).abs().max() / 2
    assert change > 0.1 if confounded else change < FLOAT


def test_centre_head_makes_the_truth_the_root_where_the_residual_is_curved():
    sample = as_sample(finite_law(curved=4.0))
    base = true_branch(as_sample(finite_law(curved=0.0))).context.path[0, :, :3].detach()

    def residual(curve: torch.Tensor, e: torch.Tensor) -> torch.Tensor:
        def f(z: torch.Tensor) -> torch.Tensor:
            return ((sample.x @ base) * z).sum(1) + curve * z.square().sum(1)

        return f(sample.z) - f(e)

    def state_mean(values: torch.Tensor) -> torch.Tensor:
        mass = sample.weights @ sample.x
        return sample.x @ ((sample.weights * values) @ sample.x / mass)

    def gradient(m: torch.Tensor, e: torch.Tensor, centred: bool) -> float:
        curve = torch.tensor(4.0, dtype=torch.float64, requires_grad=True)
        r = residual(curve, e)
        # The head's own optimum; by the envelope theorem its part in the derivative is zero.
        head = state_mean(sample.y - m - r).detach()[None]
        heads = Heads(head, head) if centred else None
        terms = Terms(sample.y[None], m[None], r[None], r[None])
        loss = composite_loss(terms, sample.weights[None], (0, 1, 0), heads)
        return float(torch.autograd.grad(loss.sum(), curve)[0])

    wrong = beside(sample, 0, 1.0)
    assert abs(gradient(sample.m, sample.e, centred=True)) < FLOAT
    # m, e and f(e) are functions of the state and so is the head: however wrong they are, it takes
    # them up whole.
    assert abs(gradient(wrong.m, wrong.e, centred=True)) < FLOAT
    assert abs(gradient(sample.m, sample.e, centred=False)) > 1e-3
