"""The true response and its gradient.

μ*(H,B,p) = m₀ + ρ [ω_loc g_loc + ω_int g_int + ω_far g_far] at z = Qᵀ(p − c(H,B))

Inside, arrays are coordinates first: z is (K−1, n) or (K−1, n, m) for m allocations per context.
The context's part is computed once (`TrueSurface`), so that many allocations of one context are
cheap.
"""

from dataclasses import dataclass, replace

import numpy as np

from realloc.base.errors import LogError
from realloc.base.simplex import Floats, Rows, softmax, tangent_basis
from realloc.world.draws import stream
from realloc.world.logging_policy import LoggingWeights
from realloc.world.regimes import WorldParameters
from realloc.world.state import State, apply, rotate, row_norms

CONTEXT = ("baseline", "scale", "anchor", "slope", "curvature", "tilt", "peaks")


@dataclass(frozen=True, eq=False)
class ResponseWeights:
    """Random coefficients of the response, drawn once per seed; d = K − 1, b = block size."""

    W_S: Floats  # (K, b) preferences, of the logging policy: where the anchor lies
    w_B: Floats  # (K,) budget logits, of the logging policy
    W_E: Floats  # (d, b)
    # (d, b) partly Qᵀ W_C of the logging policy, which knew some of the effects.
    W_C: Floats
    b_a: Floats  # (d,)
    v: Floats  # (R, b)
    b_r: Floats  # (R,)
    A: Floats  # (R, d, d) symmetric, Frobenius norm 1
    shift: Floats  # (d,) of norm s_int
    W_peak: Floats  # (M, b)
    centres: Floats  # (M, d)
    scales: Floats  # (3,) ω of local, interaction and far-field


def draw_response(
    seed: int, logging: LoggingWeights, parameters: WorldParameters
) -> ResponseWeights:
    """The coefficients of one world seed, with unit scales; some are the logging policy's."""
    p = parameters
    b = p.block_size
    K = len(logging.W_C)
    d = K - 1
    square = stream(seed, "A").standard_normal((p.interactions, d, d))
    symmetric = square + square.transpose(0, 2, 1)
    # W_C of the slopes: the logging policy's, turned by arccos(alignment).
    known = tangent_basis(K).T @ logging.W_C
    unknown = row_norms(stream(seed, "slope W_C"), d, b, p.confounder_scale)
    # The M = 2(K−1) peaks ν_m: ± each axis of a randomly turned frame.
    frame = np.linalg.qr(stream(seed, "centres").standard_normal((d, d)))[0]
    return ResponseWeights(
        W_S=logging.W_S,
        w_B=logging.w_B,
        W_E=row_norms(stream(seed, "W_E"), d, b, p.slope_scale),
        W_C=p.slope_alignment * known + np.sqrt(1 - p.slope_alignment**2) * unknown,
        b_a=p.slope_offset * stream(seed, "b_a").standard_normal(d),
        v=row_norms(stream(seed, "v"), p.interactions, b, p.interaction_scale),
        b_r=p.slope_offset * stream(seed, "b_r").standard_normal(p.interactions),
        A=symmetric / np.linalg.norm(symmetric, axis=(1, 2), keepdims=True),
        shift=row_norms(stream(seed, "shift"), 1, d, p.interaction_shift)[0],
        W_peak=row_norms(stream(seed, "W_peak"), 2 * d, b, p.peak_scale),
        centres=p.peak_distance * np.concatenate([frame, -frame]),
        scales=np.ones(3),
    )


