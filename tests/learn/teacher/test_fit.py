"""The teacher as a whole: units, channels, shares at the border, and a field that is the slope of
its values.
"""

from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch

from realloc.base.simplex import tangent_basis
from realloc.learn.teacher.committee import CommitteeWeights
from realloc.learn.teacher.config import TeacherConfig
from realloc.learn.teacher.fit import (
    DISAGREEMENT,
    calibrate,
    centre,
    disagreement,
    draw_sample,
    fit_teacher,
)
from tests.learn.teacher.simulated import (
    QUICK,
    Simulated,
    known,
    sample_of,
    simulate,
    tensors,
)

KERNEL = TeacherConfig(surfaces=("kernel",), members=2)
BOTH = TeacherConfig(members=3)


def fit(simulated, config=KERNEL, seed=0):
    return fit_teacher(simulated.window, simulated.nuisances, config, QUICK, seed)


def field_of(simulated, config=KERNEL):
    return fit(simulated, config).field(*tensors(simulated.window)).numpy()


def rescaled(simulated, factor=1.0, shift=0.0):
    """The same window with another outcome."""
    window = replace(simulated.window, outcome=factor * simulated.window.outcome + shift)
    return replace(
        simulated,
        window=window,
        nuisances=known(
            factor * simulated.nuisances.outcome + shift, simulated.nuisances.shares
        ),
    )


def with_shares(simulated, shares, e):
    window = replace(simulated.window, shares=shares)
    return Simulated(window, known(simulated.nuisances.outcome, e), simulated.field)


def relative(a, b):
    return np.abs(a - b).max() / np.abs(b).max()


@pytest.mark.parametrize("config", [KERNEL, BOTH])
def test_ten_times_the_outcome_is_ten_times_the_field(config):
    simulated = simulate(n=400)
    reference = field_of(simulated, config)
    assert relative(field_of(rescaled(simulated, factor=10), config), 10 * reference) < 1e-2
    assert np.abs(reference).max() > 0.5


@pytest.mark.parametrize("config", [KERNEL, BOTH])
def test_a_constant_on_the_outcome_changes_nothing(config):
    simulated = simulate(n=400)
    assert (
        relative(
            field_of(rescaled(simulated, shift=1000), config), field_of(simulated, config)
        )
        < 1e-2
    )


def test_permuted_channels_permute_the_field_of_the_kernel():
    simulated = simulate(n=400)
    order = [2, 0, 1]
    permuted = with_shares(
        simulated, simulated.window.shares[:, order], simulated.nuisances.shares[:, order]
    )
    found, reference = field_of(permuted), field_of(simulated)
    assert relative(found, reference[..., order]) < 1e-2
    assert relative(found, reference) > 0.5


@pytest.mark.parametrize("config", [KERNEL, BOTH])
def test_a_channel_that_is_always_zero_gives_a_finite_field(config):
    simulated = simulate(n=400)
    nothing = np.zeros((400, 1))
    wider = with_shares(
        simulated,
        np.hstack([simulated.window.shares, nothing]),
        np.hstack([simulated.nuisances.shares, nothing]),
    )
    teacher = fit(wider, config)
    x, p = tensors(wider.window)
    found = teacher.field(x, p)
    assert found.isfinite().all()
    assert found.sum(-1).abs().max() < 1e-3
    more, other = p + torch.tensor([0, 0, 0, 0.1]), p + torch.tensor([0.1, 0, 0, 0])
    values = teacher.values(x, torch.stack([p, more, other], dim=1))
    assert torch.allclose(
        values[..., 1], values[..., 0], atol=1e-5
    )  # nothing is known about it, nothing is said
    assert not torch.allclose(values[..., 2], values[..., 0], atol=1e-2)


@pytest.mark.parametrize("channels", [2, 9])
def test_two_and_nine_channels_are_learned(channels):
    simulated = simulate(n=1000, channels=channels)
    found = field_of(simulated, BOTH)
    assert found.shape == (3, 1000, channels)
    assert np.isfinite(found).all()
    truth = simulated.field[:, 0] - simulated.field[:, 1]
    assert np.corrcoef((found[..., 0] - found[..., 1]).mean(0), truth)[0, 1] > 0.7


def test_shares_that_are_exactly_zero_or_one_give_a_finite_field():
    simulated = simulate(n=400)
    shares = np.where(simulated.window.shares < 0.25, 0.0, simulated.window.shares)
    shares[:20] = [1.0, 0.0, 0.0]
    shares /= shares.sum(1, keepdims=True)
    assert (shares == 0).mean() > 0.2
    assert np.isfinite(
        field_of(with_shares(simulated, shares, simulated.nuisances.shares), BOTH)
    ).all()


