"""Cholesky factors of learned covariances, whatever rounding did to them."""

import torch
from numpy.linalg import LinAlgError
from torch import Tensor

from realloc.base.numerics.jitter import with_jitter


def cholesky(matrix: Tensor) -> Tensor:
    """L with L Lᵀ = matrix, plus as little on the diagonal as is needed; `LinAlgError` if none is.

    >>> cholesky(torch.ones(2, 2)).isfinite().all()
    tensor(True)
    """

    def attempt(jitter: float) -> Tensor:
        tried = matrix
        if jitter:
            size = matrix.detach().diagonal().mean()
            tried = matrix + torch.diag((jitter * size).expand(len(matrix)))
        factor, failed = torch.linalg.cholesky_ex(tried)
        if int(failed):
            raise LinAlgError("the matrix is not positive definite")
        return factor

    return with_jitter(attempt)


def eigh(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """Eigenvalues in rising order and eigenvectors; numpy's `LinAlgError` where there are none."""
    try:
        return torch.linalg.eigh(matrix)
    except RuntimeError as problem:  # of which torch's LinAlgError is one
        raise LinAlgError(str(problem)) from problem
