"""The logging policy: u(P) = u(q) + ξ, ξ ~ (1−ε) N(0, Σ_H) + ε N(0, c² Σ_H), P = softmax(Q u).

q(H,B) = softmax((1+α_bd) λ_log [W_S S + α_cf W_C C + w_B log(1+B)])
Σ_H = σ_ov² {1 + .2 tanh E₁}² ν I

Both parts of the mixture share mean and shape, so its density falls with the Mahalanobis distance
alone.
"""

from dataclasses import dataclass, replace

import numpy as np

from realloc.base.simplex import Floats, Rows, softmax, tangent_basis
from realloc.world.draws import stream
from realloc.world.regimes import Regime, WorldParameters
from realloc.world.rotation import logit_tilt
from realloc.world.state import State, apply, rotate, row_norms

SMALLEST = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True, eq=False)
class LoggingWeights:
    """Random coefficients of the policy, the same in all regimes; a_B belongs to the budget."""

    W_S: Floats  # (K, d)
    W_C: Floats  # (K, d), also inside the response's slopes
    w_B: Floats  # (K,)
    a_B: Floats  # (d,)


def draw_weights(seed: int, channels: int, parameters: WorldParameters) -> LoggingWeights:
    """The policy's coefficients of one world seed."""
    d = parameters.block_size
    return LoggingWeights(
        W_S=row_norms(stream(seed, "W_S"), channels, d, parameters.preference_scale),
        W_C=row_norms(stream(seed, "W_C"), channels, d, parameters.confounder_scale),
        w_B=row_norms(stream(seed, "w_B"), 1, channels, parameters.budget_logit_scale)[0],
        a_B=row_norms(stream(seed, "a_B"), 1, d, parameters.budget_scale)[0],
    )


@dataclass(frozen=True, eq=False)
class Law:
    """The law of log-ratio coordinates u(P) for n contexts: a scale mixture of two normals."""

    centre: Floats  # (K−1, n) u(q)
    spread: Floats  # (n,) standard deviation of the narrow part in every tangent direction
    exploration: float  # ε, share of the broad part
    exploration_scale: float  # c, how much broader it is

    def take(self, rows: Rows) -> "Law":
        """The law of some of the contexts, in that order."""
        return replace(self, centre=self.centre[:, rows], spread=self.spread[rows])

    def sample(self, normals: Floats, uniforms: Floats) -> Floats:
        """Logged shares (n, K) from standard normals (K−1, n) and uniforms (n,)."""
        scale = self.spread * np.where(
            uniforms < self.exploration, self.exploration_scale, 1.0
        )
        Q = tangent_basis(len(self.centre) + 1)
        return softmax((Q @ (self.centre + scale * normals)).T)

    def distance(self, shares: Floats) -> Floats:
        """Squared Mahalanobis distance of u(p) to u(q) under Σ_H, at shares (n, K) or (n, m, K).

        A zero share is infinitely far: its log-ratio is.
        """
        centre = self.centre
        spread = self.spread
        if shares.ndim == 3:
            centre = centre[..., None]
            spread = spread[:, None]
        u = rotate(tangent_basis(shares.shape[-1]).T, np.log(np.maximum(shares, SMALLEST)))
        squared = np.square((u - centre) / spread).sum(axis=0)
        return np.where(shares.min(axis=-1) > 0, squared, np.inf)

    def log_density(self, shares: Floats) -> Floats:
        """log of the exact mixture density of u(P) at u(p); shares (n, K) or (n, m, K)."""
        squared = self.distance(shares)
        log_spread = np.log(self.spread[:, None] if shares.ndim == 3 else self.spread)
        narrow = self._normal(squared, log_spread) + np.log1p(-self.exploration)
        if self.exploration == 0:
            return narrow
        c = self.exploration_scale
        broad = self._normal(squared / c**2, log_spread + np.log(c)) + np.log(
            self.exploration
        )
        return np.logaddexp(narrow, broad)

    def _normal(self, squared: Floats, log_spread: Floats) -> Floats:
        return -0.5 * squared - len(self.centre) * (log_spread + 0.5 * np.log(2 * np.pi))


@dataclass(frozen=True, eq=False)
class LoggingPolicy:
    """How a state is turned into a logged action, in one regime."""

    regime: Regime
    weights: LoggingWeights
    parameters: WorldParameters

    @property
    def channels(self) -> int:
        """K."""
        return len(self.weights.w_B)

    def mean(self, state: State) -> Floats:
        """q(H, B), (n, K)."""
        return softmax(self._logits(state))

    def law(self, state: State) -> Law:
        """The law of logged actions given the state."""
        tilt = 1 + self.parameters.spread_tilt * np.tanh(state.E[:, 0])
        return Law(
            centre=tangent_basis(self.channels).T @ self._logits(state).T,
            spread=self.regime.overlap * np.sqrt(self.parameters.spread) * tilt,
            exploration=self.regime.exploration,
            exploration_scale=self.parameters.exploration_scale,
        )

    def _logits(self, state: State) -> Floats:
        w = self.weights
        drive = apply(w.W_S, state.S) + self.regime.confounding * apply(w.W_C, state.C)
        drive += (w.w_B[:, None] * np.log1p(state.B)).T
        logits = (1 + self.regime.boundary) * self.parameters.logit_scale * drive
        return logits + logit_tilt(state.window, self.channels, self.parameters)
