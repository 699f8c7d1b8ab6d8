"""The moment's population root: its bias is Σ⁻¹C, falls with the bandwidth, and samples lie around
it.
"""

import numpy as np
import pytest

from realloc import World
from realloc.base.errors import LogError
from realloc.base.simplex import Floats, tangent_basis
from tests.theory.exact import disc
from tests.theory.moment import (
    Local,
    LocalNuisances,
    curvature,
    kernel,
    local_nuisances,
    localise,
    moment,
    solve_moment,
)

PLACE = np.array([0.3, 0.3, 0.4])
SLOPE = np.array([1.0, -2.0])
BEND = np.array([[6.0, 1.0], [1.0, -3.0]])  # A
TILT = np.array([1.5, -0.5])  # s: the logging density is 1 + ⟨s, z⟩ around the place
LEVEL = 10.0
HALF = (0.0, np.pi)  # logged on one side of the place only


def response(z: Floats) -> Floats:
    return LEVEL + z @ SLOPE + 0.5 * np.einsum("ni,ij,nj->n", z, BEND, z)


def quadratic(bandwidth: float, angles: tuple[float, float] = (0.0, 2 * np.pi)) -> Local:
    """All of the law near the place: integrands are polynomials, so the rule is exact."""
    shares, area = disc(PLACE, bandwidth, angles)
    z = (shares - PLACE) @ tangent_basis(3)
    return localise(shares, response(z), PLACE, bandwidth, area * (1 + z @ TILT))


def order(errors: list[float]) -> float:
    """The power of h that errors at h, h/2, h/4, … fall with, from the last two."""
    return float(np.log2(errors[-2] / errors[-1]))


def bias(local: Local) -> Floats:
    return solve_moment(local, local_nuisances(local)) - SLOPE


def test_bias_is_the_inverse_curvature_times_the_covariance_with_the_taylor_remainder():
    random = np.random.default_rng(0)
    shares, mass = random.dirichlet([5, 3, 4], 12), random.dirichlet(np.ones(12))
    z = (shares - PLACE) @ tangent_basis(3)
    local = localise(shares, response(z), PLACE, 0.7, mass)
    nuisances = local_nuisances(local)
    remainder = response(local.z) - LEVEL - local.z @ SLOPE
    a = local.z - nuisances.e
    covariance = local.mean(a * (remainder - local.mean(remainder))[:, None])
    expected = np.linalg.solve(curvature(local, nuisances), covariance)
    assert np.linalg.norm(expected) > 0.1
    assert np.abs(bias(local) - expected).max() < 1e-12
    other = np.array([3.0, 0.5])
    expanded = curvature(local, nuisances) @ (SLOPE - other) + covariance
    assert np.abs(moment(other, local, nuisances) - expanded).max() < 1e-13


def test_bias_falls_with_the_square_of_the_bandwidth_inside_the_logged_region():
    widths = [0.2 * 0.5**k for k in range(5)]
    errors = [float(np.linalg.norm(bias(quadratic(h)))) for h in widths]
    assert order(errors) == pytest.approx(2, abs=0.01)
    # With E r² = h²/3 and E r⁴ = h⁴/6 of the kernel in the plane, Σ⁻¹C = h² [(tr A s + 2As)/16 − tr
    # A s/12] + O(h⁴).
    trace = np.trace(BEND) * TILT
    leading = (trace + 2 * BEND @ TILT) / 16 - trace / 12
    assert bias(quadratic(widths[-1])) / widths[-1] ** 2 == pytest.approx(leading, rel=1e-3)


def test_bias_falls_with_the_bandwidth_alone_at_the_edge_of_the_logged_region():
    errors = [float(np.linalg.norm(bias(quadratic(0.2 * 0.5**k, HALF)))) for k in range(8)]
    assert order(errors) == pytest.approx(1, abs=0.02)


def root_noise(h: float) -> float:
    """Standard deviation of √n times the root of n rows with unit noise: Σ⁻¹E[K²aaᵀ]Σ⁻¹ / E[K]²,
    its largest direction.
    """
    shares, area = disc(PLACE, h)
    z = (shares - PLACE) @ tangent_basis(3)
    mass, local = area * (1 + z @ TILT), quadratic(h)
    nuisances = local_nuisances(local)
    a, spread = z - nuisances.e, np.linalg.inv(curvature(local, nuisances))
    squared = (
        (a * (mass * np.square(kernel(z, h)))[:, None]).T @ a / (mass @ kernel(z, h)) ** 2
    )
    return float(np.sqrt(np.linalg.eigvalsh(spread @ squared @ spread)[-1]))