@pytest.mark.parametrize("config", [KERNEL, BOTH])
def test_the_field_equals_finite_differences_of_the_values(config):
    simulated = simulate(n=300)
    teacher = fit(simulated, config)
    x, p = tensors(simulated.window)
    eps = 0.01
    moves = eps * torch.eye(3)
    values = teacher.values(x, torch.cat([p[:, None] + moves, p[:, None] - moves], dim=1))
    slopes = ((values[..., :3] - values[..., 3:]) / (2 * eps)).numpy()
    found = teacher.field(x, p).numpy()
    assert relative(found, slopes - slopes.mean(-1, keepdims=True)) < 1e-2
    assert np.abs(found.sum(-1)).max() < 1e-4
    elsewhere = teacher.field(x, p.roll(1, 0)).numpy()
    assert relative(elsewhere, found) > 0.02


def test_the_residual_branch_is_anchored_at_the_mean_shares():
    """r(x, p − e) = μ(x, p) − μ(x, e) is zero at p = e and not elsewhere."""
    simulated = simulate(n=300)
    teacher = fit(simulated, BOTH)
    x, p = tensors(simulated.window)
    e = torch.from_numpy(simulated.nuisances.shares).float()
    values = teacher.values(x, torch.stack([e, p, e], dim=1))
    assert torch.allclose(values[..., 2] - values[..., 0], torch.zeros(1), atol=1e-5)
    assert (values[..., 1] - values[..., 0]).abs().median() > 0.01


def test_a_surface_without_weight_is_not_asked():
    simulated = simulate(n=300)
    teacher = fit(simulated, BOTH)
    silent = replace(teacher, weighing=replace(teacher.weighing, weights=(0.0,) * 4))
    x, p = tensors(simulated.window)
    assert torch.equal(silent.field(x, p), torch.zeros(3, 300, 3))
    only = replace(
        teacher, weighing=replace(teacher.weighing, weights=(0.5, 0.0, 0.0, 0.0))
    )
    own = teacher.scaling.field(teacher.surfaces[0].slopes(x, teacher.scaling.shares(p)))
    assert torch.allclose(only.field(x, p), 0.5 * own, atol=1e-5)


def test_the_weights_are_those_of_the_held_out_loss():
    weighing = fit(simulate(n=600), BOTH).weighing
    assert weighing.rows == 600
    assert weighing.together < 0.9 * weighing.nothing
    assert len(weighing.weights) == len(weighing.alone) == 4
    assert min(weighing.weights) >= 0


def test_on_an_outcome_without_any_effect_next_to_nothing_is_learned():
    simulated = simulate(n=800)
    noise = np.random.default_rng(1).normal(size=800)
    window = replace(simulated.window, outcome=noise)
    found = field_of(
        Simulated(
            window, known(np.zeros(800), simulated.nuisances.shares), simulated.field
        ),
        BOTH,
    )
    assert (
        np.abs(found.mean(0)).mean()
        < 0.25 * np.abs(field_of(simulated, BOTH).mean(0)).mean()
    )


def test_rows_of_weight_zero_do_not_change_the_units():
    simulated = simulate(n=300)
    weights = np.where(np.arange(300) < 30, 0.0, 300 / 270)
    outcome = np.where(np.arange(300) < 30, 1e6, simulated.window.outcome)
    clean = draw_sample(replace(simulated.window, weights=weights), simulated.nuisances)
    wild = draw_sample(
        replace(simulated.window, weights=weights, outcome=outcome), simulated.nuisances
    )
    assert torch.equal(clean.y[30:], wild.y[30:])
    assert wild.scaling.outcome == clean.scaling.outcome
    assert (
        draw_sample(
            replace(simulated.window, outcome=outcome), simulated.nuisances
        ).scaling.outcome
        > 1e4
    )


def test_the_same_seed_gives_the_same_field_and_another_does_not():
    simulated = simulate(n=300)
    a, b, c = (
        fit(simulated, BOTH, seed).field(*tensors(simulated.window)) for seed in (1, 1, 2)
    )
    assert torch.equal(a, b)
    assert not torch.equal(a, c)