@dataclass(frozen=True, eq=False)
class TrueSurface:
    """The response of n contexts as a function of the shares alone."""

    baseline: Floats  # (n,) m₀
    scale: Floats  # (n,) ρ
    anchor: Floats  # (d, n) Qᵀc
    slope: Floats  # (d, n) a
    curvature: Floats  # (d, d, n) A
    tilt: Floats  # (d, n) b_int
    peaks: Floats  # (M, n) w_m in (0, 1)
    weights: ResponseWeights
    parameters: WorldParameters

    def take(self, rows: Rows) -> "TrueSurface":
        """The surface of some of the contexts, in that order."""
        return replace(self, **{name: getattr(self, name)[..., rows] for name in CONTEXT})

    def value(self, shares: Floats) -> Floats:
        """μ* at shares (n, K) → (n,) or (n, m, K) → (n, m)."""
        surface, z = self._open(shares)
        return surface.baseline + surface.scale * self._weighted(surface.components(z))

    def gradient(self, shares: Floats) -> Floats:
        """∇_p μ* in the tangent space, of the shape of `shares`."""
        surface, z = self._open(shares)
        slopes = surface.scale * self._weighted(surface.component_gradients(z))
        return np.moveaxis(np.tensordot(tangent_basis(len(z) + 1), slopes, axes=1), 0, -1)

    def components(self, z: Floats) -> tuple[Floats, Floats, Floats]:
        """g_loc, g_int, g_far at z (d, n[, m])."""
        local = (self.slope * z).sum(axis=0)
        interaction = ((0.5 * (self.curvature * z).sum(axis=1) + self.tilt) * z).sum(axis=0)
        squared, gate, _ = self._gate(z)
        far = squared * gate * (self._bumps(z)[0] - self.parameters.cannibalization)
        return local, interaction, far

    def component_gradients(self, z: Floats) -> tuple[Floats, Floats, Floats]:
        """∇_z of g_loc, g_int, g_far, each (d, n[, m])."""
        local = np.broadcast_to(self.slope, z.shape)
        interaction = (self.curvature * z).sum(axis=1) + self.tilt
        squared, gate, gate_slope = self._gate(z)
        bumps, bump_slopes = self._bumps(z)
        height = bumps - self.parameters.cannibalization
        radial = (2 * gate + np.sqrt(squared) * gate_slope) * height
        return local, interaction, radial * z + squared * gate * bump_slopes

    def _weighted(self, components: tuple[Floats, Floats, Floats]) -> Floats:
        local, interaction, far = components
        scales = self.weights.scales
        return scales[0] * local + scales[1] * interaction + scales[2] * far

    def _gate(self, z: Floats) -> tuple[Floats, Floats, Floats]:
        """r², σ((r − d₀)/s₀) and its derivative in r."""
        softness = self.parameters.far_softness
        squared = np.square(z).sum(axis=0)
        inside = (self.parameters.far_distance - np.sqrt(squared)) / softness
        gate = 1 / (1 + np.exp(inside))
        return squared, gate, gate * (1 - gate) / softness

    def _bumps(self, z: Floats) -> tuple[Floats, Floats]:
        """Σ_m w_m exp(−‖z − ν_m‖²/2ℓ²) and its gradient in z."""
        width = self.parameters.peak_width
        total = np.zeros(z.shape[1:])
        slopes = np.zeros(z.shape)
        for weight, centre in zip(self.peaks, self.weights.centres, strict=True):
            away = (z - centre.reshape(-1, *[1] * (z.ndim - 1))) / width
            bump = weight * np.exp(-0.5 * np.square(away).sum(axis=0))
            total += bump
            slopes -= bump * away / width
        return total, slopes

    def _open(self, shares: Floats) -> tuple["TrueSurface", Floats]:
        """The surface, with one axis more for several allocations per context, and z."""
        expected = (len(self.baseline), len(self.weights.w_B))
        if (shares.shape[0], shares.shape[-1]) != expected:
            raise LogError(
                f"Expected shares of shape {expected}, one row per context, got {shares.shape}."
            )
        z = rotate(tangent_basis(shares.shape[-1]).T, shares)  # (d, n[, m])
        if shares.ndim == 2:
            return self, z - self.anchor
        wide = replace(self, **{name: getattr(self, name)[..., None] for name in CONTEXT})
        return wide, z - wide.anchor


def open_surface(
    state: State, weights: ResponseWeights, parameters: WorldParameters
) -> TrueSurface:
    """Compute the context's part of the response."""
    E = state.E
    confounded = parameters.slope_confounding * apply(weights.W_C, state.C)
    a = np.tanh(apply(weights.W_E, E) + confounded + weights.b_a).T
    # (R, n)
    mix = parameters.interaction_gain * np.tanh(apply(weights.v, E) + weights.b_r).T
    A = np.tensordot(weights.A, mix, axes=(0, 0))  # (d, d, n)
    return TrueSurface(
        baseline=baseline(state),
        scale=effect_scale(state, parameters),
        anchor=tangent_basis(len(weights.w_B)).T @ anchor(state, weights, parameters).T,
        slope=a,
        curvature=A,
        tilt=np.tensordot(weights.shift, A, axes=1),
        peaks=1 / (1 + np.exp(-apply(weights.W_peak, E).T)),
        weights=weights,
        parameters=parameters,
    )


def baseline(state: State) -> Floats:
    """m₀ = 10 + 2C₁ + C₂² + 1.25 sin C₃ + .6 C₁C₄ + 2 log(1+B)."""
    first, second, third, fourth = state.C.T[:4]
    drivers = (
        10 + 2 * first + np.square(second) + 1.25 * np.sin(third) + 0.6 * first * fourth
    )
    return drivers + 2 * np.log1p(state.B)


def effect_scale(state: State, parameters: WorldParameters) -> Floats:
    """ρ = α_ρ log(1+B) {1 + .2 tanh E₁ + .1 tanh C₁}."""
    modifier = 1 + 0.2 * np.tanh(state.E[:, 0]) + 0.1 * np.tanh(state.C[:, 0])
    return parameters.effect_scale * np.log1p(state.B) * modifier


def anchor(state: State, weights: ResponseWeights, parameters: WorldParameters) -> Floats:
    """c(H, B) = softmax(λ_c [W_S S + w_B log(1+B)]), (n, K): where channel preferences point."""
    logits = apply(weights.W_S, state.S) + (weights.w_B[:, None] * np.log1p(state.B)).T
    return softmax(parameters.anchor_scale * logits)


def gradient_energies(surface: TrueSurface, shares: Floats) -> Floats:
    """E‖P₀∇_p g_j‖² of the unscaled components at shares (n, K): (3,). ∇_z will do: Q is
    orthonormal.
    """
    z = tangent_basis(shares.shape[-1]).T @ shares.T - surface.anchor
    return np.array(
        [np.square(g).sum(axis=0).mean() for g in surface.component_gradients(z)]
    )


def calibrate_scales(surface: TrueSurface, shares: Floats) -> ResponseWeights:
    """ω_j = scale · √(share_j / energy_j): the paper's energy shares and treatment scale."""
    p = surface.parameters
    ratio = np.array(p.energy_shares) / gradient_energies(surface, shares)
    return replace(surface.weights, scales=p.treatment_scale * np.sqrt(ratio))
