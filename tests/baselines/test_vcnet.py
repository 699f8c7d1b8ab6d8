"""VCNet: a basis of the shares, bins of their density, and a loss of three terms."""

import pytest
import torch

from realloc import ConfigError
from realloc.baselines.backbone import ScaledRows
from realloc.baselines.vcnet import BINS, Varying, VCNetConfig, vcnet_loss
from realloc.learn.teacher.sample import TensorScaling

SETTINGS = VCNetConfig(members=2, width=8)


@pytest.mark.parametrize("change", [{"targeted": -1.0}, {"density": -0.1}])
def test_settings_that_cannot_be_used_are_refused(change):
    with pytest.raises(ConfigError, match="` >= 0 in VCNet"):
        VCNetConfig(**change)


def drawn(n=400, channels=3):
    generator = torch.Generator().manual_seed(0)
    return ScaledRows(
        x=torch.randn(n, 4, generator=generator),
        z=torch.randn(n, channels, generator=generator),
        y=torch.randn(n, generator=generator),
        folds=torch.arange(n) % 2,
        scaling=TensorScaling(torch.zeros(channels), torch.ones(channels), 1.0),
    )


def test_the_basis_is_additive_and_pairwise():
    surface = Varying(drawn(), SETTINGS, 0)
    z = torch.tensor([9.0, -9.0, 2.0])
    psi = surface.basis(z)
    assert len(psi) == 1 + 4 * 3 + 3
    assert psi[0] == 1
    assert psi[1:7].tolist() == [9.0, -9.0, 2.0, 81.0, 81.0, 4.0]
    assert psi[8] == psi[11] == 0  # no spline below its knot
    assert psi[-3:].tolist() == [-81.0, 18.0, -18.0]


def test_bins_hold_equally_many_rows():
    rows = drawn()
    bins = Varying(rows, SETTINGS, 0).bins(rows.z)
    counts = torch.stack([(bins == number).sum(0) for number in range(BINS)])
    assert counts.min() >= 38
    assert counts.max() <= 42


def test_held_out_rows_are_judged_by_squared_error_alone():
    rows = drawn()
    surface = Varying(rows, SETTINGS, 0)
    index = torch.arange(200).expand(2, -1)
    with torch.no_grad():
        held_out = vcnet_loss(surface, rows, index, SETTINGS)
    assert torch.allclose(held_out, rows.y[:200].square().mean())  # v begins at 0
    plain = VCNetConfig(members=2, width=8, density=0.0, targeted=0.0)
    assert torch.allclose(vcnet_loss(surface, rows, index, plain), held_out)
    targeted = VCNetConfig(members=2, width=8, density=0.0, targeted=0.5)
    assert torch.allclose(vcnet_loss(surface, rows, index, targeted), 1.5 * held_out)