def test_the_window_is_left_as_it_was_even_if_it_may_not_be_written():
    simulated = simulate(n=300)
    for name in ("x", "shares", "outcome", "folds", "units", "weights"):
        getattr(simulated.window, name).flags.writeable = False
    before = {
        name: getattr(simulated.window, name).copy() for name in ("x", "shares", "outcome")
    }
    fit(simulated)
    assert all(
        np.array_equal(getattr(simulated.window, name), value)
        for name, value in before.items()
    )


@dataclass(frozen=True)
class Linear:
    """A surface of known slopes in scaled shares."""

    slopes_of: tuple[float, ...]
    members: int = 2

    def values(self, x, z):
        return (z @ torch.tensor(self.slopes_of))[None].expand(self.members, -1, -1)


def weighing(weights, slopes):
    """Of surfaces with these weights and sizes."""
    errors = (1.0,) * len(weights)
    return CommitteeWeights(weights, 1.0, errors, 1.0, 30, slopes, 9.0, 0.1)


GAINS = np.array([[1.0, -2.0, 3.0], [0.0, 0.0, 0.0]])


def test_disagreement_is_the_standard_deviation_between_equal_surfaces():
    equal = weighing((0.4, 0.4), (1.0, 1.0))
    assert disagreement(GAINS[[0, 0]], equal) == 0
    assert disagreement(GAINS, equal) == pytest.approx(
        np.sqrt(GAINS.var(axis=0, ddof=1).mean())
    )
    assert disagreement(3 * GAINS, equal) == pytest.approx(3 * disagreement(GAINS, equal))


def test_a_surface_that_counts_little_disagrees_little():
    equal = disagreement(GAINS, weighing((0.5, 0.5), (1.0, 1.0)))
    assert disagreement(GAINS, weighing((0.05, 0.95), (1.0, 1.0))) < equal
    assert disagreement(GAINS, weighing((0.5, 0.5), (0.1, 1.0))) < equal


def test_doubt_of_shares_that_never_move_is_the_kernels_own():
    simulated = simulate(n=60)
    still = with_shares(
        simulated, np.tile([0.2, 0.3, 0.5], (60, 1)), np.tile([0.2, 0.3, 0.5], (60, 1))
    )
    surfaces = (Linear((1.0, 0.0, 0.0)), Linear((0.0, 0.0, 0.0)))
    own = fit(simulated, KERNEL).covariance
    equal = weighing((0.5, 0.5), (1.0, 1.0))
    found = calibrate(own, sample_of(still), still.window.shares, surfaces, equal, 0)
    assert found is own


def test_the_posterior_counts_as_much_as_the_committee_varies():
    """Members that agree leave nothing of it but the disagreement."""
    simulated = simulate(n=400)
    sample = sample_of(simulated)
    surfaces = (Linear((1.0, 0.0, 0.0)), Linear((0.0, 0.0, 0.0)))
    own = fit(simulated, KERNEL).covariance
    equal = weighing((0.5, 0.5), (1.0, 1.0))
    found = calibrate(own, sample, simulated.window.shares, surfaces, equal, 3)
    assert found.share == 0
    assert 0 < found.misfit < DISAGREEMENT**2 / 2


def test_contrasts_are_centred_at_the_mean_of_gains_not_at_the_gain_of_the_mean():
    """f = z² is above f(e) on average by the variance of z, which differs between states."""
    simulated = simulate(n=400)
    sample = sample_of(simulated)
    variance = (1 + sample.x[:, 0].square()).numpy()
    truth = np.random.default_rng(1).normal(size=400).astype(np.float32)
    centred = centre(truth + 5 * variance, sample)
    assert np.corrcoef(centred, truth)[0, 1] > 0.95
    some = truth.copy()
    some[::7] = np.nan
    assert (np.isnan(centre(some, sample)) == np.isnan(some)).all()


def test_what_surfaces_disagree_about_is_doubted():
    """Doubt of a committee exceeds the kernel's own posterior by its misfit; a kernel alone keeps a
    part of its prior.
    """
    simulated = simulate()
    alone, committee = (
        fit(simulated, KERNEL).covariance,
        fit(simulated, TeacherConfig(members=2)).covariance,
    )
    assert alone.misfit is None
    assert committee.misfit > 0
    x, shares = simulated.window.x[:20], simulated.window.shares[:20]
    bare = replace(committee, misfit=0.0).covariance(x, shares)
    more = committee.covariance(x, shares) - bare
    scale = committee.scaling.inverse * committee.scaling.outcome
    moves = tangent_basis(3)
    wanted = moves.T @ np.diag(committee.misfit * scale**2) @ moves
    assert np.allclose(moves.T @ more @ moves, wanted, rtol=1e-3, atol=1e-4 * wanted.max())
