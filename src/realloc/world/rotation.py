"""Temporal support rotation of the logging logits alone: q⁽ʷ⁾ = softmax{log q + λ_temp b_w}."""

import numpy as np

from realloc.base.simplex import Floats
from realloc.world.regimes import WorldParameters


def window_bias(window: int, channels: int, windows: int) -> Floats:
    """b_w (K,) = cos 2π(w/W − k/K): a smooth cycle that favours one channel after the other.

    >>> window_bias(0, 2, 6).round(3).tolist()
    [1.0, -1.0]
    """
    phase = window / windows - np.arange(channels) / channels
    return np.cos(2 * np.pi * phase)


def logit_tilt(window: int | None, channels: int, parameters: WorldParameters) -> Floats:
    """λ_temp b_w, or zeros without a window: what is added to the logging logits."""
    if window is None:
        return np.zeros(channels)
    return parameters.rotation_scale * window_bias(
        window, channels, parameters.rotation_windows
    )
