"""Cholesky factors of learned covariances, whatever rounding did to them."""

from collections.abc import Callable

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
        if not jitter:
            return factor_once(matrix)
        size = matrix.detach().diagonal().mean()
        return factor_once(matrix + torch.diag((jitter * size).expand(len(matrix))))

    return with_jitter(attempt)


def factor_covariance(
    covariance: Callable[[Tensor, Tensor], Tensor], x: Tensor, z: Tensor
) -> Tensor:
    """The Cholesky factor of `covariance(x, z)`, in double precision where single does not do.

    Short lengths make squared distances large: single precision then errs by more than the noise.
    """
    try:
        return factor_once(covariance(x, z))
    except LinAlgError:
        return cholesky(covariance(x.double(), z.double()))


def factor_once(matrix: Tensor) -> Tensor:
    """The Cholesky factor of a matrix as it is, or `LinAlgError`."""
    factor, failed = torch.linalg.cholesky_ex(matrix)
    if int(failed):
        raise LinAlgError("the matrix is not positive definite")
    return factor


def eigh(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """Eigenvalues in rising order and eigenvectors; numpy's `LinAlgError` where there are none."""
    try:
        values, vectors = torch.linalg.eigh(matrix)
    except RuntimeError as problem:  # of which torch's LinAlgError is one
        raise LinAlgError(str(problem)) from problem
    if not bool(values.isfinite().all()):
        raise LinAlgError("the eigenvalues are not finite")
    return values, vectors
