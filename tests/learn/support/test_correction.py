import numpy as np
import torch

from realloc.base.progress import silent
from realloc.learn.support import SupportConfig
from realloc.learn.support import correction as module
from realloc.learn.support.correction import fit_correction, likelihood_loss
from tests.learn.support.drawn import bent, bent_support, drawn


def test_the_network_is_adopted_for_a_policy_that_no_additive_model_follows():
    found = bent_support(True).density.correction
    assert found is not None
    assert 0.8 < found.weight < 1


def test_the_network_is_not_adopted_in_the_papers_world():
    assert drawn("hard", SupportConfig(), units=400).support.density.correction is None


def test_noise_alone_gives_no_network():
    random = np.random.default_rng(0)
    x = random.normal(size=(1500, 4)).astype(np.float32)
    z = np.broadcast_to(random.standard_normal((1500, 2)), (3, 1500, 2)).copy()
    radius = np.linalg.norm(z[0], axis=1)
    found, kept = fit_correction(x, z, np.arange(1500) % 3, 60.0, radius, 0, silent)
    assert found is None
    assert kept is radius


def test_few_rows_or_no_features_give_no_network():
    x, shares, _ = bent(module.LEAST_ROWS - 1, seed=0)
    z = np.log(shares[None, :, :2]).repeat(2, axis=0)
    radius = np.ones(len(x))
    folds = np.arange(len(x)) % 2
    assert fit_correction(x, z, folds, 9.0, radius, 0, silent) == (None, radius)
    many, none = np.ones((2, 2000, 2)), np.empty((2000, 0), np.float32)
    assert fit_correction(none, many, np.arange(2000) % 2, 9.0, np.ones(2000), 0, silent)[0] is None


def test_the_loss_is_the_negative_log_likelihood_of_students_t_up_to_a_constant():
    """For D = 1: its integral over z is the same whatever the shift and the scale."""
    z = torch.linspace(-400, 400, 200_001, dtype=torch.float64)[:, None]
    areas = []
    for shift, log_scale in ((0.0, 0.0), (1.5, 0.4), (-2.0, -0.7)):
        out = torch.tensor([shift, log_scale], dtype=torch.float64).expand(len(z), 2)
        areas.append(torch.trapezoid(torch.exp(-likelihood_loss(out, z, 5.0)), z[:, 0]).item())
    assert np.allclose(areas, areas[0], rtol=1e-6)


def test_nothing_said_is_the_loss_without_a_network():
    z = torch.randn(10, 3, generator=torch.Generator().manual_seed(0))
    assert torch.equal(
        likelihood_loss(torch.zeros(1), z, 4.0), likelihood_loss(torch.zeros(10, 4), z, 4.0)
    )


def test_states_are_read_in_chunks_with_the_same_answer(monkeypatch):
    found = bent_support(True).density.correction
    assert found is not None
    x, _, _ = bent(100, seed=8)
    whole = found.at(x)
    monkeypatch.setattr(module, "CHUNK", 7)
    parts = found.at(x)
    assert np.allclose(whole.centre, parts.centre, atol=1e-6)
    assert np.allclose(whole.scale_variance, parts.scale_variance, atol=1e-6)
    assert found.at(x[:0]).centre.shape == (0, 2)
