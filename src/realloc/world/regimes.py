"""The paper's four logging regimes, and every number the world is made of, in one place.

What the paper states is kept as stated. What it leaves open was chosen once by
`experiments/world_calibration.py`, from rows that depend on the world alone and one plain rival.
`docs/world.md` says why each value, and a test on `parameters_hash` keeps them frozen.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from realloc.base.errors import ConfigError
from realloc.base.validation import check_range, check_types, from_table, nearest


@dataclass(frozen=True, kw_only=True)
class Regime:
    """How the logs were assigned; the response does not depend on it."""

    name: str
    confounding: float  # α_cf: how far the outcome's drivers C steer the allocation
    # σ_ov: spread of logged actions around the logging mean, in log-ratio units.
    overlap: float
    boundary: float  # α_bd: how far the logging mean is pushed towards the vertices
    exploration: float  # ε_exp: share of broad exploration

    def __post_init__(self) -> None:
        check_types(self, "the regime")
        where = f"the regime {self.name!r}"
        check_range(self, ("overlap",), "> 0", where)
        check_range(self, ("exploration",), "from 0 to 1", where)


REGIMES: dict[str, Regime] = {
    "benign": Regime(
        name="benign", confounding=0.25, overlap=0.40, boundary=0.0, exploration=0.10
    ),
    "medium": Regime(
        name="medium", confounding=0.75, overlap=0.25, boundary=0.0, exploration=0.05
    ),
    "hard": Regime(
        name="hard", confounding=1.25, overlap=0.15, boundary=0.0, exploration=0.02
    ),
    "extreme": Regime(
        name="extreme", confounding=1.75, overlap=0.10, boundary=0.5, exploration=0.01
    ),
}


def find_regime(regime: str | Regime) -> Regime:
    """A regime by its name, or as given."""
    if isinstance(regime, Regime):
        return regime
    if regime not in REGIMES:
        raise ConfigError(
            f"Expected a regime of the paper or a Regime(...), got {regime!r}."
            f"{nearest(regime, REGIMES)}"
        )
    return REGIMES[regime]


@dataclass(frozen=True, kw_only=True)
class WorldParameters:
    """All parameters of the world but the regime. Weight scales are norms of a row of weights."""

    # State and budget
    block_size: int = 6  # d_C = d_E = d_S, paper
    shock_scale: float = 0.35  # σ_t, paper
    budget_scale: float = 0.4  # ‖a_B‖, open
    budget_noise: float = 0.2  # sd of ζ, paper
    budget_min: float = 0.2  # paper
    budget_max: float = 5.0  # paper

    # Logging policy
    logit_scale: float = 0.45  # λ_log, paper
    preference_scale: float = 0.35  # rows of W_S, open
    confounder_scale: float = 0.4  # rows of W_C, open
    budget_logit_scale: float = 0.1  # ‖w_B‖, open
    exploration_scale: float = 2.0  # c_exp > 1, open
    spread: float = 5.0  # ν_1 = … = ν_{K−1}, open
    spread_tilt: float = 0.2  # 0.2·tanh(E_1) in Σ_H, paper

    # Response
    treatment_scale: float = 4.0  # paper: RMS gradient of the bracket at logged actions
    effect_scale: float = 2.2  # α_ρ, open
    # local, interaction, far-field; paper
    energy_shares: tuple[float, ...] = (
        0.45,
        0.35,
        0.20,
    )
    anchor_scale: float = 0.45  # λ_c of the anchor, open
    slope_scale: float = 0.6  # rows of W_E in a(H), open
    slope_confounding: float = 0.35  # 0.35·W_C C in a(H), paper
    slope_alignment: float = 0.28  # how far the slopes' W_C is the logging policy's, open
    slope_offset: float = 0.1  # sd of b_a, open
    interactions: int = 4  # R, open
    interaction_scale: float = 0.4  # ‖v_r‖, open
    interaction_gain: float = 1.0  # γ_int, open (absorbed by the energy shares)
    interaction_shift: float = 0.4  # s_int, paper
    peak_distance: float = 0.5  # ‖ν_m‖, open
    peak_width: float = 0.5  # ℓ_m, open
    peak_scale: float = 1.0  # ‖weights of w_m(H)‖, open
    far_distance: float = 0.5  # d_0, open
    far_softness: float = 0.07  # s_0, open
    cannibalization: float = 0.825  # κ_can, open
    calibration_rows: int = 8192  # contexts of the energy calibration

    # Outcome
    noise: float = 2.75  # σ_Y, open

    # Oracle support and search, shared with learned policies
    support_level: float = 0.95  # open: mass of the conditional high-density region
    path_intervals: int = 10  # J, paper: at least ten
    steps: tuple[float, ...] = (0.01, 0.02, 0.05)  # candidate δ, open
    max_steps: int = 12  # R_max, open
    max_length: float = 0.22  # L_max, open: Euclidean length of the trace
    grid: int = 40  # the global oracle searches shares in multiples of 1/grid

    # Temporal rotation
    rotation_scale: float = 1.2  # λ_temp, paper
    rotation_windows: int = 6  # windows of one cycle of b_w, open

    def __post_init__(self) -> None:
        check_types(self, "the world's parameters")
        if self.block_size < 4:
            raise ConfigError(
                f"Expected block_size >= 4 (the baseline uses C_1 to C_4), got {self.block_size}."
            )
        if len(self.energy_shares) != 3 or abs(sum(self.energy_shares) - 1) > 1e-9:
            raise ConfigError(
                f"Expected three energy_shares that sum to 1, got {self.energy_shares}."
            )
        check_range(self, ("support_level",), "between 0 and 1", "the world's parameters")
        if not self.exploration_scale > 1:
            raise ConfigError(
                f"Expected exploration_scale > 1, got {self.exploration_scale}."
            )
        if self.path_intervals < 10:
            raise ConfigError(f"Expected path_intervals >= 10, got {self.path_intervals}.")
        if min(self.steps, default=0.0) <= 0:
            raise ConfigError(f"Expected steps > 0, got {self.steps}.")

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return json.loads(json.dumps(asdict(self)))

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> "WorldParameters":
        """The inverse of `to_dict`; unknown keys are refused."""
        return from_table(cls, table, "the world's parameters")


def parameters_hash(parameters: WorldParameters | None = None) -> str:
    """A fingerprint of the parameters and the four regimes: what the frozen-world test compares."""
    regimes = {name: asdict(regime) for name, regime in REGIMES.items()}
    content = {
        "parameters": (parameters or WorldParameters()).to_dict(),
        "regimes": regimes,
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]
