"""The orthogonal local moment: the field near one place without any model, to check a teacher by.

Ψ(β, m, e) = E_{h,z}[{Z̃ − e}{Y − m − βᵀ(Z̃ − e)}],  e = E_{h,z}[Z̃ | X],  m = E_{h,z}[Y | X],  g ≈
Qβ where Ψ = 0

E_{h,z} weighs rows by a kernel around the place p: Z̃ = Qᵀ(P − p), z = Qᵀp, weight (1 − ‖Z̃‖²/h²)₊.
Only rows of the same state X may share m and e, so it needs states that repeat: `group` numbers
them. In errors of m and e the moment is off by δ_e{δ_m − βᵀδ_e} alone, a product: small errors of
both cost their product, not their sum.

>>> shares = np.random.default_rng(0).dirichlet([4, 4, 4], 500)
>>> outcome = shares @ [1.0, 2.0, 6.0]
>>> near = localise(shares, outcome, place=np.array([0.4, 0.3, 0.3]), bandwidth=0.2)
>>> field = tangent_basis(3) @ solve_moment(near, local_nuisances(near))
>>> field.round(6).tolist()
[-2.0, -1.0, 3.0]
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from realloc.base.errors import LogError
from realloc.base.simplex import Floats, tangent_basis

Codes = NDArray[np.integer[Any]]


@dataclass(frozen=True, eq=False)
class Local:
    """Rows as seen from a place: weights (n,) that sum to 1, 0 where far, offsets Z̃ (n, d),
    outcomes (n,).
    """

    weights: Floats
    z: Floats
    y: Floats

    def mean(self, values: Floats) -> Floats:
        """E_{h,z} of rows (n, …)."""
        return np.tensordot(self.weights, values, axes=1)


@dataclass(frozen=True, eq=False)
class LocalNuisances:
    """m and e of every row's state: (n,) and (n, d), or one for all rows: () and (d,)."""

    m: Floats
    e: Floats


def localise(
    shares: Floats,
    outcome: Floats,
    place: Floats,
    bandwidth: float,
    mass: Floats | None = None,
) -> Local:
    """Rows (n, K) weighed by the kernel of `bandwidth` h around `place` (K,), and by their own
    `mass` (n,).
    """
    z = (shares - place) @ tangent_basis(len(place))
    weights = kernel(z, bandwidth) * (1.0 if mass is None else mass)
    if not weights.any():
        raise LogError(
            f"Expected rows within {bandwidth:g} of the place, got none. Use a larger bandwidth."
        )
    return Local(weights / weights.sum(), z, outcome)


def kernel(z: Floats, bandwidth: float) -> Floats:
    """Epanechnikov's, (1 − ‖z‖²/h²)₊ of offsets (n, d): (n,)."""
    return np.maximum(1 - np.square(z / bandwidth).sum(axis=1), 0.0)


def local_nuisances(local: Local, group: Codes | None = None) -> LocalNuisances:
    """e_{h,z} and m_{h,z}: kernel means within each `group` of rows (n,) with one state; without,
    all rows are one.
    """
    if group is None:
        return LocalNuisances(local.mean(local.y), local.mean(local.z))
    if group.shape != local.y.shape:
        raise LogError(
            f"Expected one group for each of the {len(local.y)} rows, got {len(group)}."
        )
    total = np.bincount(group, local.weights)

    def mean(values: Floats) -> Floats:
        return (
            np.bincount(group, local.weights * values) / np.where(total > 0, total, 1.0)
        )[group]

    return LocalNuisances(
        mean(local.y), np.stack([mean(column) for column in local.z.T], axis=1)
    )


def moment(beta: Floats, local: Local, nuisances: LocalNuisances) -> Floats:
    """Ψ at β (d,): (d,)."""
    a = local.z - nuisances.e
    return local.mean(a * (local.y - nuisances.m - a @ beta)[:, None])


def curvature(local: Local, nuisances: LocalNuisances) -> Floats:
    """Σ_{h,z} = E_{h,z}[aaᵀ], a = Z̃ − e: (d, d)."""
    a = local.z - nuisances.e
    return (a * local.weights[:, None]).T @ a


def solve_moment(local: Local, nuisances: LocalNuisances) -> Floats:
    """The β (d,) with Ψ(β, m, e) = 0: weighted least squares of Y − m on Z̃ − e."""
    sigma = curvature(local, nuisances)
    if np.linalg.matrix_rank(sigma, hermitian=True) < len(sigma):
        raise LogError(
            f"Expected shares near the place to vary in all {len(sigma)} directions, got "
            f"{np.count_nonzero(local.weights)} "
            "rows that do not. Use a larger bandwidth."
        )
    return np.linalg.solve(sigma, moment(np.zeros(len(sigma)), local, nuisances))


def second_order(beta: Floats, delta: LocalNuisances) -> Floats:
    """δ_e{δ_m − βᵀδ_e}, all that errors of the nuisances add to Ψ: (d,), or a row (n, d) per row of
    `delta`.
    """
    return delta.e * np.asarray(delta.m - delta.e @ beta)[..., None]