def test_noise_of_the_root_grows_as_the_rate_says_while_the_curvature_shrinks():
    widths = [0.2 * 0.5**k for k in range(5)]
    assert order([root_noise(h) for h in widths]) == pytest.approx(
        -2, abs=0.01
    )  # √(1 / h^{K+1}), K = 3
    local = quadratic(widths[-1])
    assert curvature(local, local_nuisances(local)) / widths[-1] ** 2 == pytest.approx(
        np.eye(2) / 6, abs=1e-3
    )


def test_a_linear_response_has_no_bias_at_any_bandwidth():
    local = quadratic(0.25, HALF)
    linear = Local(local.weights, local.z, LEVEL + local.z @ SLOPE)
    assert np.abs(bias(linear)).max() < 1e-11


def test_without_centring_the_bias_stays_however_small_the_bandwidth():
    def uncentred(h: float) -> Floats:
        return solve_moment(quadratic(h), LocalNuisances(np.zeros(()), np.zeros(2))) - SLOPE

    # E[Z̃Y] carries the level times E[Z̃] = Σs: what remains is the level times the tilt.
    assert uncentred(1e-3) == pytest.approx(LEVEL * TILT, rel=1e-3)


def context(row: int = 0, seed: int = 3):
    """One context of the paper's world, its response and its law, at its logged shares."""
    world = World("hard", seed=seed)
    state = world.state(world.sample(units=20, periods=1, seed=1))
    surface, law = (
        world.surface(state).take(np.array([row])),
        world.policy.law(state).take(np.array([row])),
    )
    return world, surface, law, world.policy.mean(state)[row]


def world_moment(surface, law, place: Floats, bandwidth: float) -> tuple[Local, Floats]:
    shares, area = disc(place, bandwidth, nodes=40)
    # The law's density is one of log-ratios; ∏p is what their volume is worth on the simplex.
    mass = area * np.exp(law.log_density(shares[None])[0]) / shares.prod(axis=1)
    return localise(
        shares, surface.value(shares[None])[0], place, bandwidth, mass
    ), surface.gradient(place[None])[0]


@pytest.mark.parametrize("row", range(4))
def test_root_goes_to_the_worlds_field(row):
    _, surface, law, place = context(row)
    errors = []
    for k in range(5):
        local, field = world_moment(surface, law, place, 0.08 * 0.5**k)
        errors.append(
            float(
                np.linalg.norm(
                    tangent_basis(3) @ solve_moment(local, local_nuisances(local)) - field
                )
            )
        )
    assert order(errors) == pytest.approx(2, abs=0.1)
    assert errors[-1] < 1e-2 * np.linalg.norm(field)


def test_roots_of_samples_lie_around_the_populations_as_far_as_noise_puts_them():
    world, surface, law, place = context()
    population, _ = world_moment(surface, law, place, 0.1)
    beta = solve_moment(population, local_nuisances(population))
    random, n = np.random.default_rng(0), 20_000
    scores = []
    for _ in range(40):
        many = np.zeros(n, np.int64)
        shares = law.take(many).sample(random.standard_normal((2, n)), random.random(n))
        outcome = surface.value(shares[None])[
            0
        ] + world.parameters.noise * random.standard_normal(n)
        local = localise(shares, outcome, place, 0.1)
        nuisances = local_nuisances(local)
        found, a = solve_moment(local, nuisances), local.z - nuisances.e
        influence = (
            local.weights[:, None] * a * (outcome - nuisances.m - a @ found)[:, None]
        )
        spread = np.linalg.inv(curvature(local, nuisances))
        error = np.sqrt(np.diag(spread @ influence.T @ influence @ spread))
        scores.append((found - beta) / error)
    z = np.array(scores)
    # 80 standard normals: their mean square has standard deviation √(2/80), their means 1/√40.
    assert np.square(z).mean() == pytest.approx(1, abs=4 * np.sqrt(2 / z.size))
    assert np.abs(z.mean(axis=0)).max() < 4 / np.sqrt(len(z))


def test_too_few_rows_near_the_place_are_refused():
    shares, outcome = np.full((5, 3), 1 / 3), np.zeros(5)
    with pytest.raises(LogError, match="Expected rows within 0.1 of the place, got none"):
        localise(shares, outcome, np.array([0.6, 0.2, 0.2]), 0.1)
    local = localise(shares, outcome, np.array([0.35, 0.35, 0.3]), 0.1)
    with pytest.raises(
        LogError, match="to vary in all 2 directions, got 5 rows that do not"
    ):
        solve_moment(local, local_nuisances(local))
    with pytest.raises(LogError, match="Expected one group for each of the 5 rows, got 4"):
        local_nuisances(local, np.zeros(4, np.int64))
