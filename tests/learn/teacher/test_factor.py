"""Factors of covariances that single precision leaves indefinite."""

import pytest
import torch
from numpy.linalg import LinAlgError

from realloc.learn.teacher.factor import cholesky, eigh


def test_a_sound_matrix_has_torchs_own_factor():
    root = torch.randn(20, 20, generator=torch.Generator().manual_seed(0))
    matrix = root @ root.T + torch.eye(20)
    assert torch.equal(cholesky(matrix), torch.linalg.cholesky(matrix))


def test_a_slightly_indefinite_matrix_has_a_factor_nearby():
    matrix = torch.ones(50, 50, dtype=torch.float64) - 1e-7 * torch.eye(50)
    factor = cholesky(matrix)
    assert (factor @ factor.T - matrix).abs().max() < 1e-5


def test_numbers_that_are_not_finite_have_no_factor():
    with pytest.raises(LinAlgError):
        cholesky(torch.full((2, 2), float("nan")))
    with pytest.raises(LinAlgError):
        eigh(torch.full((2, 2), float("nan")))
